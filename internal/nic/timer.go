package nic

import (
	"math"
	"math/bits"
	"time"

	"github.com/gorxe/gorxe/transport"
)

// never is a deadline that does not come.
const never = transport.Time(math.MaxInt64)

// timers has the deadlines of a shard's queue pairs and one runtime timer, set for the earliest
// of them. The shard's lock guards it.
//
// A machine moves its deadline with nearly every packet, usually to a later time. Such a move
// costs nothing here: the wheel keeps the old, too early deadline, and when it expires the
// machine is asked for its current one. So a queue pair is woken in vain at most once per
// timeout, and the runtime timer is reset only when the earliest deadline moves to an earlier
// time.
type timers struct {
	wheel   wheel
	armed   transport.Time // deadline for which runtime is set, never if it is not set
	runtime *time.Timer    // its channel is read by the shard's pump
}

func newTimers() timers {
	t := timers{armed: never, runtime: time.NewTimer(time.Hour)}
	t.runtime.Stop()
	return t
}

// at ensures that expire examines q no later than one tick of the wheel after deadline.
func (t *timers) at(q *QP, now, deadline transport.Time) {
	switch {
	case q.slot == noSlot:
	case deadline < q.wake:
		t.wheel.remove(q)
	default:
		return
	}
	q.wake = deadline
	t.wheel.add(q, now)
	t.arm(now)
}

// arm sets the runtime timer if the earliest deadline is before armed.
func (t *timers) arm(now transport.Time) {
	if at := t.wheel.next(); at < t.armed {
		t.armed = at
		t.runtime.Reset(time.Duration(max(0, at-now)))
	}
}

// due removes and returns a queue pair whose deadline has passed, or nil.
func (t *timers) due(now transport.Time) *QP { return t.wheel.due(now) }

// rearm sets the runtime timer for the remaining deadlines after all queue pairs that are due
// were served.
func (t *timers) rearm(now transport.Time) {
	if t.armed <= now {
		t.armed = never
	}
	t.arm(now)
}

// remove removes q's deadline.
func (t *timers) remove(q *QP) {
	if q.slot != noSlot {
		t.wheel.remove(q)
	}
}

// A timeout means that no answer has arrived. On a host that is short of processors the answer may
// have arrived without having been processed: the receiving goroutine was not woken yet, or was not
// scheduled since it took the answer from the link. So a timeout that is due while the link's
// receiver is behind is put off. It takes effect only if it is still due
//
//   - when the receiver has caught up, or
//   - when enough was received since to include all packets that were waiting, so that endless
//     traffic (a flood, or a busy link) does not put off timeouts forever, or
//   - when it was put off maxPutOffs times, in case nothing is received at all. This counts
//     occasions on which the pump ran and slept, not time: while a process is stopped for a
//     second, its receiver cannot run either.
const (
	// firstPutOff is the first delay of a timeout. Each further delay is twice as long, so that
	// many queue pairs do not keep the pump from yielding to the receiver.
	firstPutOff = transport.Time(time.Millisecond)
	// maxPutOffs is the maximum number of delays, 1023 ms in all.
	maxPutOffs = 10
	// putOffBatches is the number of received batches after which a timeout is not put off again.
	// 64 full batches of a UDP link, 512 KiB each, are as much as the receive buffer that it
	// requests by default; 64 batches of short datagrams may be less than such a buffer holds.
	putOffBatches = 64
)

// delayedTimeout is the state of a timeout that is put off. The shard's lock guards it.
type delayedTimeout struct {
	due   transport.Time // deadline of the machine, which identifies the timeout
	until transport.Time // end of the current delay
	times int            // number of delays so far
	last  uint64         // value of outbox.batches from which on it is not put off again
}

// behindCache caches, within one round of the pump, whether the receiver of a link is behind: the
// check is a system call, and many queue pairs may be due.
type behindCache struct {
	out    *outbox
	behind bool
}

func (l *behindCache) isBehind(o *outbox) bool {
	if l.out != o {
		l.out, l.behind = o, o.behind()
	}
	return l.behind
}

// ReceiverBehind reports whether the link of a connected queue pair has packets that may not have
// been processed.
func (q *QP) ReceiverBehind() bool {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.out != nil && q.out.behind()
}

// deadline returns the time of the next timeout of q's machine, or the time until which this
// timeout is put off; false if there is none. The lock is held.
func (q *QP) deadline() (transport.Time, bool) {
	at, ok := q.machine.NextTimeout()
	if at == q.delayed.due {
		at = max(at, q.delayed.until)
	}
	return at, ok
}

// putOff puts off q's timeout, which is due, if the receiver is behind and the conditions above
// permit, and reports whether it did. The lock is held.
func (s *shard) putOff(q *QP, now transport.Time, cache *behindCache) bool {
	if q.out == nil || !cache.isBehind(q.out) {
		return false
	}
	l := &q.delayed
	if due, _ := q.machine.NextTimeout(); l.due != due {
		*l = delayedTimeout{due: due, last: q.out.rxFrom.batches.Load() + putOffBatches}
		s.count.timeoutsPutOff++
	}
	if l.times == maxPutOffs || q.out.rxFrom.batches.Load() >= l.last {
		return false
	}
	l.until = now + firstPutOff<<l.times
	l.times++
	return true
}

// wheel is a hierarchical timer wheel: adding, removing and finding the next deadline take as
// long with ten thousand queue pairs as with one. A deadline is in the lowest ring whose slots
// distinguish it from the wheel's current tick, in the slot of its tick. When the first deadline
// of a slot in a higher ring is next, the wheel advances to it and moves the deadlines of that
// slot to lower rings.
//
// Deadlines are rounded up to ticks, so none expires early, and none is more than one tick late.
type wheel struct {
	at    uint64 // current tick; no deadline is earlier
	count int    // number of deadlines
	rings [wheelRings]ring
}

// ring is 64 slots. A slot of ring n spans 64^n ticks.
type ring struct {
	used  uint64     // one bit per slot, set if it is not empty
	slots [64]*QP    // doubly linked by QP.later and QP.sooner
	first [64]uint64 // lower bound of the deadlines of each slot, in ticks
}

const (
	tickBits   = 10 // a tick is 1.024 µs, shorter than any timer of the protocol
	slotBits   = 6
	wheelRings = 9 // 2^54 ticks, beyond the range of transport.Time
)

// noSlot is the slot of a queue pair without a deadline.
const noSlot = -1

// tickOf returns the first tick at or after t.
func tickOf(t transport.Time) uint64 { return (uint64(max(t, 0)) + 1<<tickBits - 1) >> tickBits }

// timeOf returns the time of a tick.
func timeOf(tick uint64) transport.Time { return transport.Time(tick << tickBits) }

// add adds q, which has no deadline, with deadline q.wake.
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

// remove removes q's deadline.
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

// next returns a lower bound of the earliest deadline, never if there is none.
func (w *wheel) next() transport.Time {
	r, i := w.soonest()
	if r == nil {
		return never
	}
	return timeOf(r.first[i])
}

// soonest returns the ring and the index of the slot with the earliest deadline; r is nil if there
// is none. Lower rings come first, and in a ring the slots from the current tick on.
func (w *wheel) soonest() (r *ring, i int) {
	for n := range w.rings {
		if r := &w.rings[n]; r.used != 0 {
			from := int(w.at >> (n * slotBits) & 63)
			return r, (from + bits.TrailingZeros64(bits.RotateLeft64(r.used, -from))) & 63
		}
	}
	return nil, 0
}

// due removes and returns a queue pair whose deadline has passed, or nil.
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
