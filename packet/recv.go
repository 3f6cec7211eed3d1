package packet

import "net/netip"

// Received is one incoming frame.
type Received struct {
	// Data is the UDP payload. It is valid until the next Recv with the same RecvBatch, and not to be written to.
	Data []byte
	// Src and Dst are the addresses of the IP header, never IPv4-mapped and never with a zone (as in a GID).
	Src, Dst netip.Addr
	// SrcPort is the UDP source port.
	SrcPort uint16
	// HeaderSeen says that the link saw the IP header, so that ID and FlagsFragment are what stood there.
	// Otherwise they are a guess worth trying first: the sender's usual values for the frame's place in a segment train.
	HeaderSeen        bool
	ID, FlagsFragment uint16
	// TrafficClass is the IPv4 ToS or IPv6 traffic class octet, HopLimit the TTL or hop limit; 0 where the link cannot see it.
	TrafficClass, HopLimit uint8
}

// RecvBatch is what Recv fills. It may be used with any link, by one goroutine at a time.
type RecvBatch struct {
	// Frames are the frames of the last Recv, in the order in which they came.
	Frames []Received

	// State is the buffers of the link it was last used with: links set it, and look for the type that is theirs.
	State any

	capacity int
}

// Capacity returns how many datagrams a link is to take at most in one Recv.
func (rb *RecvBatch) Capacity() int { return rb.capacity }

// NewRecvBatch returns a RecvBatch for up to capacity datagrams a call (at least 1). Where the kernel hands over
// whole segment trains one datagram becomes up to 64 frames and more, so Frames can be longer than capacity.
// Buffers are allocated at the first Recv.
func NewRecvBatch(capacity int) *RecvBatch {
	return &RecvBatch{capacity: max(capacity, 1)}
}
