//go:build linux && (amd64 || arm64)

package trap

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAProgramWithSlowMemoryKeepsNoOtherFromItsAnswers(t *testing.T) {
	for _, kind := range []string{"path", "ioctl"} {
		for _, n := range []struct{ calls, answered string }{{"1", "1"}, {"2", "2"}, {"40", "8"}} {
			t.Run(kind+" "+n.calls, func(t *testing.T) {
				needUffd(t)
				startProgram(t, "slow", kind, n.calls, n.answered).mustSucceed()
			})
		}
	}
}

// pipeTo returns a command of a program with a pipe as standard output, and a reader of the pipe.
func pipeTo(t *testing.T, name string, args ...string) (Command, *bufio.Reader, func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	c := Command{Path: "/proc/self/exe", Args: append([]string{name}, args...), Env: programEnv(name)}
	c.Files[1], c.Files[2] = w, os.Stderr
	return c, bufio.NewReader(r), func() { _ = w.Close() }
}

func TestTheServerEndsWhileAnAccessToMemoryOfAKilledProgramLasts(t *testing.T) {
	needUffd(t)
	c, out, started := pipeTo(t, "stuck")
	r := startWith(t, c, Config{})
	started()
	var number int
	if _, err := fmt.Fscanln(out, &number); err != nil {
		t.Fatal(err)
	}
	pidfd, err := unix.PidfdOpen(r.PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(pidfd) }()
	uffd, err := unix.PidfdGetfd(pidfd, number, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(r.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, ws := r.wait(); ws.Signal() != unix.SIGKILL {
		t.Errorf("status %v", ws)
	}
	_ = unix.Close(uffd) // the access ends now
}

// A thread with a queued call runs its signal handlers like one that is about to make the call.
// The call has had no effect, so it does not fail with EINTR, and the handler gets it once.
func TestQueuedCallsAreMadeAgainAfterASignal(t *testing.T) {
	for _, mode := range []string{"restart", "interrupt"} {
		t.Run(mode, func(t *testing.T) {
			c, out, started := pipeTo(t, "block", "3", mode)
			r := startWith(t, c, Config{PerProcess: 2})
			started()
			calls := map[int]bool{}
			for range 2 {
				calls[(<-r.h.parked).TID()] = true
			}
			tid := queuedCaller(r)
			if err := unix.Tgkill(r.PID, tid, unix.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			if line, err := out.ReadString('\n'); line != "signal\n" {
				t.Fatalf("%q, %v, want signal", line, err)
			}
			close(r.h.released)
			if line, err := out.ReadString('\n'); line != "<nil>\n" {
				t.Errorf("the calls returned %q, %v", line, err)
			}
			r.mustSucceed()
			if len(r.h.parked) != 1 {
				t.Fatalf("the handler got %d calls after the signal, want 1", len(r.h.parked))
			}
			if last := (<-r.h.parked).TID(); last != tid || calls[tid] {
				t.Errorf("calls of threads %v and %d; the queued one is of %d", calls, last, tid)
			}
		})
	}
}

// queuedCaller waits until a call is queued, and returns its thread.
func queuedCaller(r *run) int {
	for {
		s := &r.s.sched
		s.mu.Lock()
		for _, g := range s.groups {
			if len(g.queue) > 0 {
				defer s.mu.Unlock()
				return g.queue[0].TID()
			}
		}
		s.mu.Unlock()
		runtime.Gosched()
	}
}

func TestAProgramWithQueuedCallsCanBeKilled(t *testing.T) {
	c := Command{Path: "/proc/self/exe", Args: []string{"block", "5", "restart"}, Env: programEnv("block")}
	r := startWith(t, c, Config{PerProcess: 2})
	<-r.h.parked
	<-r.h.parked
	queuedCaller(r)
	if err := unix.Kill(r.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	close(r.h.released)
	if _, ws := r.wait(); ws.Signal() != unix.SIGKILL {
		t.Errorf("status %v", ws)
	}
}

func TestAHandlerThatTakesLongKeepsOtherProgramsFromNothing(t *testing.T) {
	c, out, started := pipeTo(t, "beside", "20")
	r := startWith(t, c, Config{})
	started()
	for range 8 {
		<-r.h.parked
	}
	if line, err := out.ReadString('\n'); line != "done\n" {
		t.Errorf("%q, %v, want done", line, err)
	}
	close(r.h.released)
	r.mustSucceed()
}
