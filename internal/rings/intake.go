package rings

import "runtime/debug"

// intake is the consuming side of a ring that a program fills. Slots go through three states: ready
// (filled, not fetched), held (fetched, not free) and free. The indices are private and are never
// read back; ready + held is at most Slots - 1 whatever the program stores.
//
// Private fields change only after the accesses to the buffer they depend on, so that after a fault
// they say what was done.
type intake struct {
	mem   memory
	freed uint32 // index of the oldest held slot: the consumer index
	next  uint32 // index of the next slot to fetch
	held  int    // slots from freed to next
	ready int    // slots from next on that a load of the producer index has shown to be filled
}

// filled loads the producer index and returns how many slots from next on are filled. An index among
// the held slots, which no correct program stores, counts as next.
func (in *intake) filled() int {
	p := in.mem.producer.Load() & in.mem.geo.mask()
	return max(in.mem.distance(in.freed, p)-in.held, 0)
}

// fetch copies the first len(dst) bytes of the next slot to dst, which are at most the size of a
// slot, and reports whether there was a filled one. The slot is held until release.
func (in *intake) fetch(dst []byte) (got bool) {
	if in.mem.lost.Load() {
		return false
	}
	defer in.mem.leave(debug.SetPanicOnFault(true))
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

// release frees the n oldest held slots for the program; n beyond the held ones is cut.
func (in *intake) release(n int) {
	n = max(min(n, in.held), 0)
	in.freed = in.mem.advance(in.freed, n)
	in.held -= n
	in.publish()
}

// publish stores the consumer index.
func (in *intake) publish() {
	if in.mem.lost.Load() {
		return
	}
	defer in.mem.leave(debug.SetPanicOnFault(true))
	in.mem.consumer.Store(in.freed)
}

// waiting returns how many slots are filled and not fetched now.
func (in *intake) waiting() (n int) {
	if in.mem.lost.Load() {
		return 0
	}
	defer in.mem.leave(debug.SetPanicOnFault(true))
	return in.filled()
}

// clear frees all slots, held ones and filled ones: the ring is empty up to the producer index.
func (in *intake) clear() {
	in.held, in.ready = 0, 0
	if in.mem.lost.Load() {
		return
	}
	defer in.mem.leave(debug.SetPanicOnFault(true))
	in.freed = in.mem.producer.Load() & in.mem.geo.mask()
	in.next = in.freed
	in.mem.consumer.Store(in.freed)
}
