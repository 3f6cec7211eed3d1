package packet

const (
	// HeaderRoom is the capacity of Frame.Header without an allocation, in bytes.
	HeaderRoom = 80
	// TrailerRoom is the capacity of Frame.Trailer without an allocation, in bytes: up to 3 of pad,
	// 4 of ICRC.
	TrailerRoom = 8
	// DontFragment is the DF bit in Frame.FlagsFragment.
	DontFragment = 0x4000
)

// Frame is one outgoing datagram, in pieces that the link gathers: Header, Payload, Trailer.
// Frames belong to a [Batch]; [Batch.AppendFrame] returns one.
type Frame struct {
	// Path is where the frame goes. It is borrowed until Send returns.
	Path *Path
	// Header is empty at first, with capacity HeaderRoom: append to it.
	Header []byte
	// Payload is empty at first: append pieces to it. The bytes are borrowed until Send
	// returns.
	Payload [][]byte
	// Trailer is empty at first, with capacity TrailerRoom: append to it.
	Trailer []byte

	// SrcPort, ID and FlagsFragment are the UDP source port and the identification and
	// flags/fragment-offset fields of the IPv4 header with which the frame will be sent.
	// Link.Prepare sets them. ID and FlagsFragment are 0 over IPv6.
	SrcPort       uint16
	ID            uint16
	FlagsFragment uint16

	// Train is the number of frames in the segment train that starts with this frame; 0 and 1
	// mean that the frame is not part of a train. Link.Prepare sets it for Link.Send.
	Train int

	// Volatile marks a payload in memory that may change until the frame is sent, such as
	// memory that a READ reads: the sealed and the sent bytes must be the same copy. Links
	// ignore it.
	Volatile bool
	// Seal selects how to seal the frame. Its values are defined by the code that builds and
	// seals frames: 0 is the default, and links ignore it.
	Seal uint8

	batch   *Batch
	header  [HeaderRoom]byte
	trailer [TrailerRoom]byte
}

// Len returns the current length of the UDP payload in bytes.
func (f *Frame) Len() int {
	n := len(f.Header) + len(f.Trailer)
	for _, p := range f.Payload {
		n += len(p)
	}
	return n
}

// Alloc returns n bytes of undefined content, valid until the next Reset of the batch. It is
// for payload that cannot be borrowed from its original location.
func (f *Frame) Alloc(n int) []byte { return f.batch.arena.alloc(n) }

// Flatten copies header, payload and trailer into one contiguous buffer of the batch, with space
// for seal more bytes of trailer. Frames flattened in succession are adjacent in memory, so that a
// train of them is a single piece to gather. This is worth the copy if the payload is short, a few
// hundred bytes, or must be copied anyway. A long payload starts 16-byte aligned, where copies are
// fast. Flatten returns the buffer without the space for the seal.
func (f *Frame) Flatten(seal int) []byte {
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
	f.dropPayload()
	return b[:end]
}

// alignedCopy is the minimum size in bytes at which aligning the copy is worth the gap in the
// arena.
const alignedCopy = 1024

// PackEnds copies header and trailer next to each other into memory of the batch, with space for
// seal more bytes of trailer. If frames are processed in succession, the trailer of each is
// adjacent to the header of the next, so that a train of them has one piece less for each
// frame.
func (f *Frame) PackEnds(seal int) {
	n, m := len(f.Header), len(f.Trailer)
	b := f.Alloc(n + m + seal)
	copy(b, f.Header)
	copy(b[n:], f.Trailer)
	f.Header, f.Trailer = b[:n:n], b[n:n+m]
}

// AppendTo appends the bytes of the frame to dst.
func (f *Frame) AppendTo(dst []byte) []byte {
	dst = append(dst, f.Header...)
	for _, p := range f.Payload {
		dst = append(dst, p...)
	}
	return append(dst, f.Trailer...)
}

// Alias makes f the same datagram as g without copying: f borrows the memory of g.
func (f *Frame) Alias(g *Frame) {
	f.Path = g.Path
	f.Header = g.Header
	f.Payload = append(f.Payload[:0], g.Payload...)
	f.Trailer = g.Trailer
	f.SrcPort, f.ID, f.FlagsFragment = g.SrcPort, g.ID, g.FlagsFragment
}

// dropPayload empties the payload and drops its references.
func (f *Frame) dropPayload() {
	// Nearly all payloads have at most one piece, for which a store is faster than clear.
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
	f.dropPayload()
	f.Trailer = f.trailer[:0]
	f.SrcPort, f.ID, f.FlagsFragment, f.Volatile, f.Seal, f.Train = 0, 0, 0, false, 0, 0
}
