package nic

import (
	"math/bits"

	"github.com/gorxe/gorxe/transport"
)

// wheel holds the deadlines of queue pairs, so that setting, removing and finding the next one take as long with ten
// thousand of them as with one: a hierarchy of rings. A deadline lies in the lowest ring whose slots tell it from the time
// that the wheel stands at, in the slot of its tick. When the first of a slot in a higher ring is next, the wheel moves
// there and what else is in the slot moves down.
//
// Deadlines are rounded up to ticks, so none comes early, and it is late by a tick at most.
type wheel struct {
	at    uint64 // tick that the wheel stands at: none of its deadlines is before
	count int
	rings [wheelRings]ring
}

// ring is 64 slots. A slot of ring n is 64^n ticks.
type ring struct {
	used  uint64     // a bit for each slot that is not empty
	slots [64]*QP    // doubly linked by QP.later and QP.sooner
	first [64]uint64 // no deadline of the slot is before that tick; one may have been removed
}

const (
	tickBits   = 10 // a tick is 1.024 µs, less than any timer of the protocol
	slotBits   = 6
	wheelRings = 9 // 2^54 ticks, more than a transport.Time can be
)

// noSlot is where a queue pair without a deadline is.
const noSlot = -1

// tickOf is the first tick that is not before t.
func tickOf(t transport.Time) uint64 { return (uint64(max(t, 0)) + 1<<tickBits - 1) >> tickBits }

// timeOf is when a tick comes.
func timeOf(tick uint64) transport.Time { return transport.Time(tick << tickBits) }

// add gives q, which has none, the deadline q.wake.
func (w *wheel) add(q *QP, now transport.Time) {
	if w.count == 0 {
		w.at = uint64(max(now, 0)) >> tickBits
	}
	w.count++
	w.place(q)
}

func (w *wheel) place(q *QP) {
	tick := max(tickOf(q.wake), w.at)
	n := 0
	if d := tick ^ w.at; d != 0 {
		n = (bits.Len64(d) - 1) / slotBits
	}
	r := &w.rings[n]
	i := tick >> (n * slotBits) & 63
	if r.used&(1<<i) == 0 || tick < r.first[i] {
		r.first[i] = tick
	}
	r.used |= 1 << i
	q.slot = int16(n<<slotBits | int(i))
	q.sooner, q.later = nil, r.slots[i]
	if q.later != nil {
		q.later.sooner = q
	}
	r.slots[i] = q
}

// remove takes q's deadline away.
func (w *wheel) remove(q *QP) {
	r, i := &w.rings[q.slot>>slotBits], q.slot&63
	if q.sooner != nil {
		q.sooner.later = q.later
	} else if r.slots[i] = q.later; q.later == nil {
		r.used &^= 1 << i
	}
	if q.later != nil {
		q.later.sooner = q.sooner
	}
	q.sooner, q.later, q.slot = nil, nil, noSlot
	w.count--
}

// next is no later than the earliest deadline, never without one.
func (w *wheel) next() transport.Time {
	r, i := w.soonest()
	if r == nil {
		return never
	}
	return timeOf(r.first[i])
}

// soonest returns the slot of the earliest deadline: the lower rings come first, and in a ring the slots from where the wheel
// stands on.
func (w *wheel) soonest() (r *ring, i int) {
	for n := range w.rings {
		if r := &w.rings[n]; r.used != 0 {
			from := int(w.at >> (n * slotBits) & 63)
			return r, (from + bits.TrailingZeros64(bits.RotateLeft64(r.used, -from))) & 63
		}
	}
	return nil, 0
}

// due removes and returns a queue pair whose deadline has come, or nil.
func (w *wheel) due(now transport.Time) *QP {
	for {
		r, i := w.soonest()
		if r == nil || timeOf(r.first[i]) > now {
			return nil
		}
		w.at = r.first[i]
		q := r.slots[i]
		if r == &w.rings[0] {
			w.remove(q)
			return q
		}
		r.slots[i] = nil
		r.used &^= 1 << i
		for q != nil {
			later := q.later
			w.place(q)
			q = later
		}
	}
}
