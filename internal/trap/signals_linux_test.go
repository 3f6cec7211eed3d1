//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAProgramMayBeKilledInTheMiddleOfItsCalls(t *testing.T) {
	r := startProgram(t, "storm")
	var id ProcID
	for range 100 {
		id = <-r.h.opened
	}
	if err := unix.Kill(r.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, ws := r.wait(); ws.Signal() != unix.SIGKILL {
		t.Errorf("status %v", ws)
	}
	if got := <-r.h.exited; got != id || len(r.h.exited) != 0 {
		t.Errorf("end of %+v and of %d more, want one of %+v", got, len(r.h.exited), id)
	}
}

func TestCloseEndsTheCallsThatWait(t *testing.T) {
	r := startProgram(t, "park", "leader", "restart")
	call := <-r.h.parked
	r.s.Close()
	if cause := <-r.h.ended; !errors.Is(cause, ErrGone) {
		t.Errorf("OnInterrupt with %v", cause)
	}
	if err := call.Reply(0); !errors.Is(err, ErrGone) {
		t.Errorf("Reply after Close: %v", err)
	}
	call.OnInterrupt(func(cause error) { r.h.ended <- cause })
	r.kill() // the call waits for the program's end
	r.Wait()
	if got := r.text(r.out); got != "" {
		t.Errorf("the call returned %s", got)
	}
}

func TestCallsAreMadeExactlyOnceUnderSignals(t *testing.T) {
	for _, mode := range []string{"restart", "interrupt"} {
		t.Run(mode, func(t *testing.T) {
			r := startProgram(t, "timer", mode)
			var done, interrupted int64
			if _, err := fmt.Sscan(r.mustSucceed(), &done, &interrupted); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls, %d EINTR", done, interrupted)
			if got := r.h.counted.Load(); got != done {
				t.Errorf("the handler saw %d calls, the program made %d", got, done)
			}
			if mode == "restart" && done != 5000 {
				t.Errorf("%d calls returned 0, want 5000", done)
			}
		})
	}
}

// interrupt sends a signal, to the process or to the thread of a parked call, and returns the
// error with which the call ended. Another thread, such as one that Go's runtime has just
// started, may take a signal for the process. The call is not interrupted then, and its thread
// gets a signal.
func (r *run) interrupt(call *Call, process bool) error {
	r.t.Helper()
	if process {
		if err := unix.Kill(r.PID, unix.SIGUSR1); err != nil {
			r.t.Fatal(err)
		}
		select {
		case cause := <-r.h.ended:
			return cause
		case <-time.After(5 * time.Second):
		}
	}
	if err := unix.Tgkill(r.PID, call.TID(), unix.SIGUSR1); err != nil {
		r.t.Fatal(err)
	}
	return <-r.h.ended
}

