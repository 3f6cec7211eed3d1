package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAProgramBeginsWithTheSignalsOfItsCommand: nohup ignores SIGHUP, and a shell without job
// control ignores SIGINT and SIGQUIT for commands in the background. A Go program cannot query
// whether other terminating signals were ignored or blocked at its start.
func TestAProgramBeginsWithTheSignalsOfItsCommand(t *testing.T) {
	needPrograms(t, "env", "nohup", "grep")
	p := newPlace(t)
	const program = "grep -E '^Sig(Ign|Blk)' /proc/self/status"
	for _, before := range []string{
		"", "nohup ", "env --ignore-signal=HUP,INT,QUIT,TSTP,TTIN,TTOU ", "env --block-signal=USR1,ALRM,TSTP ",
		"env --ignore-signal=HUP --block-signal=PIPE,WINCH ",
	} {
		want, err := p.run(before + program)
		if err != nil {
			t.Fatalf("%s: %v\n%s", before, err, want)
		}
		for _, run := range []string{"gorxe run -d 127.55.11.41 -- ", "gorxe run --no-daemon -d 127.55.11.42 -- "} {
			if got, err := p.run(before + run + program); err != nil || got != want {
				t.Errorf("%s: %v\n%swant\n%s", before+run, err, got, want)
			}
		}
	}
	const background = `sh -c '"$@" & wait' sh `
	want, _ := p.run(background + program)
	if got, err := p.run(background + "gorxe run -d 127.55.11.41 -- " + program); err != nil || got != want {
		t.Errorf("in the background: %v\n%swant\n%s", err, got, want)
	}
}

func TestProgramsEndWithGorxeRunAndSayWhy(t *testing.T) {
	needPrograms(t)
	p := newPlace(t)
	const says = "gorxe: gorxe run has ended unexpectedly: killing sh and everything it started"
	c := p.until("gorxe run -d 127.55.11.43 -- sh -c 'sleep 1000 & echo $! ready; wait'", "ready")
	ends := descendantsOf(t, c.Process.Pid)
	if len(ends) != 3 { // the keeper, sh, sleep
		t.Errorf("%d descendants, want 3", len(ends))
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // until no process has the pipe of standard error open
	if got := c.errors.String(); strings.TrimSpace(got) != says {
		t.Errorf("standard error: %q, want %q", got, says)
	}
	for _, pid := range ends {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pid), Events: unix.POLLIN}}, -1)
		for err == unix.EINTR {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(pid), Events: unix.POLLIN}}, -1)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func TestGorxeRunEndsWithAKeeperThatIsKilled(t *testing.T) {
	needPrograms(t)
	p := newPlace(t)
	const program = `(trap "" TERM; while :; do sleep 1000; done) & echo $PPID ready; wait`
	c := p.until("gorxe run -d 127.55.11.44 -- sh -c '"+program+"'", "ready")
	ends := descendantsOf(t, c.Process.Pid)
	keeper := 0
	for _, pid := range processes() {
		if parentOf(pid) == c.Process.Pid {
			keeper = pid
		}
	}
	if err := unix.Kill(keeper, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	const says = "gorxe-keeper was killed, so the program and everything it started were killed"
	if err := c.Wait(); exitCode(err) != 1 || !strings.Contains(c.errors.String(), says) {
		t.Errorf("%v\n%s\nwant exit status 1, and %q", err, &c.errors, says)
	}
	for _, fd := range ends {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); n != 1 || err != nil {
			t.Errorf("a process is left: %v", err)
		}
	}
}

// descendantsOf returns pidfds of the descendants of a process.
func descendantsOf(t *testing.T, of int) (fds []int) {
	t.Helper()
	for _, pid := range processes() {
		if pid == of || !descends(pid, of) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		fds = append(fds, fd)
	}
	return fds
}
