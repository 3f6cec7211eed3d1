package xsk

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Endpoint is one address: what is sent to it comes to it alone.
type Endpoint struct {
	ifc     *Interface
	addr    netip.Addr
	number  int
	sockets []*socket // one for each queue
	lanes   []Lane
	closed  atomic.Bool

	receiving sync.Mutex // guards what follows, and the rings that frames come by; held for moments
	turn      int        // the queue to look at first
	taking    bool       // Recv took something, and did not come back to find nothing
	missed    uint64     // frames that were dropped for the sockets before they were this endpoint's
}

// endpoint makes one. The lock of interfaces is held.
func (i *Interface) endpoint(addr netip.Addr) (*Endpoint, error) {
	n := 0
	for i.used[n] {
		if n++; n == maxEndpoints {
			return nil, fmt.Errorf("the interface has %d addresses of this process already", maxEndpoints)
		}
	}
	e := &Endpoint{ifc: i, addr: addr, number: n, sockets: i.parked[n]}
	for _, q := range i.queues[len(e.sockets):] {
		s, err := q.socket(i.index)
		if err != nil {
			// Those that were made are for the next one.
			i.parked[n] = e.sockets
			return nil, err
		}
		e.sockets = append(e.sockets, s)
	}
	i.parked[n] = nil
	for k, s := range e.sockets {
		e.lanes = append(e.lanes, Lane{end: e, queue: i.queues[k], socket: s})
	}
	e.drain()
	e.missed = e.count()
	if err := i.table.enter(addr, n, e.FDs()); err != nil {
		i.parked[n] = e.sockets
		return nil, err
	}
	i.used[n] = true
	i.users++
	return e, nil
}

// Close ends the endpoint: what is sent to its address is the host's again. With the last endpoint the interface is without a
// program. Nobody may wait for its descriptors any more. Closing again does nothing.
func (e *Endpoint) Close() error {
	interfaces.Lock()
	defer interfaces.Unlock()
	if e.closed.Swap(true) {
		return nil
	}
	i := e.ifc
	err := i.table.leave(e.addr)
	// From here on nobody is in the sockets.
	pass(&e.receiving)
	for _, q := range i.queues {
		pass(&q.sending)
	}
	// The kernel has no way to take back what is in a ring when its socket is closed, and may be about to put
	// something in: the sockets stay, for the next endpoint.
	e.drain()
	i.used[e.number], i.parked[e.number] = false, e.sockets
	i.users--
	if cerr := i.closeUnused(); err == nil {
		err = cerr
	}
	return err
}

// pass waits until whoever has mu has let go of it.
func pass(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// drain gives back what nobody received.
func (e *Endpoint) drain() {
	l := new(loan)
	for k, s := range e.sockets {
		n := s.rx.ready(1)
		for range n {
			l.chunks = append(l.chunks, s.rxDesc[s.rx.get()].Addr)
		}
		s.rx.release()
		l.queue = e.ifc.queues[k]
		l.queue.lend(n)
		l.end()
	}
}

// FDs are the descriptors to wait for: one is readable while frames are there for Recv.
func (e *Endpoint) FDs() []int {
	var fds []int
	for _, s := range e.sockets {
		fds = append(fds, s.fd)
	}
	return fds
}

// Mode says how the frames of the endpoint's interface are moved.
func (e *Endpoint) Mode() Mode { return e.ifc.mode }

// MaxFrame is the longest frame that can be sent and received, in bytes from the header of Ethernet on.
func (e *Endpoint) MaxFrame() int {
	if e.ifc.mode.Several {
		return chunksPerSlot * chunkLen
	}
	return OneBuffer
}

// Dropped is how many frames for the endpoint the kernel had no room for.
func (e *Endpoint) Dropped() uint64 {
	e.receiving.Lock()
	defer e.receiving.Unlock()
	if e.closed.Load() {
		return 0
	}
	return e.count() - e.missed
}

func (e *Endpoint) count() (n uint64) {
	for _, s := range e.sockets {
		n += s.dropped()
	}
	return n
}