func TestBlockedCallsEndByASignal(t *testing.T) {
	for _, c := range []struct{ thread, mode, want string }{
		{"leader", "restart", "<nil>"},
		{"leader", "interrupt", "interrupted system call"},
		{"other", "restart", "<nil>"},
		{"other", "interrupt", "interrupted system call"},
	} {
		t.Run(c.thread+" "+c.mode, func(t *testing.T) {
			r := startProgram(t, "park", c.thread, c.mode)
			call := <-r.h.parked
			if err := call.ReplyInterrupted(); !errors.Is(err, ErrNotInterrupted) {
				t.Fatalf("ReplyInterrupted without a signal: %v", err)
			}
			if cause := r.interrupt(call, c.thread == "leader"); !errors.Is(cause, ErrInterrupted) {
				t.Fatalf("OnInterrupt with %v", cause)
			}
			if c.mode == "restart" {
				again := <-r.h.parked
				if again == call {
					t.Error("no second notification")
				}
			}
			close(r.h.released)
			if got := r.mustSucceed(); got != c.want {
				t.Errorf("the call returned %s, want %s", got, c.want)
			}
			if err := call.Reply(0); !errors.Is(err, ErrAnswered) {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

func TestABlockedProgramCanBeStopped(t *testing.T) {
	for _, thread := range []string{"leader", "other"} {
		t.Run(thread, func(t *testing.T) {
			r := startProgram(t, "park", thread, "restart")
			<-r.h.parked
			if err := unix.Kill(r.PID, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			for !isStopped(t, r.PID) {
			}
			if err := unix.Kill(r.PID, unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			<-r.h.parked
			close(r.h.released)
			if got := r.mustSucceed(); got != "<nil>" {
				t.Errorf("the call returned %s", got)
			}
		})
	}
}

// isStopped reports whether all threads of a process are stopped.
func isStopped(t *testing.T, pid int) bool {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(all) == 0 {
		t.Fatalf("no process %d: %v", pid, err)
	}
	return !slices.ContainsFunc(all, func(path string) bool {
		st, ok := signalState(path)
		return ok && st.state != 'T'
	})
}

func TestTheHandlerLearnsThatABlockedCallerWasKilled(t *testing.T) {
	r := startProgram(t, "park", "leader", "restart")
	call := <-r.h.parked
	if err := unix.Kill(r.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if cause := <-r.h.ended; !errors.Is(cause, ErrGone) {
		t.Errorf("OnInterrupt with %v", cause)
	}
	if err := call.Read(0x1000, make([]byte, 8)); !errors.Is(err, ErrGone) {
		t.Errorf("Read: %v", err)
	}
	known := len(call.s.objects.m)
	for _, slot := range []Slot{SlotLowest, SlotControl} {
		if _, err := call.InstallFD(FD{File: int(r.out.Fd()), Object: r, Slot: slot}); !errors.Is(err, ErrGone) {
			t.Errorf("InstallFD: %v", err)
		}
	}
	if got := len(call.s.objects.m); got != known {
		t.Errorf("%d objects after an installation that failed, want %d", got, known)
	}
	if _, err := call.OpenMemory(); err == nil {
		t.Error("OpenMemory of a process that was killed")
	}
	if err := call.Reply(0); !errors.Is(err, ErrGone) {
		t.Errorf("Reply: %v", err)
	}
	if _, ws := r.wait(); ws.Signal() != unix.SIGKILL {
		t.Errorf("status %v", ws)
	}
}

// A verdict of ERESTARTSYS requires the kernel's signal flag on this thread.
func TestCallsRestartOnlyIfTheSignalIsForTheirThread(t *testing.T) {
	const usr1 = 1 << 9
	type threads map[int]signals
	for _, c := range []struct {
		name    string
		tid     int // the leader is 100
		threads threads
		want    verdict
	}{
		{"no signal", 100, threads{100: {}}, mayWait},
		{"to the thread", 101, threads{100: {}, 101: {thread: usr1}}, mayRestart},
		{"to the thread, blocked", 101, threads{100: {}, 101: {thread: usr1, blocked: usr1}}, mayWait},
		{"to another thread", 101, threads{100: {thread: usr1}, 101: {}}, mayWait},
		{"to a process of one thread", 100, threads{100: {process: usr1}}, mayRestart},
		{"to a process of one thread, blocked", 100, threads{100: {process: usr1, blocked: usr1}}, mayWait},
		{"to the process, at the leader", 100, threads{100: {process: usr1}, 101: {process: usr1}}, mayRestart},
		{"to the process, the leader takes it", 101, threads{100: {process: usr1}, 101: {process: usr1}}, mayWait},
		{"to the process, all others block it", 101,
			threads{100: {process: usr1, blocked: usr1}, 101: {process: usr1}, 102: {blocked: usr1}}, mayRestart},
		{"to the process, another may take it", 101,
			threads{100: {process: usr1, blocked: usr1}, 101: {process: usr1}, 102: {process: usr1}}, mayFail},
		{"a stop of the process", 101, threads{100: {state: 'T'}, 101: {}}, mayRestart},
		{"a stop of the process, at the leader", 100, threads{100: {}, 101: {state: 'T'}}, mayRestart},
		{"SIGKILL", 100, threads{100: {thread: 1 << 8, process: 1 << 8}}, mayWait},
		{"a thread that has ended", 102, threads{100: {}}, mayWait},
	} {
		proc := t.TempDir()
		for tid, st := range c.threads {
			if st.state == 0 {
				st.state = 'S'
			}
			text := fmt.Sprintf(
				"Name:\tx\nState:\t%c (x)\nTgid:\t100\nThreads:\t%d\nSigPnd:\t%016x\nShdPnd:\t%016x\nSigBlk:\t%016x\n",
				st.state, len(c.threads), st.thread, st.process, st.blocked)
			for _, dir := range []string{fmt.Sprint(tid), fmt.Sprintf("100/task/%d", tid)} {
				if err := os.MkdirAll(filepath.Join(proc, dir), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(proc, dir, "status"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := interruption(proc, c.tid); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
}
