package packet

// Batch is a list of frames with a fixed capacity, which can be filled, sent and reused without
// allocation. Only one goroutine at a time may use it.
type Batch struct {
	// Sent is the index of the first frame that Send has not processed: earlier frames were
	// sent, or rejected and counted. Prepare and Send start there. After [ErrReprepare] the
	// frames from Sent on must be prepared and sealed again. To send all frames again, set Sent
	// to 0.
	Sent int
	// NoTrains makes Prepare send every frame as a separate datagram, never as a segment of a
	// train, so that the values that Prepare sets stay correct when frames are dropped, duplicated
	// or reordered. Reset clears it.
	NoTrains bool
	// LinkHasGSO means that the link that will send the batch has segmentation offload
	// ([Caps.GSO]): it passes frames of equal length to one destination to the host together. The
	// owner of the batch sets it for the code that fills the batch. Reset keeps it.
	LinkHasGSO bool

	frames []Frame
	n      int
	arena  arena
}

// NewBatch returns an empty batch for up to capacity frames, at least 1.
func NewBatch(capacity int) *Batch {
	b := &Batch{frames: make([]Frame, max(capacity, 1))}
	for i := range b.frames {
		b.frames[i].batch = b
		b.frames[i].reset()
	}
	return b
}

// Len returns the number of frames in the batch.
func (b *Batch) Len() int { return b.n }

// Cap returns the capacity of the batch in frames.
func (b *Batch) Cap() int { return len(b.frames) }

// Full reports whether the batch has no space for another frame.
func (b *Batch) Full() bool { return b.n == len(b.frames) }

// At returns frame i, 0 <= i < Len.
func (b *Batch) At(i int) *Frame { return &b.frames[:b.n][i] }

// AppendFrame appends an empty frame and returns it. It returns nil if the batch is full.
func (b *Batch) AppendFrame() *Frame {
	if b.Full() {
		return nil
	}
	f := &b.frames[b.n]
	b.n++
	return f
}

// Drop removes the last frame of the batch.
func (b *Batch) Drop() {
	if b.n > 0 {
		b.n--
		b.frames[b.n].reset()
	}
}

// Reset empties the batch and drops all references to borrowed memory.
func (b *Batch) Reset() {
	for i := range b.frames[:b.n] {
		b.frames[i].reset()
	}
	b.n, b.Sent, b.NoTrains = 0, 0, false
	b.arena.reset()
}

// arenaChunk is the minimum size of a chunk in bytes.
const arenaChunk = 64 << 10

// arena allocates bytes from chunks, which it keeps across a reset.
type arena struct {
	chunks [][]byte
	cur    int // index of the chunk in use
	off    int // offset of the first free byte in that chunk
}

func (a *arena) alloc(n int) []byte { return a.take(n, 0) }

// allocAligned returns n bytes, of which byte k is 16-byte aligned in its chunk.
func (a *arena) allocAligned(n, k int) []byte {
	if a.cur < len(a.chunks) && a.off+15+n <= len(a.chunks[a.cur]) {
		return a.take(n, -(a.off+k)&15)
	}
	a.next(n + 15)
	return a.take(n, -k&15)
}

// take returns the next n bytes, after a gap of gap bytes unless they start a chunk.
func (a *arena) take(n, gap int) []byte {
	if a.cur == len(a.chunks) || a.off+gap+n > len(a.chunks[a.cur]) {
		a.next(gap + n)
	}
	start := a.off + gap
	a.off = start + n
	return a.chunks[a.cur][start:a.off:a.off]
}

// next selects the next chunk with space for n bytes, or appends a new chunk.
func (a *arena) next(n int) {
	for a.off = 0; a.cur < len(a.chunks); {
		if a.cur++; a.cur < len(a.chunks) && n <= len(a.chunks[a.cur]) {
			return
		}
	}
	a.chunks = append(a.chunks, make([]byte, max(n, arenaChunk)))
}

func (a *arena) reset() { a.cur, a.off = 0, 0 }
