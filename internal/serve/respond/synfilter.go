package respond

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// synFilter makes the kernel drop the connection requests (SYN) of sources that have exhausted
// their rate, if the kernel supports that: they then cost nothing, and do not fill the queue in
// which others wait. A client whose SYN was dropped retransmits it, in Linux after a second.
type synFilter struct {
	socket syscall.RawConn // of the listener; nil disables the filter

	mu     sync.Mutex
	until  map[source]time.Time // at most maxDropped entries; guarded by mu
	timer  *time.Timer          // of the first entry that ends; guarded by mu
	closed bool                 // guarded by mu
}

// maxDropped exceeds the number of sources that can be in the filter at a time: a source is added
// only after its whole burst was accepted, and allClients limits the accepted clients of all
// sources.
const maxDropped = 32

// Listen returns a TCP listener on which Serve can drop connection requests by source. It
// disables Multipath TCP, the default of package net, because MPTCP sockets do not support
// filters.
func Listen(addr string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(context.Background(), "tcp", addr)
}

func newSYNFilter(l net.Listener) *synFilter {
	f := &synFilter{until: map[source]time.Time{}}
	if t, ok := l.(*net.TCPListener); ok {
		// An error means that the listener is closed.
		f.socket, _ = t.SyscallConn()
	}
	return f
}

// drop drops the connection requests of s for the time d.
func (f *synFilter) drop(s source, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.socket == nil || f.closed || len(f.until) == maxDropped {
		return
	}
	f.until[s] = time.Now().Add(d)
	f.update()
}

// update installs the filter for the sources whose time has not ended, and sets the timer. The
// caller holds mu.
func (f *synFilter) update() {
	now := time.Now()
	var all []source
	var next time.Duration
	for s, until := range f.until {
		left := until.Sub(now)
		if left <= 0 {
			delete(f.until, s)
			continue
		}
		if all = append(all, s); len(all) == 1 || left < next {
			next = left
		}
	}
	// If this fails, connections are closed after they are accepted.
	_ = dropSYNs(f.socket, all)
	if f.timer != nil {
		f.timer.Stop()
	}
	if len(all) > 0 {
		f.timer = time.AfterFunc(next, f.release)
	}
}

// release removes the entries that have ended.
func (f *synFilter) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.update()
	}
}

// close ends the use of the listener's socket.
func (f *synFilter) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.timer != nil {
		f.timer.Stop()
	}
}
