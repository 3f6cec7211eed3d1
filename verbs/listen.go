package verbs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
)

// Listener takes requests for connections, or for a datagram queue pair, at a port. Its methods
// may be called by many goroutines.
type Listener struct {
	cm    *connections
	id    cm.ListenerID
	ps    PortSpace
	local netip.AddrPort
	// handle takes the requests; nil leaves them to Next.
	handle func(*ConnRequest)

	queue []*ConnRequest // guarded by cm.mu
	token chan struct{}
	done  chan struct{} // closed with the listener
}

// defaultBacklog is how many requests wait for the program where it does not say.
const defaultBacklog = 128

// Listen takes requests at a port of the port space TCP, for connections, or UDP, for datagram
// queue pairs. An address that is invalid or unspecified stands for all of the device, port 0
// for any that is free. As many requests as backlog wait for the program's answer, 0 means 128,
// and, where some peers fill that, as many again of others, each up to its share. What is more is
// dropped and counted, and its sender tries again.
func (d *Device) Listen(ps PortSpace, local netip.AddrPort, backlog int) (*Listener, error) {
	return d.ListenFunc(ps, local, backlog, nil)
}

// ListenFunc is [Device.Listen] for a program that has requests handed to it in place of [Listener.Next].
// handle is called by the goroutine of the connection manager and must not wait; it may answer at once or
// leave that to others.
func (d *Device) ListenFunc(
	ps PortSpace, local netip.AddrPort, backlog int, handle func(*ConnRequest),
) (*Listener, error) {
	l, err := d.listen(ps, local, backlog, handle)
	if err != nil {
		return nil, fmt.Errorf("listen on %v port %d: %w", ps, local.Port(), err)
	}
	return l, nil
}

func (d *Device) listen(ps PortSpace, local netip.AddrPort, backlog int, handle func(*ConnRequest)) (*Listener, error) {
	if ps != PortSpaceTCP && ps != PortSpaceUDP {
		return nil, fmt.Errorf("there are %v and %v", PortSpaceTCP, PortSpaceUDP)
	}
	index, at := cm.AnyGID, local.Addr()
	if !at.IsValid() {
		// A port without an address is no AddrPort that prints.
		at = netip.IPv6Unspecified()
	}
	if !at.IsUnspecified() {
		var err error
		if index, err = d.gidIndex(gidOf(at)); err != nil {
			return nil, err
		}
	}
	if backlog <= 0 {
		backlog = defaultBacklog
	}
	m, err := d.cm()
	if err != nil {
		return nil, err
	}
	l := &Listener{cm: m, ps: ps, handle: handle, token: make(chan struct{}, 1), done: make(chan struct{})}
	port := local.Port()
	err = m.gsi.Do(func(_ cm.Time, man *cm.Manager) (err error) {
		for range 100 {
			if local.Port() == 0 {
				port = EphemeralPort()
			}
			if l.id, err = man.Listen(mad.IPServiceID(ps, port), index, backlog); err == nil || local.Port() != 0 {
				break
			}
		}
		if err == nil {
			l.local = netip.AddrPortFrom(at, port)
			m.mu.Lock()
			m.listeners[l.id] = l
			m.mu.Unlock()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Addr returns the address and the port that the listener is at. All addresses are "::", or what
// Listen was given for them.
func (l *Listener) Addr() netip.AddrPort { return l.local }

// Next waits for a request. Without one it returns the cause of ctx, or [ErrClosed] once the
// listener or the device is closed.
func (l *Listener) Next(ctx context.Context) (*ConnRequest, error) {
	if err := checkContext(ctx); err != nil {
		return nil, fmt.Errorf("wait for a request: %w", err)
	}
	for {
		if r := l.take(); r != nil {
			return r, nil
		}
		select {
		case <-l.token:
		case <-l.done:
			return nil, ErrClosed
		case <-l.cm.dev.nic.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *Listener) take() *ConnRequest {
	l.cm.mu.Lock()
	defer l.cm.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	r := l.queue[0]
	r.leave()
	if len(l.queue) > 0 {
		l.wake()
	}
	return r
}

func (l *Listener) wake() {
	select {
	case l.token <- struct{}{}:
	default:
	}
}

// Close ends the listener and every Next. Requests that wait are refused; connections go on.
func (l *Listener) Close() error {
	_ = l.cm.gsi.Do(func(_ cm.Time, m *cm.Manager) error {
		m.StopListening(l.id)
		return nil
	})
	l.cm.mu.Lock()
	_, open := l.cm.listeners[l.id]
	delete(l.cm.listeners, l.id)
	waiting := l.queue
	for _, r := range waiting {
		r.waits = nil
		delete(l.cm.conns, r.id)
	}
	l.queue = nil
	l.cm.mu.Unlock()
	if !open {
		return nil
	}
	close(l.done)
	for _, r := range waiting {
		// An error says that its sender has given up.
		_ = r.Reject(nil)
	}
	return nil
}

// leave takes the request from its listener's queue. The lock is held.
func (r *ConnRequest) leave() {
	l := r.waits
	if l == nil {
		return
	}
	r.waits = nil
	delete(r.cm.conns, r.id)
	if i := slices.Index(l.queue, r); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// event takes the end of a request that waits for the program, which does not get to see it.
func (r *ConnRequest) event(*cm.Event) {
	r.cm.mu.Lock()
	defer r.cm.mu.Unlock()
	r.leave()
}

// request takes a request from the wire to its listener, unless it cannot be accepted by any
// program. It runs in the manager's goroutine.
func (c *connections) request(e *cm.Event) {
	r := &ConnRequest{cm: c, id: e.ID, peer: e.Peer, req: e.REQ, sidr: e.SIDRREQ}
	if reason, distrust := r.check(); reason != 0 {
		// An error says that its sender has given up.
		_ = c.gsi.Do(func(now cm.Time, m *cm.Manager) error {
			if distrust != nil {
				m.Counters().Distrusted(distrust)
			}
			return r.decline(now, m, reason, nil)
		})
		return
	}
	c.mu.Lock()
	l := c.listeners[e.Listener]
	if l != nil && l.handle == nil {
		r.waits = l
		c.conns[r.id] = r
		l.queue = append(l.queue, r)
		l.wake()
	}
	c.mu.Unlock()
	switch {
	case l == nil:
		_ = r.refuse(mad.RejectInvalidServiceID, nil)
	case l.handle != nil:
		l.handle(r)
	}
}
