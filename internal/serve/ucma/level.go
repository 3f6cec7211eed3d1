//go:build linux

package ucma

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A level makes a program's end of a pipe readable or not, as last requested. A program can hold
// the lock of its pipe for as long as it wants, for example by splice(2) to a full socket, so set
// makes no system call: a goroutine or settle does.
type level struct {
	want    atomic.Bool // whether the program's end should be readable
	ended   atomic.Bool
	started atomic.Bool // a goroutine is about to check want

	mu     sync.Mutex // held during system calls on the pipe; no other lock is acquired while it is held
	fd     int        // write end, non-blocking, -1: closed
	raised bool       // a byte is in the pipe
}

// set requests a level. It does not block.
func (l *level) set(readable bool) {
	if l.want.Swap(readable) != readable {
		l.start()
	}
}

// close ends the level and closes the pipe asynchronously. It does not block.
func (l *level) close() {
	l.ended.Store(true)
	l.start()
}

func (l *level) start() {
	if l.started.CompareAndSwap(false, true) {
		go l.settle()
	}
}

// settle gives the pipe the requested level, or closes it after close, before it returns.
func (l *level) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started.Store(false) // first, so that later requests start another goroutine
	switch want := l.want.Load(); {
	case l.fd < 0:
	case l.ended.Load():
		_ = unix.Close(l.fd) // cannot fail: it is open
		l.fd = -1
	case want == l.raised:
	case want:
		l.raised = true
		_, _ = unix.Write(l.fd, []byte{1}) // the pipe is empty, or the program has closed its end
	default:
		l.raised = false
		l.drain()
	}
}

// drain removes the byte from the pipe, unless the program has read it. The caller holds the
// lock.
func (l *level) drain() {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", l.fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Read(fd, make([]byte, 16))
	_ = unix.Close(fd)
}
