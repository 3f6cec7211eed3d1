package nic

import (
	"math"
	"math/bits"
	"time"

	"github.com/gorxe/gorxe/transport"
)

// never is a deadline that does not come.
const never = transport.Time(math.MaxInt64)

// timers holds the deadlines of a shard's queue pairs and the one runtime timer that
// stands for the earliest of them. It is guarded by the shard's lock.
//
// A machine moves its deadline with nearly every packet, mostly to a later time. Such
// a move costs nothing here: the wheel keeps the old, too early deadline, and when that
// one comes the machine is asked again. So a queue pair is woken for nothing at most
// once per timeout, and the runtime timer is touched only when the earliest deadline
// moves to an earlier time.
type timers struct {
	wheel   wheel
	armed   transport.Time // what runtime stands for, never when idle
	runtime *time.Timer    // its channel is read by the shard's pump
}

func newTimers() timers {
	t := timers{armed: never, runtime: time.NewTimer(time.Hour)}
	t.runtime.Stop()
	return t
}

// at makes sure that q is asked for its timeout at deadline, a tick of the wheel later, or before.
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

// arm sets the runtime timer if the earliest deadline is before the one it stands for.
func (t *timers) arm(now transport.Time) {
	if at := t.wheel.next(); at < t.armed {
		t.armed = at
		t.runtime.Reset(time.Duration(max(0, at-now)))
	}
}

// due removes and returns a queue pair whose deadline has come, or nil.
func (t *timers) due(now transport.Time) *QP { return t.wheel.due(now) }

// rearm sets the runtime timer for what is left after every due queue pair was served.
func (t *timers) rearm(now transport.Time) {
	if t.armed <= now {
		t.armed = never
	}
	t.arm(now)
}

// remove forgets q's deadline.
func (t *timers) remove(q *QP) {
	if q.slot != noSlot {
		t.wheel.remove(q)
	}
}

// A timeout says that no answer has come. On a host that is short of processors the answer may
// well have come, and the receiving goroutine has not: it was not woken yet, or not let run
// since it took the answer from the link. So a timeout that is due while the link's receiver
// is behind is put off, and counts only if it is still due
//
//   - when the receiver has caught up, or
//   - when enough was received since for all that waited to be among it, so that traffic
//     that never ends (a flood, or just a busy link) does not put off timeouts for ever, or
//   - when it was put off maxPutOffs times, in case nothing is received at all. This counts
//     occasions on which the pump ran and slept, and not time: a process that is stopped for a
//     second gave the receiver no chance in it.
const (
	// firstPutOff is for how long a timeout is put off at first. Each further time is twice as
	// long, so that many queue pairs do not keep the pump from giving way to the receiver.
	firstPutOff = transport.Time(time.Millisecond)
	// maxPutOffs is how many times a timeout is put off: by 1023 ms in all.
	maxPutOffs = 10
	// putOffBatches is how many batches are enough. A full one of a UDP link is 512 KiB, and 64
	// of them are the receive buffer that it asks for by default, or 64 short datagrams, of
	// which such a buffer may hold more.
	putOffBatches = 64
)

// putOff is a timeout that is put off. The shard's lock guards it.
type putOff struct {
	due   transport.Time // when it was due, which tells it from the machine's next one
	until transport.Time
	times int
	last  uint64 // outbox.batches from which on it is not put off again
}

// lookout remembers within one round of the pump whether the receiver of a link was behind:
// looking is a system call, and many queue pairs may be due.
type lookout struct {
	out    *outbox
	behind bool
}

func (l *lookout) isBehind(o *outbox) bool {
	if l.out != o {
		l.out, l.behind = o, o.behind()
	}
	return l.behind
}

// ReceiverBehind reports whether packets have come to the link of a connected queue pair that may
// not have been dealt with.
func (q *QP) ReceiverBehind() bool {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.out != nil && q.out.behind()
}

// deadline is when q's machine wants its timeout, or until when that is put off. The lock is
// held.
func (q *QP) deadline() (transport.Time, bool) {
	at, ok := q.machine.NextTimeout()
	if at == q.late.due {
		at = max(at, q.late.until)
	}
	return at, ok
}

// putOff puts off q's timeout, which is due, unless it is to count. The lock is held.
func (s *shard) putOff(q *QP, now transport.Time, look *lookout) bool {
	if q.out == nil || !look.isBehind(q.out) {
		return false
	}
	l := &q.late
	if due, _ := q.machine.NextTimeout(); l.due != due {
		*l = putOff{due: due, last: q.out.brings.batches.Load() + putOffBatches}
		s.count.timeoutsPutOff++
	}
	if l.times == maxPutOffs || q.out.brings.batches.Load() >= l.last {
		return false
	}
	l.until = now + firstPutOff<<l.times
	l.times++
	return true
}

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
