//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
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

// aHelper is the listener of a helper, whose calls return the errors of receives and responds in
// order.
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

// respond lets the helper execute the program, unless the next error is not nil.
func (h *aHelper) respond(*response) error {
	err := next(&h.responds)
	if err == nil {
		_ = unix.Close(h.socket)
	}
	return err
}

// A signal for the helper cancels the notification of its execve, and the kernel sends another
// one.
func TestTheHelperIsAdmittedWhenASignalHasTakenItsCallBack(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	var ready [2]int // readable: a notification is pending
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

func TestProgramsInheritAsManyDescriptorsAsThereAre(t *testing.T) {
	needShell(t)
	needTrap(t)
	if got := outputOf(t, "crowded"); got != "status 0" {
		t.Errorf("output %q", got)
	}
}

// The child of the keeper reports that it cannot execute a program with write(2) to the lowest
// free descriptor. If many are inherited, that is a reserved one.
func TestAProgramThatCannotBeExecutedIsAnErrorThoughLowNumbersAreReserved(t *testing.T) {
	needTrap(t)
	_, _, err := Start(Command{Path: "/no/such/program",
		Descriptors: Descriptors{Lo: 3, Hi: 66, Channel: 40, WriteLo: 3}})
	if !errors.Is(err, unix.ENOENT) {
		t.Errorf("Start: %v", err)
	}
}

func TestTheServerServesUntilTheLastDescendantEnds(t *testing.T) {
	needShell(t)
	needTrap(t)
	if got := outputOf(t, "supervise"); got != "6\nstatus 7" {
		t.Errorf("output %q", got)
	}
}

func needShell(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
}
