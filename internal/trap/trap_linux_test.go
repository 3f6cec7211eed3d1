//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestProgramsSeeThePathsOfTheTreeAndOfTheHost(t *testing.T) {
	startProgram(t, "paths").mustSucceed()
}

func TestBadArgumentsGetTheErrnoOfTheKernel(t *testing.T) {
	startProgram(t, "hostile").mustSucceed()
}

// The seccomp profiles of some container runtimes refuse process_vm_readv.
func TestArgumentsAreReadWhereProcessVMIsRefused(t *testing.T) {
	vmRefused.Store(true)
	defer vmRefused.Store(false)
	for _, program := range []string{"paths", "mutate", "stat"} {
		startProgram(t, program).mustSucceed()
	}
}

func TestArgumentsMayChangeWhileTheyAreRead(t *testing.T) {
	startProgram(t, "mutate").mustSucceed()
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

func TestDuplicatesOfReservedDescriptorsAreReserved(t *testing.T) {
	d, err := DescriptorsFor(1024)
	if err != nil {
		t.Fatal(err)
	}
	r := startProgram(t, "duplicates", strconv.Itoa(d.Lo), strconv.Itoa(d.Channel))
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
	r := start(t, Command{Path: "/proc/self/exe", Descriptors: d,
		Args: []string{"exhaust", strconv.Itoa(d.Channel - d.Lo)},
		Env:  programEnv("exhaust")})
	r.mustSucceed()
}

func TestChildrenInheritDevices(t *testing.T) {
	r := startProgram(t, "inherit")
	r.mustSucceed()
	if len(r.h.execs) > 0 {
		t.Errorf("the handler was asked whether %q may execute a program: that has made no call on a device",
			<-r.h.execs)
	}
	parent, child := <-r.h.opened, <-r.h.opened
	if parent == child || parent.PID != r.PID {
		t.Errorf("the opens came from %+v and %+v, want two processes, the first one %d", parent, child, r.PID)
	}
	ends := []ProcID{<-r.h.exited, <-r.h.exited}
	if !slices.Contains(ends, parent) || !slices.Contains(ends, child) || len(r.h.exited) != 0 {
		t.Errorf("ends of %+v and %d more, want one of %+v and one of %+v", ends, len(r.h.exited), parent, child)
	}
}

func TestAnOpenSeesAnExecveThatIsUnderWay(t *testing.T) {
	r := startProgram(t, "slowexec")
	if !<-r.h.during {
		t.Error("a device was opened while another thread executed a program, and nothing tells so")
	}
	close(r.h.released)
}

func TestDevicesSurviveExecAndTheAddressSpaceDoesNot(t *testing.T) {
	r := startProgram(t, "exec")
	r.mustSucceed()
	if line := <-r.h.execs; line != "exec\x00" || len(r.h.execs) > 0 {
		t.Errorf("when the handler was asked the process was %q, and it was asked %d times more", line, len(r.h.execs))
	}
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

func TestThreadsOfAProgramAreServedAtOnce(t *testing.T) {
	for _, cfg := range []Config{{}, {Workers: 1}, {PerProcess: 1}, {Workers: 5, SyncWakeUp: true}} {
		c := Command{Path: "/proc/self/exe", Args: []string{"threads"}, Env: programEnv("threads")}
		startWith(t, c, cfg).mustSucceed()
	}
}

func TestAProgramMayCloseAllDescriptorsBeforeItOpensADevice(t *testing.T) {
	startProgram(t, "closeall").mustSucceed()
}

// TestAnUntouchedLibibverbsFindsTheDevice answers ioctls with EINVAL, so libibverbs only opens
// the device.
func TestAnUntouchedLibibverbsFindsTheDevice(t *testing.T) {
	for command, want := range map[string]string{"ibv_devices": "5054", "ibv_devinfo": ""} {
		path, err := exec.LookPath(command)
		if err != nil {
			t.Skip(err)
		}
		r := start(t, Command{Path: path})
		if out, _ := r.wait(); !strings.Contains(out, want) {
			t.Errorf("%s: %s\n%s", command, out, r.text(r.errors))
		}
		if command == "ibv_devinfo" && len(r.h.opened) == 0 {
			t.Errorf("ibv_devinfo did not open the device: %s", r.text(r.errors))
		}
	}
}

func TestOnlyTrappedCallsAreCounted(t *testing.T) {
	received := func(kind string, times int) uint64 {
		r := startProgram(t, "measure", kind, strconv.Itoa(times))
		r.mustSucceed()
		return r.s.Received()
	}
	const few, many = 10, 1010
	if got := received("ioctl", many) - received("ioctl", few); got != many-few {
		t.Errorf("%d more ioctls are %d more notifications", many-few, got)
	}
	if got := received("getppid", many) - received("getppid", few); got != 0 {
		t.Errorf("%d more calls that are not trapped are %d more notifications", many-few, got)
	}
}

func TestToolsSeeTheTree(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"cat " + abiPath, "6"},
		{"ls -l /dev/infiniband | sed 's/ .* \\([0-9]*, *[0-9]*\\) .* / \\1 /'",
			"total 0\ncrw-rw-rw- 10, 122 rdma_cm\ncrw-rw-rw- 231, 192 uverbs0"},
		{"ls " + sysPath, "abi_version\nuverbs0"},
		{"stat -c '%F %t:%T' " + devicePath, "character special file e7:c0"},
		{"test -c " + devicePath + " && echo yes", "yes"},
		{"ls " + sysPath + "/none 2>&1 | sed 's/.*: //'", "No such file or directory"},
		{"find /sys/class/infiniband -type d | sort",
			"/sys/class/infiniband\n/sys/class/infiniband/rxe0\n/sys/class/infiniband/rxe0/ports\n/sys/class/infiniband/rxe0/ports/1"},
	} {
		t.Run(c.command, func(t *testing.T) {
			needShell(t)
			r := start(t, Command{Path: "/bin/sh", Args: []string{"sh", "-c", c.command},
				Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}})
			if got := r.mustSucceed(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if e := r.text(r.errors); e != "" {
				t.Errorf("errors: %s", e)
			}
		})
	}
}
