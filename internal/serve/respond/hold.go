package respond

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// holder makes the kernel drop the connection requests (SYN) of sources that have exhausted their
// rate, if the kernel supports that: they then cost nothing, and do not fill the queue in which
// others wait. A client whose SYN was dropped retransmits it, in Linux after a second.
type holder struct {
	socket syscall.RawConn // of the listener; nil disables the holder

	mu     sync.Mutex
	until  map[source]time.Time // at most maxHeld entries; guarded by mu
	timer  *time.Timer          // of the first entry that ends; guarded by mu
	closed bool                 // guarded by mu
}

// maxHeld exceeds the number of sources that can be held at a time: a source is held only after its
// whole burst was accepted, and allClients limits the accepted clients of all sources.
const maxHeld = 32

// Listen returns a TCP listener on which Serve can drop connection requests by source. It
// disables Multipath TCP, the default of package net, because MPTCP sockets do not support
// filters.
func Listen(addr string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", addr)
}

func newHolder(l net.Listener) *holder {
	h := &holder{until: map[source]time.Time{}}
	if t, ok := l.(*net.TCPListener); ok {
		// An error means that the listener is closed.
		h.socket, _ = t.SyscallConn()
	}
	return h
}

// hold drops the connection requests of s for the time d.
func (h *holder) hold(s source, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.socket == nil || h.closed || len(h.until) == maxHeld {
		return
	}
	h.until[s] = time.Now().Add(d)
	h.update()
}

// update installs the filter for the sources whose time has not ended, and sets the timer. The
// caller holds mu.
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
	// If this fails, connections are closed after they are accepted.
	_ = holdBack(h.socket, all)
	if h.timer != nil {
		h.timer.Stop()
	}
	if len(all) > 0 {
		h.timer = time.AfterFunc(next, h.release)
	}
}

// release removes the entries that have ended.
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
