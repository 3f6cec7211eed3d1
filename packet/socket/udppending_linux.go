package socket

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// udpPending is the state of the method Pending for a socket.
type udpPending struct {
	// taking is set before a system call that may receive datagrams, and cleared after a call that
	// found none. So it is also set while a call has returned datagrams and the goroutine has not
	// resumed yet.
	taking atomic.Bool

	mu    sync.Mutex // guards the fields below
	fds   [1]unix.PollFd
	waits bool
	look  func(fd uintptr) // poll, as a func value allocated once
}

func (s *udpSocket) Pending() bool {
	p := &s.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.look == nil {
		p.look = p.poll
	}
	// Poll the queue first: every datagram received before the poll was received with taking set.
	if s.raw.Control(p.look) != nil {
		return false
	}
	return p.waits || p.taking.Load()
}

// poll checks whether the socket's queue has datagrams. FIONREAD cannot be used: it returns the
// length of the first datagram, which may be 0.
func (p *udpPending) poll(fd uintptr) {
	p.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	err := error(unix.EINTR)
	for err == unix.EINTR {
		_, err = unix.Poll(p.fds[:], 0)
	}
	p.waits = err == nil && p.fds[0].Revents&unix.POLLIN != 0
}
