package engine

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
// a move costs nothing here: the heap keeps the old, too early deadline, and when that
// one comes the machine is asked again. So a queue pair is woken for nothing at most
// once per timeout, and the runtime timer is touched only when the earliest deadline
// moves to an earlier time.
type timers struct {
	heap    []*QP          // binary heap by QP.wake, positions in QP.heapAt
	armed   transport.Time // what runtime stands for, never when idle
	runtime *time.Timer    // its channel is read by the shard's pump
}

func newTimers() timers {
	t := timers{armed: never, runtime: time.NewTimer(time.Hour)}
	t.runtime.Stop()
	return t
}

// at makes sure that q is asked for its timeout at or before deadline.
func (t *timers) at(q *QP, now, deadline transport.Time) {
	switch {
	case q.heapAt < 0:
		q.wake = deadline
		q.heapAt = int32(len(t.heap))
		t.heap = append(t.heap, q)
	case deadline < q.wake:
		q.wake = deadline
	default:
		return
	}
	t.up(int(q.heapAt))
	t.arm(now)
}

// arm sets the runtime timer if the earliest deadline is before the one it stands for.
func (t *timers) arm(now transport.Time) {
	if len(t.heap) > 0 && t.heap[0].wake < t.armed {
		t.armed = t.heap[0].wake
		t.runtime.Reset(time.Duration(max(0, t.armed-now)))
	}
}

// due removes and returns a queue pair whose deadline has come, or nil.
func (t *timers) due(now transport.Time) *QP {
	if len(t.heap) == 0 || t.heap[0].wake > now {
		return nil
	}
	q := t.heap[0]
	t.remove(q)
	return q
}

// rearm sets the runtime timer for what is left after every due queue pair was served.
func (t *timers) rearm(now transport.Time) {
	if t.armed <= now {
		t.armed = never
	}
	t.arm(now)
}

// remove forgets q's deadline.
func (t *timers) remove(q *QP) {
	i := int(q.heapAt)
	if i < 0 {
		return
	}
	last := len(t.heap) - 1
	t.swap(i, last)
	t.heap[last] = nil
	t.heap = t.heap[:last]
	q.heapAt = -1
	if i < last {
		t.down(i)
		t.up(i)
	}
}

func (t *timers) swap(i, j int) {
	h := t.heap
	h[i], h[j] = h[j], h[i]
	h[i].heapAt, h[j].heapAt = int32(i), int32(j)
}

func (t *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if t.heap[parent].wake <= t.heap[i].wake {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t *timers) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.heap[child].wake < t.heap[least].wake {
				least = child
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}
