//go:build linux && (amd64 || arm64)

package trap

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReservedDescriptorsFitTheLimitThatGoHidesFromUs(t *testing.T) {
	needShell(t)
	needTrap(t)
	c := exec.Command("/bin/sh", "-c", "ulimit -Sn 200; exec "+os.Args[0])
	c.Env = programEnv("limit")
	out, err := c.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "200\n128 191" {
		t.Errorf("%v, output %q", err, got)
	}
}

func TestAServerThatEndedLeavesNoDescriptors(t *testing.T) {
	needTrap(t)
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	before := count()
	for _, name := range []string{"threads", "inherit", "paths"} {
		t.Run(name, func(t *testing.T) { startProgram(t, name).mustSucceed() })
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestNestedListenersAreDetected(t *testing.T) {
	startProgram(t, "nested").mustSucceed()
}

// aHelper is the listener of a helper, whose call ends with the errors of receive and respond in turn.
type aHelper struct {
	receives, responds []error
	socket             int
}

func next(errs *[]error) (err error) {
	if len(*errs) > 0 {
		err, *errs = (*errs)[0], (*errs)[1:]
	}
	return err
}

func (h *aHelper) receive(*notification) error { return next(&h.receives) }

// respond lets the helper execute the program, unless there is an error.
func (h *aHelper) respond(*response) error {
	err := next(&h.responds)
	if err == nil {
		_ = unix.Close(h.socket)
	}
	return err
}

// A signal for the helper takes the notification of its execve back, and the kernel makes another one.
func TestTheHelperIsAdmittedWhenASignalHasTakenItsCallBack(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	var ready [2]int // a notification waits
	if err := unix.Pipe2(ready[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ready[0])
	defer unix.Close(ready[1])
	if _, err := unix.Write(ready[1], []byte{0}); err != nil {
		t.Fatal(err)
	}
	h := &aHelper{receives: []error{unix.ENOENT, nil}, responds: []error{ErrGone}, socket: pair[1]}
	if err := admitExec(ready[0], h, pair[0]); err != nil {
		t.Error(err)
	}
	p := []unix.PollFd{{Fd: int32(pair[0]), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 0); n != 1 || err != nil {
		t.Error("admitExec has returned before the helper executed the program")
	}
}

func TestAProgramThatCannotBeExecutedIsAnError(t *testing.T) {
	needTrap(t)
	_, _, err := Start(Command{Path: "/no/such/program"})
	var e *ExecError
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("Start: %v", err)
	}
	if !errors.As(err, &e) || e.Path != "/no/such/program" || !errors.Is(err, unix.ENOENT) {
		t.Errorf("Start: %v", err)
	}
}

func TestTheServerServesUntilTheLastDescendantEnds(t *testing.T) {
	needShell(t)
	needTrap(t)
	c := exec.Command("/proc/self/exe")
	c.Env = programEnv("supervise")
	out, err := c.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "6\nstatus 7" {
		t.Errorf("%v, output %q", err, got)
	}
}

// TestProgramsEndWithTheirSupervisor: the program itself ends with a supervisor that is killed,
// all descendants with one that calls KillDescendants.
func TestProgramsEndWithTheirSupervisor(t *testing.T) {
	for _, kill := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) {
			needShell(t)
			needTrap(t)
			c := exec.Command("/proc/self/exe")
			c.Env = append(programEnv("abandon"), "XDG_RUNTIME_DIR="+t.TempDir())
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			lines.Scan()
			var pids [2]int
			if _, err := fmt.Sscan(lines.Text(), &pids[0], &pids[1]); err != nil {
				t.Fatal(err)
			}
			ends := make([]unix.PollFd, len(pids))
			for i, pid := range pids {
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = unix.Close(fd) }()
				ends[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
			}
			if kill {
				_ = c.Process.Kill()
				_ = unix.PidfdSendSignal(int(ends[1].Fd), unix.SIGKILL, nil, 0)
			} else {
				_ = in.Close()
				if lines.Scan(); lines.Text() != "signal 9" {
					t.Errorf("got %q, want signal 9", lines.Text())
				}
			}
			for i := range ends {
				if _, err := retry(func() (int, error) { return unix.Poll(ends[i:i+1], -1) }); err != nil {
					t.Error(err)
				}
			}
			_ = c.Wait()
		})
	}
}

func needShell(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
}
