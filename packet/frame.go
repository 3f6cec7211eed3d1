package packet

const (
	// HeaderRoom is what fits in Frame.Header without an allocation, in bytes.
	HeaderRoom = 80
	// TrailerRoom is what fits in Frame.Trailer without an allocation, in bytes: 3 of pad, 4 of ICRC.
	TrailerRoom = 8
	// DontFragment is the DF bit as it stands in Frame.FlagsFragment.
	DontFragment = 0x4000
)

// Frame is one outgoing datagram, in the pieces that the link gathers: Header, Payload, Trailer.
// Frames live in a [Batch] and are got from [Batch.Next].
type Frame struct {
	// Path is borrowed until Send returns.
	Path *Path
	// Header starts empty, in an array of the frame with HeaderRoom bytes: fill it by append.
	Header []byte
	// Payload starts empty; append pieces to it. The bytes are borrowed until Send returns.
	Payload [][]byte
	// Trailer starts empty, in an array of the frame with TrailerRoom bytes: fill it by append.
	Trailer []byte

	// SrcPort, ID and FlagsFragment are what will stand on the wire in the UDP source port and in the
	// identification and the flags-and-fragment-offset fields of the IPv4 header. Link.Prepare sets them.
	// ID and FlagsFragment are 0 over IPv6.
	SrcPort       uint16
	ID            uint16
	FlagsFragment uint16

	// Train is how many frames leave together as the segment train that this frame leads; 0 and 1: it leaves alone.
	// Link.Prepare sets it, for its own Send.
	Train int

	// Volatile says that the payload's memory may change until the frame has left, as memory that a READ reads may: what is
	// sealed and sent has to be one copy of it. Links do not look at it.
	Volatile bool
	// Seal says how the frame is to be sealed. It is its maker's and its sealer's affair: 0 is the usual way, and links
	// do not look at it.
	Seal uint8

	batch   *Batch
	header  [HeaderRoom]byte
	trailer [TrailerRoom]byte
}

// Len returns the length of the UDP payload as the frame stands, in bytes.
func (f *Frame) Len() int {
	n := len(f.Header) + len(f.Trailer)
	for _, p := range f.Payload {
		n += len(p)
	}
	return n
}

// Alloc returns n bytes that belong to the frame's batch until its next Reset. Their content is undefined.
// It is for payload that cannot be borrowed from where it lives.
func (f *Frame) Alloc(n int) []byte { return f.batch.arena.alloc(n) }

// Join moves header, payload and trailer into one stretch of the batch's memory, where seal bytes more may be appended to the
// trailer. Frames that are joined one after the other lie one behind the other, so that a train of them is a single piece
// for who gathers it. That is worth the copy where the payload is short, some hundred bytes, or the copy has to be made.
// A long payload begins at a multiple of 16, where copies are fast. The result is all of the stretch but the room for the seal.
func (f *Frame) Join(seal int) []byte {
	n, size := len(f.Header), f.Len()+seal
	var b []byte
	if size > alignedCopy {
		b = f.batch.arena.allocAligned(size, n)
	} else {
		b = f.Alloc(size)
	}
	copy(b, f.Header)
	for _, p := range f.Payload {
		n += copy(b[n:], p)
	}
	end := n + copy(b[n:], f.Trailer)
	f.Header, f.Trailer = b[:n:n], b[n:end]
	f.letGo()
	return b[:end]
}

// alignedCopy is the length in bytes of a frame whose copy gains more by alignment than a gap in the arena costs.
const alignedCopy = 1024

// Rim moves header and trailer next to each other into the batch's memory, where seal bytes more may be appended to the trailer.
// Of frames that are treated so one after the other, each trailer lies right before the next header, so that a train of them has
// a piece less for each.
func (f *Frame) Rim(seal int) {
	n, m := len(f.Header), len(f.Trailer)
	b := f.Alloc(n + m + seal)
	copy(b, f.Header)
	copy(b[n:], f.Trailer)
	f.Header, f.Trailer = b[:n:n], b[n:n+m]
}

// AppendTo appends the bytes of the frame, gathered, to dst.
func (f *Frame) AppendTo(dst []byte) []byte {
	dst = append(dst, f.Header...)
	for _, p := range f.Payload {
		dst = append(dst, p...)
	}
	return append(dst, f.Trailer...)
}

// Alias makes f the same datagram as g without copying a byte: f borrows from g.
func (f *Frame) Alias(g *Frame) {
	f.Path = g.Path
	f.Header = g.Header
	f.Payload = append(f.Payload[:0], g.Payload...)
	f.Trailer = g.Trailer
	f.SrcPort, f.ID, f.FlagsFragment = g.SrcPort, g.ID, g.FlagsFragment
}

// letGo empties the payload.
func (f *Frame) letGo() {
	// Nearly all have one piece at most, for which clear takes longer than a store.
	if len(f.Payload) == 1 {
		f.Payload[0] = nil
	} else {
		clear(f.Payload)
	}
	f.Payload = f.Payload[:0]
}

func (f *Frame) reset() {
	f.Path = nil
	f.Header = f.header[:0]
	f.letGo()
	f.Trailer = f.trailer[:0]
	f.SrcPort, f.ID, f.FlagsFragment, f.Volatile, f.Seal, f.Train = 0, 0, 0, false, 0, 0
}
