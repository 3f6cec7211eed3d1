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
	c := exec.Command("/proc/self/exe")
	c.Env = programEnv("crowded")
	out, err := c.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "status 0" {
		t.Errorf("%v, output %q", err, got)
	}
}

// The child of the keeper tells that it cannot execute a program with write(2) to the lowest number that is free. If
// many are inherited, that is a reserved one.
func TestAProgramThatCannotBeExecutedIsAnErrorThoughLowNumbersAreReserved(t *testing.T) {
	needTrap(t)
	_, _, err := Start(Command{Path: "/no/such/program", Descriptors: Descriptors{Lo: 3, Hi: 66, Channel: 40, WriteLo: 3}})
	if !errors.Is(err, unix.ENOENT) {
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

func needShell(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
}
