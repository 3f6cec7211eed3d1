package xsk

import "sync/atomic"

// A ring is memory shared with the kernel: entries, and an index for each side. Indexes count on over 2^32 and are cut to
// the ring's size, a power of two, only to find an entry. The side that writes entries publishes them by its index, and
// the side that reads them gives them back by its own.
//
// In what follows next is our own index, published or not, and seen the other side's when it was last looked at. A ring
// belongs to one goroutine at a time.

// producer is a ring that we write: of memory to fill, of frames to send.
type producer struct {
	ours, theirs *uint32
	mask         uint32
	next, seen   uint32
}

// room returns how many entries can be written. It looks at the other side only when fewer than want are known of.
func (r *producer) room(want int) int {
	size := r.mask + 1
	if n := size - (r.next - r.seen); n >= uint32(want) {
		return int(n)
	}
	r.seen = atomic.LoadUint32(r.theirs)
	return int(size - (r.next - r.seen))
}

// put returns where the next entry is to be written. There is to be room.
func (r *producer) put() uint32 {
	at := r.next & r.mask
	r.next++
	return at
}

// publish hands what was put to the other side.
func (r *producer) publish() { atomic.StoreUint32(r.ours, r.next) }

// untaken returns how many published entries the other side has not read.
func (r *producer) untaken() int {
	r.seen = atomic.LoadUint32(r.theirs)
	return int(atomic.LoadUint32(r.ours) - r.seen)
}

// consumer is a ring that we read: of memory that was sent, of frames that came.
type consumer struct {
	ours, theirs *uint32
	mask         uint32
	next, seen   uint32
}

// ready returns how many entries can be read. It looks at the other side only when fewer than want are known of.
func (r *consumer) ready(want int) int {
	if n := r.seen - r.next; n >= uint32(want) {
		return int(n)
	}
	r.seen = atomic.LoadUint32(r.theirs)
	return int(r.seen - r.next)
}

// get returns where the next entry is to be read. One is to be ready.
func (r *consumer) get() uint32 {
	at := r.next & r.mask
	r.next++
	return at
}

// peek returns where entry i after the next one is.
func (r *consumer) peek(i int) uint32 { return (r.next + uint32(i)) & r.mask }

// release gives what was got back to the other side.
func (r *consumer) release() { atomic.StoreUint32(r.ours, r.next) }
