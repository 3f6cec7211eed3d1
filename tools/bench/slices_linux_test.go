package bench

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// One side runs and the other is stopped, until one has left.
func TestATurnstileLetsOneSideRun(t *testing.T) {
	var s turnstile
	var ends [2]*exec.Cmd
	for side := range ends {
		c := exec.CommandContext(t.Context(), "cat")
		// What it reads does not end before the test does.
		if _, err := c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ends[side] = c
		s.enter(side, c)
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
