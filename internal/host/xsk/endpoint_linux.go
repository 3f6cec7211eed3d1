package xsk

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Endpoint is one address of an interface. It alone receives the frames to this address; the host
// does not receive them.
type Endpoint struct {
	ifc     *Interface
	addr    netip.Addr
	number  int
	sockets []*socket // one for each queue
	lanes   []Lane
	closed  atomic.Bool

	receiving     sync.Mutex // guards the following fields and the receive rings; held briefly
	nextQueue     int        // index of the queue that Recv polls first
	taking        bool       // the latest Recv returned frames, which may still be in use
	droppedBefore uint64     // frames that the sockets dropped before this endpoint used them
}

// endpoint creates an endpoint for addr. The caller holds the lock of interfaces.
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
			// Keep the sockets created so far for the next endpoint.
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
	e.droppedBefore = e.count()
	if err := i.table.enter(addr, n, e.FDs()); err != nil {
		i.parked[n] = e.sockets
		return nil, err
	}
	i.used[n] = true
	i.users++
	return e, nil
}

// Close closes the endpoint: frames to its address go to the host again. Closing the last
// endpoint detaches the program from the interface. No goroutine may still wait for the
// descriptors of FDs. Closing again does nothing.
func (e *Endpoint) Close() error {
	interfaces.Lock()
	defer interfaces.Unlock()
	if e.closed.Swap(true) {
		return nil
	}
	i := e.ifc
	err := i.table.leave(e.addr)
	// From here on no goroutine starts to use the sockets: wait for the goroutines that are using
	// them.
	pass(&e.receiving)
	for _, q := range i.queues {
		pass(&q.sending)
	}
	// When a socket is closed, the kernel does not return the chunks in its rings, and may be
	// about to add more. Keep the sockets for the next endpoint.
	e.drain()
	i.used[e.number], i.parked[e.number] = false, e.sockets
	i.users--
	if cerr := i.closeUnused(); err == nil {
		err = cerr
	}
	return err
}

// pass waits until mu is free.
func pass(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// drain returns unreceived frames to the kernel.
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

// FDs returns the descriptors to poll: at least one of them is readable while Recv has frames to
// return.
func (e *Endpoint) FDs() []int {
	var fds []int
	for _, s := range e.sockets {
		fds = append(fds, s.fd)
	}
	return fds
}

// Mode returns how the interface sends and receives frames.
func (e *Endpoint) Mode() Mode { return e.ifc.mode }

// MaxFrame returns the maximum frame length in bytes, including the Ethernet header.
func (e *Endpoint) MaxFrame() int {
	if e.ifc.mode.Several {
		return chunksPerSlot * chunkLen
	}
	return OneBuffer
}

// Dropped returns the number of frames for the endpoint that the kernel dropped for lack of space;
// 0 after Close.
func (e *Endpoint) Dropped() uint64 {
	e.receiving.Lock()
	defer e.receiving.Unlock()
	if e.closed.Load() {
		return 0
	}
	return e.count() - e.droppedBefore
}

func (e *Endpoint) count() (n uint64) {
	for _, s := range e.sockets {
		n += s.dropped()
	}
	return n
}
