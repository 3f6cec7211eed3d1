package packet

import "net/netip"

// Received is one incoming frame.
type Received struct {
	// Data is the UDP payload. It is read-only and valid until the next Recv with the same
	// RecvBatch.
	Data []byte
	// Src and Dst are the addresses of the IP header, without zone and never IPv4-mapped, as in
	// a GID.
	Src, Dst netip.Addr
	// SrcPort is the UDP source port.
	SrcPort uint16
	// HeaderSeen means that the link saw the IP header, so that ID and FlagsFragment are the values
	// of the packet. Otherwise ID and FlagsFragment are a guess: the values that senders commonly
	// use for the frame's position in a segment train.
	HeaderSeen        bool
	ID, FlagsFragment uint16
	// TrafficClass is the IPv4 ToS or IPv6 traffic class, HopLimit the TTL or hop limit; 0 if
	// the link cannot see them.
	TrafficClass, HopLimit uint8
}

// RecvBatch receives the frames of Recv. Any link accepts it; only one goroutine at a time may
// use it.
type RecvBatch struct {
	// Frames are the frames of the last Recv, in order of arrival.
	Frames []Received

	// State holds the buffers of the link that used the batch last. A link replaces a State
	// that is not of its own type.
	State any

	capacity int
}

// Capacity returns the maximum number of datagrams that a link may return in one Recv.
func (rb *RecvBatch) Capacity() int { return rb.capacity }

// NewRecvBatch returns a RecvBatch for up to capacity datagrams per call (at least 1). If the
// kernel returns whole segment trains, one datagram becomes up to 64 frames or more, so Frames
// can be longer than capacity. Buffers are allocated at the first Recv.
func NewRecvBatch(capacity int) *RecvBatch {
	return &RecvBatch{capacity: max(capacity, 1)}
}
