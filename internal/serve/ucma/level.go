//go:build linux

package ucma

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A level makes a program's end of a pipe readable, or not, as was asked for last. A program can hold the lock of its
// pipe for as long as it likes, as by splice(2) to a socket that is full, so set makes no system call: a goroutine
// does, or settle.
type level struct {
	want    atomic.Bool // the program's end is to be readable
	ended   atomic.Bool
	started atomic.Bool // a goroutine will look at want

	mu     sync.Mutex // held during system calls on the pipe; nothing else is taken with it
	fd     int        // write end, not blocking, -1: closed
	raised bool       // a byte is in the pipe
}

// set asks for a level. It does not block.
func (l *level) set(readable bool) {
	if l.want.Swap(readable) != readable {
		l.start()
	}
}

// close ends the level and closes the pipe, soon. It does not block.
func (l *level) close() {
	l.ended.Store(true)
	l.start()
}

func (l *level) start() {
	if l.started.CompareAndSwap(false, true) {
		go l.settle()
	}
}

// settle returns when the pipe is as was asked for.
func (l *level) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started.Store(false) // first: what is asked for from now on is looked at by another goroutine
	switch want := l.want.Load(); {
	case l.fd < 0:
	case l.ended.Load():
		_ = unix.Close(l.fd) // it was open
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

// drain takes the byte out of the pipe. If the program has read it before there is none. The lock is held.
func (l *level) drain() {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", l.fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Read(fd, make([]byte, 16))
	_ = unix.Close(fd)
}
