package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// One side runs and the other is stopped, until one has left.
func TestATurnstileLetsOneSideRun(t *testing.T) {
	var s turnstile
	var ends [2]*exec.Cmd
	for side := range ends {
		c := exec.CommandContext(t.Context(), "cat")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		// Its input does not end before the test does.
		if _, err := c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ends[side] = c
		s.enter(side, Client, c)
	}
	becomes := func(side int, stopped bool) {
		t.Helper()
		var w unix.WaitStatus
		if _, err := unix.Wait4(ends[side].Process.Pid, &w, unix.WUNTRACED|unix.WCONTINUED, nil); err != nil {
			t.Fatal(err)
		}
		if w.Stopped() != stopped || w.Continued() == stopped {
			t.Fatalf("side %d: status %#x, want stopped %v", side, w, stopped)
		}
	}
	becomes(1, true)
	s.next()
	becomes(0, true)
	becomes(1, false)
	s.next()
	becomes(1, true)
	becomes(0, false)
	s.leave(0)
	becomes(0, true)
	becomes(1, false)
	s.next() // to a side that has left
	if s.turn != 1 {
		t.Error("the turn went to a side that has left")
	}
}

// startSpinner starts a shell that starts another one, which computes without a pause. It returns
// both.
func startSpinner(t *testing.T) (c *exec.Cmd, pids []int) {
	t.Helper()
	c = exec.CommandContext(t.Context(), "sh", "-c", "(while :; do :; done) & echo $!; wait")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endGroup(c)
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	var child int
	if _, serr := fmt.Sscan(line, &child); err != nil || serr != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return c, []int{c.Process.Pid, child}
}

// awaitState waits until a process is stopped, or is not.
func awaitState(t *testing.T, pid int, stopped bool) {
	t.Helper()
	for give := time.Now().Add(10 * time.Second); time.Now().Before(give); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, behind, _ := strings.Cut(string(text), ") ")
		if strings.HasPrefix(behind, "T") == stopped {
			return
		}
	}
	t.Fatalf("process %d: it is not so that stopped is %v", pid, stopped)
}

// The descendants of a program are stopped with it, and their time is the program's.
func TestAProgramIsStoppedWithWhatItHasStarted(t *testing.T) {
	c, pids := startSpinner(t)
	for range 2 {
		pause(c)
		for _, pid := range pids {
			awaitState(t, pid, true)
		}
		resume(c)
		for _, pid := range pids {
			awaitState(t, pid, false)
		}
	}
	if got := groupOf(c); len(got) != 2 || got[0]+got[1] != pids[0]+pids[1] {
		t.Errorf("%v, want %v", got, pids)
	}
	for give := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if ran, _ := spent(pids); ran > 10*time.Millisecond {
			break
		}
		if time.Now().After(give) {
			t.Fatal("it has used no processor time")
		}
	}
}

// Both sides of a turnstile have slices of the same length, and readings begin when the clients
// have settled.
func TestSidesHaveEqualTurns(t *testing.T) {
	s := turnstile{settle: 20 * time.Millisecond}
	for side := range 2 {
		c, _ := startSpinner(t)
		s.enter(side, Client, c)
	}
	over := time.After(time.Second)
	s.turns(10*time.Millisecond, func() { <-over })
	for side := range 2 {
		h, ok := s.sideTimes(side)
		if !ok || h.took < 300*time.Millisecond || h.turn < h.took*3/10 || h.turn > h.took*7/10 {
			t.Errorf("side %d has %+v, %v", side, h, ok)
		}
		if h.used[Client] == 0 || h.used[Client] > h.took || h.used[Server] != 0 {
			t.Errorf("side %d has used %v", side, h.used)
		}
	}
	if _, ok := new(turnstile).sideTimes(0); ok {
		t.Error("a turnstile that nobody has entered has shares")
	}
}
