//go:build linux && (amd64 || arm64)

package trap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Operations of the test handler: the first 8 bytes that arg of the ioctl points to.
const (
	opAdd     = iota + 1 // add 1 to the second 8 bytes
	opCount              // only count
	opPark               // wait for testHandler.released or a signal
	opForget             // end the connection of the object with its file
	opBlock              // block the thread of the server until testHandler.released
	opInstall            // install the read end of a pipe that contains "x", and store its number
)

// A testHandler provides an unlinked file as each device and counts the calls.
type testHandler struct {
	counted  atomic.Int64
	opened   chan ProcID
	exited   chan ProcID
	execs    chan string // command lines of processes that are about to execute another program
	slow     atomic.Bool // the execve of slowexec waits for an open
	during   chan bool   // whether, at an open, another thread was executing a program
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
	return &testHandler{
		opened: make(chan ProcID, 1000), exited: make(chan ProcID, 1000), execs: make(chan string, 1000),
		during: make(chan bool, 1),
		parked: make(chan *Call, 100), ended: make(chan error, 10), released: make(chan struct{}),
	}
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
	if h.slow.Load() {
		select {
		case h.during <- c.Executing():
		default:
		}
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
	case opBlock:
		h.parked <- c
		<-h.released
		_ = c.Reply(0)
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

func (h *testHandler) Exec(c *Call, p ProcID) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	if err != nil {
		line = []byte(err.Error())
	}
	h.execs <- string(line)
	if string(line) != "slowexec\x00" {
		_ = c.Continue()
		return
	}
	h.slow.Store(true)
	go func() {
		<-h.released
		_ = c.Continue()
	}()
}

func (h *testHandler) Exit(p ProcID) { h.exited <- p }
