package nic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/transport"
)

// spans are the distances of deadlines and the steps of time, in nanoseconds: within a tick, a
// slot of each ring, and an hour.
var spans = []int64{1000, 100_000, 10_000_000, 1_000_000_000, 3_600_000_000_000}

// Comparison with a plain list: due returns the queue pairs whose deadline has passed, all of
// them within a tick, in order of ticks, and the runtime timer is never later than the tick of
// the earliest deadline.
func TestTimersModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timers := newTimers()
		defer timers.runtime.Stop()
		qps := make([]*QP, 12)
		for i := range qps {
			qps[i] = &QP{slot: noSlot}
		}
		model := map[*QP]transport.Time{}
		now := transport.Time(1)

		pick := func(t *rapid.T) *QP { return rapid.SampledFrom(qps).Draw(t, "qp") }
		t.Repeat(map[string]func(*rapid.T){
			"at": func(t *rapid.T) {
				q, at := pick(t), now+transport.Time(rapid.Int64Range(1,
					spans[rapid.IntRange(0, len(spans)-1).Draw(t, "span")]).Draw(t, "in"))
				timers.at(q, now, at)
				if old, ok := model[q]; !ok || at < old {
					model[q] = at
				}
			},
			"remove": func(t *rapid.T) {
				q := pick(t)
				timers.remove(q)
				delete(model, q)
			},
			"advance": func(t *rapid.T) {
				now += transport.Time(rapid.Int64Range(0,
					spans[rapid.IntRange(0, len(spans)-1).Draw(t, "span")]).Draw(t, "by"))
				for q := timers.due(now); q != nil; q = timers.due(now) {
					at, ok := model[q]
					if !ok || at > now {
						t.Fatalf("due at %d: a queue pair with deadline %d, %v", now, at, ok)
					}
					for _, other := range model {
						if tickOf(other) < tickOf(at) {
							t.Fatalf("deadline %d was served before %d", at, other)
						}
					}
					delete(model, q)
				}
				for _, at := range model {
					if timeOf(tickOf(at)) <= now {
						t.Fatalf("at %d the deadline %d was not served", now, at)
					}
				}
				timers.rearm(now)
			},
			"": func(t *rapid.T) {
				var left []transport.Time
				for q, at := range model {
					left = append(left, at)
					if q.slot == noSlot || q.wake != at {
						t.Fatalf("the wheel does not know the deadline %d", at)
					}
				}
				if len(left) != timers.wheel.count {
					t.Fatalf("%d deadlines, want %d", timers.wheel.count, len(left))
				}
				if len(left) > 0 && timers.armed > timeOf(tickOf(slices.Min(left))) {
					t.Fatalf("armed for %d, the earliest deadline is %d", timers.armed, slices.Min(left))
				}
			},
		})
	})
}

func TestLaterDeadlineLeavesTheTimerAlone(t *testing.T) {
	timers := newTimers()
	defer timers.runtime.Stop()
	q := &QP{slot: noSlot}
	timers.at(q, 0, 5000)
	timers.at(q, 10, 9000)
	if q.wake != 5000 || timers.armed != 5120 {
		t.Errorf("wake %d, armed %d: a later deadline must not touch them, want 5000 and the tick after it",
			q.wake, timers.armed)
	}
	timers.at(q, 20, 2500)
	if q.wake != 2500 || timers.armed != 3072 {
		t.Errorf("wake %d, armed %d after an earlier deadline, want 2500 and the tick after it", q.wake, timers.armed)
	}
}
