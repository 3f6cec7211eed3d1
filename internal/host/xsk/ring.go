package xsk

import "sync/atomic"

// A ring is an array of entries that we share with the kernel, with an index for each side. Indexes
// wrap at 2^32 and are masked to the ring size, a power of two, to find an entry. The writer
// publishes entries by storing its index; the reader frees them by storing its own.
//
// In the types below, next is our own index, possibly not stored yet, and seen is the last
// value loaded of the other side's index. Only one goroutine at a time may use a ring.

// producer is a ring that we write: of chunks to fill, or of frames to send.
type producer struct {
	ours, theirs *uint32
	mask         uint32
	next, seen   uint32
}

// room returns the number of entries that can be written. It loads the other side's index only
// if fewer than want are known to be free.
func (r *producer) room(want int) int {
	size := r.mask + 1
	if n := size - (r.next - r.seen); n >= uint32(want) {
		return int(n)
	}
	r.seen = atomic.LoadUint32(r.theirs)
	return int(size - (r.next - r.seen))
}

// put returns the index of the next entry to write. There must be a free entry.
func (r *producer) put() uint32 {
	at := r.next & r.mask
	r.next++
	return at
}

// publish makes the entries written so far visible to the kernel.
func (r *producer) publish() { atomic.StoreUint32(r.ours, r.next) }

// untaken returns the number of published entries that the kernel has not read.
func (r *producer) untaken() int {
	r.seen = atomic.LoadUint32(r.theirs)
	return int(atomic.LoadUint32(r.ours) - r.seen)
}

// consumer is a ring that we read: of sent chunks, or of received frames.
type consumer struct {
	ours, theirs *uint32
	mask         uint32
	next, seen   uint32
}

// ready returns the number of entries that can be read. It loads the other side's index only if
// fewer than want are known to be ready.
func (r *consumer) ready(want int) int {
	if n := r.seen - r.next; n >= uint32(want) {
		return int(n)
	}
	r.seen = atomic.LoadUint32(r.theirs)
	return int(r.seen - r.next)
}

// get returns the index of the next entry to read. An entry must be ready.
func (r *consumer) get() uint32 {
	at := r.next & r.mask
	r.next++
	return at
}

// peek returns the index of the entry i after the next one.
func (r *consumer) peek(i int) uint32 { return (r.next + uint32(i)) & r.mask }

// release returns the entries read so far to the kernel.
func (r *consumer) release() { atomic.StoreUint32(r.ours, r.next) }
