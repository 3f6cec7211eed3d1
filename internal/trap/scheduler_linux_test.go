//go:build linux && (amd64 || arm64)

package trap

import (
	"os"
	"strconv"
	"testing"
)

// A timetable makes calls of processes to a scheduler without a server.
type timetable struct {
	t *testing.T
	s scheduler
}

func newTimetable(t *testing.T, all, each int) *timetable {
	x := &timetable{t: t}
	x.s.init(all, each, 1)
	return x
}

// begin enters a call of a process and checks whether it is answered immediately or queued.
func (x *timetable) begin(process int, answered bool) *Call {
	x.t.Helper()
	c := &Call{group: process}
	now, _ := x.s.begin(c)
	if queued := x.s.isQueued(c); now != answered || queued == answered {
		x.t.Fatalf("call of process %d: answered %v, queued %v, want answered %v", process, now, queued, answered)
	}
	return c
}

// finish ends a call. Next, the server must answer want; nil: no call.
func (x *timetable) finish(c, want *Call) {
	x.t.Helper()
	if next, _ := x.s.finish(c); next != want {
		x.t.Fatalf("next call %+v, want %+v", next, want)
	}
}

func (x *timetable) quiet() bool {
	select {
	case <-x.s.drained:
		return true
	default:
		return false
	}
}

func TestAProcessHasItsShareOfTheWorkersAndItsOtherCallsWaitInOrder(t *testing.T) {
	x := newTimetable(t, 100, 2)
	a, b := x.begin(1, true), x.begin(1, true)
	c, d := x.begin(1, false), x.begin(1, false)
	e := x.begin(2, true)
	x.finish(e, nil)
	x.finish(b, c)
	x.finish(c, d)
	x.finish(a, nil)
	x.finish(d, nil)
	if len(x.s.groups) != 0 {
		t.Errorf("%d processes without calls are kept", len(x.s.groups))
	}
}

func TestAProcessHasOneWorkerWhileHalfOfAllAreBusy(t *testing.T) {
	x := newTimetable(t, 4, 3)
	a, b := x.begin(1, true), x.begin(1, true)
	c := x.begin(1, false)
	d := x.begin(2, true)
	e := x.begin(2, false)
	x.finish(a, nil) // process 1 has one
	x.finish(b, c)
	x.finish(d, e)
	x.finish(c, nil)
	x.finish(e, nil)
}

func TestProcessesTakeTurnsWhereAllWorkersAreBusy(t *testing.T) {
	x := newTimetable(t, 2, 2)
	a, b := x.begin(1, true), x.begin(2, true)
	c1, c2 := x.begin(3, false), x.begin(3, false)
	d1 := x.begin(4, false)
	x.finish(a, c1)
	x.finish(b, d1)
	x.finish(d1, nil) // process 3 has one worker, which is half of all
	x.finish(c1, c2)
	x.finish(c2, nil)
}

func TestAWorkerIsLeftToTakeCalls(t *testing.T) {
	x := newTimetable(t, 3, 3)
	for i := range 3 {
		if now, more := x.s.begin(&Call{group: i}); !now || !more {
			t.Errorf("call %d: answered %v, another worker %v, want both", i, now, more)
		}
	}
	if now, more := x.s.begin(&Call{group: 3}); now || more {
		t.Errorf("a call beyond the bound: answered %v, another worker %v", now, more)
	}
}

func TestAQueuedCallCanBeWithdrawn(t *testing.T) {
	x := newTimetable(t, 10, 1)
	a := x.begin(1, true)
	b, c := x.begin(1, false), x.begin(1, false)
	if !x.s.withdraw(b) || x.s.withdraw(b) || x.s.withdraw(a) {
		t.Error("only a queued call can be withdrawn, once")
	}
	x.finish(a, c)
	x.finish(c, nil)
}

func TestACallWithdrawnFromAllBusyWorkersLeavesNoTurn(t *testing.T) {
	x := newTimetable(t, 1, 1)
	a := x.begin(1, true)
	b := x.begin(2, false)
	c := x.begin(3, false)
	x.s.withdraw(b)
	x.finish(a, c)
	x.finish(c, nil)
}

func TestTheEndWaitsForCallsExceptAccessesToMemory(t *testing.T) {
	x := newTimetable(t, 10, 1)
	a, b := x.begin(1, true), x.begin(2, true)
	queued := x.begin(1, false)
	x.s.leave()
	x.s.end()
	if x.quiet() || x.s.isQueued(queued) {
		t.Error("the end drops queued calls and waits for others")
	}
	x.s.retire()
	x.finish(b, nil)
	if !x.quiet() {
		t.Error("the end waits for an access to memory")
	}
	if x.s.resume() {
		t.Error("a call goes on after the end")
	}
	x.finish(a, nil)
	if now, _ := x.s.begin(&Call{}); now {
		t.Error("a call begins after the end")
	}
}

func TestAnInstallationInOneProcessDoesNotWaitForThatInAnother(t *testing.T) {
	var locks processLocks
	first := locks.lock(1)
	second := locks.lock(2)
	second()
	next := make(chan struct{})
	go func() {
		defer close(next)
		locks.lock(1)()
	}()
	first()
	<-next
	if len(locks.locks) != 0 {
		t.Errorf("%d locks that are not held are kept", len(locks.locks))
	}
}

func TestTheThreadGroupOfEachThreadIsKnown(t *testing.T) {
	var groups threadGroups
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from the cache
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				t.Fatal(err)
			}
			if got := groups.of(tid); got != os.Getpid() && inGroup(os.Getpid(), tid) {
				t.Errorf("thread %d: group %d, want %d", tid, got, os.Getpid())
			}
		}
	}
	groups.known[os.Getpid()] = 1 // from an earlier thread with this number
	if got := groups.of(os.Getpid()); got != os.Getpid() {
		t.Errorf("a number that was used again: group %d, want %d", got, os.Getpid())
	}
}
