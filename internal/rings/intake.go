package rings

import "runtime/debug"

// inRing is the consumer side of a ring that a program fills. Slots are ready (filled, not
// fetched), held (fetched, not released) or free. The indexes are private and never read back;
// ready + held is at most Slots - 1, whatever the program stores.
//
// Private fields change only after the buffer accesses that they depend on, so that they are
// correct even after a fault.
type inRing struct {
	mem    memory
	oldest uint32 // index of the oldest held slot: the consumer index
	next   uint32 // index of the next slot to fetch
	held   int    // number of slots from oldest to next
	ready  int    // filled slots from next on, by the last load of the producer index
}

// filled loads the producer index and returns the number of filled slots from next on. An index
// among the held slots, which no correct program stores, counts as no filled slot.
func (in *inRing) filled() int {
	p := in.mem.producer.Load() & in.mem.geo.mask()
	return max(in.mem.distance(in.oldest, p)-in.held, 0)
}

// fetch copies the first len(dst) bytes of the next slot to dst; len(dst) is at most the slot
// size. It returns false if no slot is ready. The slot is held until release.
func (in *inRing) fetch(dst []byte) (got bool) {
	if in.mem.lost.Load() {
		return false
	}
	defer in.mem.endAccess(debug.SetPanicOnFault(true))
	if in.ready == 0 {
		if in.ready = in.filled(); in.ready == 0 {
			return false
		}
	}
	copy(dst, in.mem.slot(in.next))
	in.next = in.mem.advance(in.next, 1)
	in.held++
	in.ready--
	return true
}

// release frees the n oldest held slots for the program, or all held slots if n is larger.
func (in *inRing) release(n int) {
	n = max(min(n, in.held), 0)
	in.oldest = in.mem.advance(in.oldest, n)
	in.held -= n
	in.publish()
}

// publish stores the consumer index in the buffer, for the program.
func (in *inRing) publish() {
	if in.mem.lost.Load() {
		return
	}
	defer in.mem.endAccess(debug.SetPanicOnFault(true))
	in.mem.consumer.Store(in.oldest)
}

// waiting returns the current number of filled slots that were not fetched.
func (in *inRing) waiting() (n int) {
	if in.mem.lost.Load() {
		return 0
	}
	defer in.mem.endAccess(debug.SetPanicOnFault(true))
	return in.filled()
}

// clear frees all held and filled slots: it empties the ring up to the producer index.
func (in *inRing) clear() {
	in.held, in.ready = 0, 0
	if in.mem.lost.Load() {
		return
	}
	defer in.mem.endAccess(debug.SetPanicOnFault(true))
	in.oldest = in.mem.producer.Load() & in.mem.geo.mask()
	in.next = in.oldest
	in.mem.consumer.Store(in.oldest)
}
