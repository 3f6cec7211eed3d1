package engine

import (
	"cmp"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/transport"
	"pgregory.net/rapid"
)

// Against a plain list: due gives exactly the queue pairs whose deadline has come, the
// earliest first, and the runtime timer never stands later than the earliest deadline.
func TestTimersModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timers := newTimers()
		defer timers.runtime.Stop()
		qps := make([]*QP, 12)
		for i := range qps {
			qps[i] = &QP{heapAt: -1}
		}
		model := map[*QP]transport.Time{}
		now := transport.Time(1)

		pick := func(t *rapid.T) *QP { return rapid.SampledFrom(qps).Draw(t, "qp") }
		t.Repeat(map[string]func(*rapid.T){
			"at": func(t *rapid.T) {
				q, at := pick(t), now+transport.Time(rapid.Int64Range(1, 1000).Draw(t, "in"))
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
				now += transport.Time(rapid.Int64Range(0, 300).Draw(t, "by"))
				for q := timers.due(now); q != nil; q = timers.due(now) {
					at, ok := model[q]
					if !ok || at > now {
						t.Fatalf("due at %d: a queue pair with deadline %d, %v", now, at, ok)
					}
					for _, other := range model {
						if other < at {
							t.Fatalf("deadline %d was served before %d", at, other)
						}
					}
					delete(model, q)
				}
				timers.rearm(now)
			},
			"": func(t *rapid.T) {
				var left []transport.Time
				for q, at := range model {
					left = append(left, at)
					if q.heapAt < 0 || timers.heap[q.heapAt] != q || q.wake != at {
						t.Fatalf("the heap does not know the deadline %d", at)
					}
				}
				if len(left) != len(timers.heap) {
					t.Fatalf("%d deadlines, want %d", len(timers.heap), len(left))
				}
				if len(left) > 0 && timers.armed > slices.MinFunc(left, cmp.Compare) {
					t.Fatalf("armed for %d, the earliest deadline is %d", timers.armed, slices.Min(left))
				}
			},
		})
	})
}

func TestLaterDeadlineLeavesTheTimerAlone(t *testing.T) {
	timers := newTimers()
	defer timers.runtime.Stop()
	q := &QP{heapAt: -1}
	timers.at(q, 0, 1000)
	timers.at(q, 10, 2000)
	if q.wake != 1000 || timers.armed != 1000 {
		t.Errorf("wake %d, armed %d: a later deadline must not touch them, want 1000", q.wake, timers.armed)
	}
	timers.at(q, 20, 500)
	if q.wake != 500 || timers.armed != 500 {
		t.Errorf("wake %d, armed %d after an earlier deadline, want 500", q.wake, timers.armed)
	}
}
