//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// programVariable names the program of programs that the test binary is to be.
const programVariable = "GORXE_TRAP_PROGRAM"

func TestMain(m *testing.M) {
	HelperMain()
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

// Operations of the test handler: the first 8 bytes that arg of the ioctl points to.
const (
	opAdd     = iota + 1 // adds 1 to the second 8 bytes
	opCount              // only counts
	opPark               // waits for testHandler.released or a signal
	opForget             // ends the connection of the object with its file
	opInstall            // installs the read end of a pipe that has "x" in it and writes its number
)

// A testHandler has an unlinked file as each device and counts what is called.
type testHandler struct {
	counted  atomic.Int64
	opened   chan ProcID
	exited   chan ProcID
	parked   chan *Call
	ended    chan error // causes of OnInterrupt
	released chan struct{}

	mu     sync.Mutex
	writes []string
	files  []*os.File
	memory []memory // of each open
}

// A memory is the address space of a program and the address of a path in it.
type memory struct {
	*os.File
	path int64
}

func newHandler() *testHandler {
	return &testHandler{opened: make(chan ProcID, 1000), exited: make(chan ProcID, 1000),
		parked: make(chan *Call, 10), ended: make(chan error, 10), released: make(chan struct{})}
}

type testObject struct{ path string }

func (h *testHandler) Open(c *Call, d *Device, flags int) {
	fd, err := unix.Open("/dev/shm", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		c.fail(err)
		return
	}
	if mem, err := c.OpenMemory(); err == nil {
		h.mu.Lock()
		h.memory = append(h.memory, memory{mem, int64(c.Arg(1))})
		h.mu.Unlock()
	}
	select {
	case h.opened <- c.Proc():
	default:
	}
	_ = c.ReplyFD(FD{File: fd, Object: &testObject{path: d.Path}})
	h.mu.Lock()
	h.files = append(h.files, os.NewFile(uintptr(fd), d.Path))
	h.mu.Unlock()
}

func (h *testHandler) Ioctl(c *Call, o Object, _ uint32, arg uint64) {
	var buf [16]byte
	if err := c.Read(arg, buf[:]); err != nil {
		c.fail(err)
		return
	}
	switch value := binary.LittleEndian.Uint64(buf[8:]); binary.LittleEndian.Uint64(buf[:]) {
	case opAdd:
		if err := c.Write(arg+8, binary.LittleEndian.AppendUint64(nil, value+1)); err != nil {
			c.fail(err)
			return
		}
		_ = c.Reply(0)
	case opCount:
		h.counted.Add(1)
		_ = c.Reply(0)
	case opPark:
		c.OnInterrupt(func(cause error) {
			if errors.Is(cause, ErrInterrupted) {
				_ = c.ReplyInterrupted()
			}
			h.ended <- cause
		})
		h.parked <- c
		go func() {
			<-h.released
			_ = c.Reply(0)
		}()
	case opForget:
		c.s.Forget(o)
		_ = c.Reply(0)
	case opInstall:
		h.install(c, arg)
	default:
		_ = c.ReplyErrno(unix.EINVAL)
	}
}

func (h *testHandler) install(c *Call, arg uint64) {
	r, w, err := os.Pipe()
	if err != nil {
		_ = c.ReplyErrno(unix.EMFILE)
		return
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	_, _ = w.WriteString("x")
	n, err := c.InstallFD(FD{File: int(r.Fd()), CloseOnExec: true})
	if err == nil {
		err = c.Write(arg+8, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	if err != nil {
		c.fail(err)
		return
	}
	_ = c.Reply(0)
}

func (h *testHandler) Write(c *Call, o Object, data []byte, size uint64) {
	h.mu.Lock()
	h.writes = append(h.writes, o.(*testObject).path+" "+string(data))
	h.mu.Unlock()
	_ = c.Reply(int64(size))
}

func (h *testHandler) Stat(Object, *Attr) {}

func (h *testHandler) Exit(p ProcID) { h.exited <- p }

// needTrap skips a test where programs cannot run under the filter.
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

// start starts a command with a handler of its own.
func start(t testing.TB, c Command) *run {
	t.Helper()
	return startWith(t, c, Config{})
}

// startWith starts a command with a handler of its own and the other fields of cfg.
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
