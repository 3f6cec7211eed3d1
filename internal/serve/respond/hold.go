package respond

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// holder has the kernel drop the requests for connections (SYN) of sources whose pace is spent,
// where it can: they cost nothing then, and fill no queue in which others wait. A client that was
// dropped asks again, after a second in Linux.
type holder struct {
	socket syscall.RawConn // of the listener; nil: nothing is held

	mu     sync.Mutex
	until  map[source]time.Time // maxHeld at most; guarded by mu
	timer  *time.Timer          // of the first that ends; guarded by mu
	closed bool                 // guarded by mu
}

// maxHeld is more than the number of sources that can be held at a time: each has been served as
// often as its burst since.
const maxHeld = 32

// Listen returns a TCP listener on which Serve can drop requests for connections by source. It does
// not use Multipath TCP, as package net does unless told otherwise: such sockets take no filter.
func Listen(addr string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", addr)
}

func newHolder(l net.Listener) *holder {
	h := &holder{until: map[source]time.Time{}}
	if t, ok := l.(*net.TCPListener); ok {
		// Without one the listener is closed.
		h.socket, _ = t.SyscallConn()
	}
	return h
}

// hold drops the requests of s for some time.
func (h *holder) hold(s source, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.socket == nil || h.closed || len(h.until) == maxHeld {
		return
	}
	h.until[s] = time.Now().Add(d)
	h.update()
}

// update tells the kernel whom to hold. mu is held.
func (h *holder) update() {
	now := time.Now()
	var all []source
	var next time.Duration
	for s, until := range h.until {
		left := until.Sub(now)
		if left <= 0 {
			delete(h.until, s)
			continue
		}
		if all = append(all, s); len(all) == 1 || left < next {
			next = left
		}
	}
	// Where it does not succeed, what comes is closed after it was accepted.
	_ = holdBack(h.socket, all)
	if h.timer != nil {
		h.timer.Stop()
	}
	if len(all) > 0 {
		h.timer = time.AfterFunc(next, h.release)
	}
}

// release ends what is over.
func (h *holder) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.update()
	}
}

// close ends the use of the listener's socket.
func (h *holder) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
}
