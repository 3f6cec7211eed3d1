//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// programVariable names the program of programs that the test binary runs as.
const programVariable = "GORXE_TRAP_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		if err := programs[name](os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "program %s: %v\n", name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Paths of the tree in tests.
const (
	devicePath  = "/dev/infiniband/uverbs0"
	channelPath = "/dev/infiniband/rdma_cm"
	sysPath     = "/sys/class/infiniband_verbs"
	abiPath     = sysPath + "/abi_version"
)

func makeTree() (*Tree, error) {
	tree, err := NewTree("", "/sys/class/infiniband", sysPath, "/sys/class/infiniband_mad", "/dev/infiniband")
	if err != nil {
		return nil, err
	}
	return tree, errors.Join(
		tree.AddFile(abiPath, []byte("6\n")),
		tree.AddFile(sysPath+"/uverbs0/ibdev", []byte("rxe0\n")),
		tree.AddFile(sysPath+"/uverbs0/abi_version", []byte("1\n")),
		tree.AddFile(sysPath+"/uverbs0/dev", []byte("231:192\n")),
		tree.AddFile("/sys/class/infiniband/rxe0/node_type", []byte("1: CA\n")),
		tree.AddFile("/sys/class/infiniband/rxe0/node_guid", []byte("5054:00ff:fe12:3456\n")),
		tree.AddDir("/sys/class/infiniband/rxe0/ports/1"),
		tree.AddDevice(devicePath, Device{Major: 231, Minor: 192, Slot: SlotControl}),
		tree.AddDevice(channelPath, Device{Major: 10, Minor: 122, Slot: SlotChannel}),
	)
}

func testTree(t testing.TB) *Tree {
	t.Helper()
	tree, err := makeTree()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// needTrap skips a test if programs cannot run under the filter.
func needTrap(t testing.TB) {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skip(err)
	}
}

// A run is a program under the filter of this process, and its server.
type run struct {
	*Process
	t      testing.TB
	h      *testHandler
	s      *Server
	tree   *Tree
	out    *os.File
	errors *os.File
}

// start starts a command with its own handler.
func start(t testing.TB, c Command) *run {
	t.Helper()
	return startWith(t, c, Config{})
}

// startWith starts a command with its own handler and the other fields of cfg.
func startWith(t testing.TB, c Command, cfg Config) *run {
	t.Helper()
	needTrap(t)
	r := &run{t: t, h: newHandler(), tree: testTree(t)}
	for _, f := range []**os.File{&r.out, &r.errors} {
		file, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		*f = file
	}
	if c.Files[1] == nil {
		c.Files[1], c.Files[2] = r.out, r.errors
	}
	p, l, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	r.Process = p
	cfg.Handler, cfg.Tree, cfg.Descriptors = r.h, r.tree, p.Descriptors
	r.s, err = Serve(l, cfg)
	_ = l.Close()
	if err != nil {
		p.kill()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		p.Wait()
		r.s.Close()
		for _, f := range r.h.files {
			_ = f.Close()
		}
		for _, m := range r.h.memory {
			_ = m.Close()
		}
	})
	return r
}

// programEnv is the environment of a program of programs, in which the race detector does not
// sleep at the end and Go's scheduler sends no signals.
func programEnv(name string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, programVariable+"=") })
	return append(env, programVariable+"="+name, "GORACE=atexit_sleep_ms=0", "GODEBUG=asyncpreemptoff=1")
}

// outputOf runs a program of programs without a filter, and returns what it printed.
func outputOf(t *testing.T, name string) string {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = programEnv(name)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// startProgram starts a program of programs.
func startProgram(t testing.TB, name string, args ...string) *run {
	t.Helper()
	return start(t, Command{Path: "/proc/self/exe", Args: append([]string{name}, args...),
		Env: programEnv(name)})
}

// wait waits for the end of the program and the server, and returns the program's output.
func (r *run) wait() (string, syscall.WaitStatus) {
	r.t.Helper()
	ws := r.Wait()
	<-r.s.Done()
	return r.text(r.out), ws
}

// mustSucceed waits for the program, which must exit with status 0.
func (r *run) mustSucceed() string {
	r.t.Helper()
	out, ws := r.wait()
	if ws.ExitStatus() != 0 {
		r.t.Fatalf("exit status %d, signal %v, output:\n%s%s", ws.ExitStatus(), ws.Signal(), out, r.text(r.errors))
	}
	return out
}

func (r *run) text(f *os.File) string {
	data, err := os.ReadFile(f.Name())
	if err != nil {
		r.t.Error(err)
	}
	return string(bytes.TrimSpace(data))
}
