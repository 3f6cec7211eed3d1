package nic

import (
	"math"
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
