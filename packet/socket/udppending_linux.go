package socket

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// udpPending is what a socket needs to tell whether its receiver is behind.
type udpPending struct {
	// taking is true from before a call that may take datagrams until one that found none: also while their receiver is
	// kept from running, on its way out of that very call.
	taking atomic.Bool

	mu    sync.Mutex // guards what follows
	fds   [1]unix.PollFd
	waits bool
	look  func(fd uintptr) // poll, made once
}

func (s *udpSocket) Pending() bool {
	p := &s.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.look == nil {
		p.look = p.poll
	}
	// The queue first: what was taken from it before this look was taken under the flag.
	if s.raw.Control(p.look) != nil {
		return false
	}
	return p.waits || p.taking.Load()
}

// poll looks into the socket's queue. FIONREAD would not do: it is the length of the first datagram, which may be 0.
func (p *udpPending) poll(fd uintptr) {
	p.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	err := error(unix.EINTR)
	for err == unix.EINTR {
		_, err = unix.Poll(p.fds[:], 0)
	}
	p.waits = err == nil && p.fds[0].Revents&unix.POLLIN != 0
}
