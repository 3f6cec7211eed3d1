package packet

// Batch is a list of frames of fixed capacity that is filled, sent and filled again without an allocation.
// It belongs to one goroutine at a time.
type Batch struct {
	// Sent is the index of the first frame Send has not dealt with: frames before it have left, or were
	// refused and counted. Prepare and Send begin there. After [ErrReprepare] the frames from Sent on are to
	// be prepared and sealed again. Setting it to 0 sends the frames once more.
	Sent int
	// Lone asks Prepare to let every frame leave as a datagram of its own, never as a segment of a train:
	// what Prepare then announces stays true when frames are left out, repeated or put in another order.
	// Reset clears it.
	Lone bool
	// Trains says that the link to send the batch with has segmentation offload ([Caps.GSO]): frames of
	// equal length to one destination leave in one call. Reset keeps it.
	Trains bool

	frames []Frame
	n      int
	arena  arena
}

// NewBatch returns an empty batch with room for capacity frames, at least 1.
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

// Cap returns the number of frames the batch has room for.
func (b *Batch) Cap() int { return len(b.frames) }

// Full reports whether Next would return nil.
func (b *Batch) Full() bool { return b.n == len(b.frames) }

// At returns frame i, 0 <= i < Len.
func (b *Batch) At(i int) *Frame { return &b.frames[:b.n][i] }

// Next appends an empty frame and returns it, or nil when the batch is full.
func (b *Batch) Next() *Frame {
	if b.Full() {
		return nil
	}
	f := &b.frames[b.n]
	b.n++
	return f
}

// Drop takes the last frame back out of the batch.
func (b *Batch) Drop() {
	if b.n > 0 {
		b.n--
		b.frames[b.n].reset()
	}
}

// Reset empties the batch and lets go of everything it borrowed.
func (b *Batch) Reset() {
	for i := range b.frames[:b.n] {
		b.frames[i].reset()
	}
	b.n, b.Sent, b.Lone = 0, 0, false
	b.arena.reset()
}

// arenaChunk is the least an arena asks the allocator for, in bytes.
const arenaChunk = 64 << 10

// arena hands out bytes from chunks that it keeps over a reset.
type arena struct {
	chunks [][]byte
	cur    int // chunk in use
	off    int // first free byte of it
}

func (a *arena) alloc(n int) []byte { return a.take(n, 0) }

// allocAligned returns n bytes of which byte k lies at a multiple of 16.
func (a *arena) allocAligned(n, k int) []byte {
	if a.cur < len(a.chunks) && a.off+15+n <= len(a.chunks[a.cur]) {
		return a.take(n, -(a.off+k)&15)
	}
	a.next(n + 15)
	return a.take(n, -k&15)
}

// take returns n bytes that lie gap bytes behind the last ones, or at the start of a chunk.
func (a *arena) take(n, gap int) []byte {
	if a.cur == len(a.chunks) || a.off+gap+n > len(a.chunks[a.cur]) {
		a.next(gap + n)
	}
	start := a.off + gap
	a.off = start + n
	return a.chunks[a.cur][start:a.off:a.off]
}

// next goes on to a chunk with room for n bytes.
func (a *arena) next(n int) {
	for a.off = 0; a.cur < len(a.chunks); {
		if a.cur++; a.cur < len(a.chunks) && n <= len(a.chunks[a.cur]) {
			return
		}
	}
	a.chunks = append(a.chunks, make([]byte, max(n, arenaChunk)))
}

func (a *arena) reset() { a.cur, a.off = 0, 0 }
