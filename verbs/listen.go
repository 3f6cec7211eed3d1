package verbs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
)

// Listener receives requests for connections, or for a datagram queue pair, at a port. Its
// methods are safe for concurrent use.
type Listener struct {
	cm    *connections
	id    cm.ListenerID
	ps    PortSpace
	local netip.AddrPort
	// handle receives the requests; if it is nil, Next returns them.
	handle func(*ConnRequest)

	queue  []*ConnRequest // guarded by cm.mu
	wakeup chan struct{}  // wakes a waiting Next
	done   chan struct{}  // closed with the listener
}

// defaultBacklog is the default number of requests that wait for the program.
const defaultBacklog = 128

// Listen receives requests at a port of the port space TCP, for connections, or UDP, for datagram
// queue pairs. An invalid or unspecified address means all addresses of the device, port 0 any free
// port. Up to backlog requests, 0 means 128, wait for the program's answer. If some peers fill the
// backlog, up to as many requests again of other peers wait, from each peer up to backlog divided
// by the number of waiting peers. Requests beyond that are dropped and counted; their senders
// retry.
func (d *Device) Listen(ps PortSpace, local netip.AddrPort, backlog int) (*Listener, error) {
	return d.ListenFunc(ps, local, backlog, nil)
}

// ListenFunc is [Device.Listen] with a callback in place of [Listener.Next]. The goroutine of the
// connection manager calls handle, which must not block; the request may be answered in handle or
// later, in another goroutine.
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
		// The String method of an AddrPort without an address does not print the port.
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
	l := &Listener{cm: m, ps: ps, handle: handle, wakeup: make(chan struct{}, 1), done: make(chan struct{})}
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

// Addr returns the address and port of the listener. For a listener at all addresses it is "::", or
// the unspecified address that Listen got.
func (l *Listener) Addr() netip.AddrPort { return l.local }

// Next returns the next request, waiting for it if there is none. If ctx ends first, Next returns
// its cause; once the listener or the device is closed, [ErrClosed].
func (l *Listener) Next(ctx context.Context) (*ConnRequest, error) {
	if err := checkContext(ctx); err != nil {
		return nil, fmt.Errorf("wait for a request: %w", err)
	}
	for {
		if r := l.take(); r != nil {
			return r, nil
		}
		select {
		case <-l.wakeup:
		case <-l.done:
			return nil, ErrClosed
		case <-l.cm.dev.nic.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take removes and returns the oldest waiting request, nil if there is none.
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

// wake wakes one waiting Next.
func (l *Listener) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

// Close closes the listener and ends every Next. It rejects waiting requests; connections
// continue.
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
		// The error is ignored: it means that the sender has given up.
		_ = r.Reject(nil)
	}
	return nil
}

// leave removes the request from its listener's queue. The caller holds cm.mu.
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

// event handles the end of a request that still waits for the program, which never sees it.
func (r *ConnRequest) event(*cm.Event) {
	r.cm.mu.Lock()
	defer r.cm.mu.Unlock()
	r.leave()
}

// request passes an incoming request to its listener, or rejects it if no program could accept it.
// It runs in the manager's goroutine.
func (c *connections) request(e *cm.Event) {
	r := &ConnRequest{cm: c, id: e.ID, peer: e.Peer, req: e.REQ, sidr: e.SIDRREQ}
	if reason, addrErr := r.check(); reason != 0 {
		// The error is ignored: it means that the sender has given up.
		_ = c.gsi.Do(func(now cm.Time, m *cm.Manager) error {
			if addrErr != nil {
				m.Counters().CountBadAddress(addrErr)
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
