//go:build linux && (amd64 || arm64)

package trap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProgramsSeeThePathsOfTheTreeAndOfTheHost(t *testing.T) {
	startProgram(t, "paths").mustSucceed()
}

func TestBadArgumentsGetTheErrnoOfTheKernel(t *testing.T) {
	startProgram(t, "hostile").mustSucceed()
}

func TestEveryStatCallSeesADevice(t *testing.T) {
	startProgram(t, "stat").mustSucceed()
}

func TestObjectsAreFoundByInodeAndOpenDescriptorsAreNotReplaced(t *testing.T) {
	d, err := DescriptorsFor(1024)
	if err != nil {
		t.Fatal(err)
	}
	r := startProgram(t, "descriptors", strconv.Itoa(d.Lo), strconv.Itoa(d.Channel))
	r.mustSucceed()
	if want := []string{channelPath + " command"}; !slices.Equal(r.h.writes, want) {
		t.Errorf("writes %q, want %q", r.h.writes, want)
	}
}

func TestReservedDescriptorsFollowTheSoftLimit(t *testing.T) {
	d, err := DescriptorsFor(64)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, Command{Path: "/proc/self/exe", Descriptors: d, Args: []string{"exhaust", strconv.Itoa(d.Channel - d.Lo)},
		Env: programEnv("exhaust")})
	r.mustSucceed()
}

func TestChildrenInheritDevices(t *testing.T) {
	r := startProgram(t, "inherit")
	r.mustSucceed()
	parent, child := <-r.h.opened, <-r.h.opened
	if parent == child || parent.PID != r.PID {
		t.Errorf("the opens came from %+v and %+v, want two processes, the first one %d", parent, child, r.PID)
	}
	ends := []ProcID{<-r.h.exited, <-r.h.exited}
	if !slices.Contains(ends, parent) || !slices.Contains(ends, child) || len(r.h.exited) != 0 {
		t.Errorf("ends of %+v and %d more, want one of %+v and one of %+v", ends, len(r.h.exited), parent, child)
	}
}

func TestDevicesSurviveExecAndTheAddressSpaceDoesNot(t *testing.T) {
	r := startProgram(t, "exec")
	r.mustSucceed()
	before, after := <-r.h.opened, <-r.h.opened
	if before != after {
		t.Errorf("the process was %+v and is %+v after exec", before, after)
	}
	if len(r.h.memory) != 2 {
		t.Fatalf("%d address spaces were opened", len(r.h.memory))
	}
	for i, m := range r.h.memory {
		n, err := m.ReadAt(make([]byte, 1), m.path)
		if n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("address space %d after its end: %d bytes, %v", i, n, err)
		}
	}
}

func TestAddressSpacesCanBeReadWhileTheProgramLives(t *testing.T) {
	r := startProgram(t, "park", "leader", "restart")
	<-r.h.parked
	m := r.h.memory[0]
	got := make([]byte, len(devicePath))
	if _, err := m.ReadAt(got, m.path); err != nil || string(got) != devicePath {
		t.Errorf("%q, %v, want %q", got, err, devicePath)
	}
	close(r.h.released)
	r.mustSucceed()
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
	r.Wait()
	if got := r.text(r.out); got != "function not implemented" {
		t.Errorf("the call returned %s", got)
	}
}

func TestReservedDescriptorsFitTheLimitThatGoHidesFromUs(t *testing.T) {
	needShell(t)
	needTrap(t)
	c := exec.Command("/bin/sh", "-c", "ulimit -Sn 200; exec "+os.Args[0])
	c.Env = programEnv("limit")
	out, err := c.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "200\n136 199" {
		t.Errorf("%v, output %q", err, got)
	}
}

func TestThreadsOfAProgramAreServedAtOnce(t *testing.T) {
	for _, cfg := range []Config{{}, {Workers: 1}, {Workers: 5, SyncWakeUp: true}} {
		c := Command{Path: "/proc/self/exe", Args: []string{"threads"}, Env: programEnv("threads")}
		startWith(t, c, cfg).mustSucceed()
	}
}

func TestAProgramMayCloseAllDescriptorsBeforeItOpensADevice(t *testing.T) {
	startProgram(t, "closeall").mustSucceed()
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
			var err error
			if c.thread == "leader" {
				err = unix.Kill(r.PID, unix.SIGUSR1)
			} else {
				err = unix.Tgkill(r.PID, call.TID(), unix.SIGUSR1)
			}
			if err != nil {
				t.Fatal(err)
			}
			if cause := <-r.h.ended; !errors.Is(cause, ErrInterrupted) {
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
			_, err := retry(func() (int, error) {
				return 0, unix.Waitid(unix.P_PID, r.PID, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
			})
			if err != nil {
				t.Fatal(err)
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

func TestToolsSeeTheTree(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"cat " + abiPath, "6"},
		{"ls -l /dev/infiniband | sed 's/ .* \\([0-9]*, *[0-9]*\\) .* / \\1 /'", "total 0\ncrw-rw-rw- 10, 122 rdma_cm\ncrw-rw-rw- 231, 192 uverbs0"},
		{"ls " + sysPath, "abi_version\nuverbs0"},
		{"stat -c '%F %t:%T' " + devicePath, "character special file e7:c0"},
		{"test -c " + devicePath + " && echo yes", "yes"},
		{"ls " + sysPath + "/none 2>&1 | sed 's/.*: //'", "No such file or directory"},
		{"find /sys/class/infiniband -type d | sort", "/sys/class/infiniband\n/sys/class/infiniband/rxe0\n/sys/class/infiniband/rxe0/ports\n/sys/class/infiniband/rxe0/ports/1"},
	} {
		t.Run(c.command, func(t *testing.T) {
			needShell(t)
			r := start(t, Command{Path: "/bin/sh", Args: []string{"sh", "-c", c.command}, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}})
			if got := r.mustSucceed(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if e := r.text(r.errors); e != "" {
				t.Errorf("errors: %s", e)
			}
		})
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
