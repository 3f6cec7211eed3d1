package respond

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// Responder answers clients.
type Responder struct {
	devices func() []*verbs.Device
	log     *slog.Logger
	limits  Limits
	pattern *pattern // nil: payload is not checked
	memory  *shares  // of all sessions
	items   itemPaces
	count   counters
	// hostAddrs is exchange.HostAddrs, except in tests.
	hostAddrs func(zones ...string) []exchange.HostAddr

	mu       sync.Mutex
	sessions map[*session]struct{} // guarded by mu
	draining bool                  // guarded by mu
	running  sync.WaitGroup
}

// New returns a responder for clients of the devices that devices returns when a client connects.
func New(devices func() []*verbs.Device, limits Limits, log *slog.Logger) *Responder {
	limits = limits.withDefaults()
	return &Responder{
		devices: devices, limits: limits, pattern: newPattern(&limits), log: log, hostAddrs: exchange.HostAddrs,
		memory: &shares{total: limits.TotalMemory, hosts: map[netip.Addr]uint64{}}, sessions: map[*session]struct{}{},
		items: itemPaces{bySource: map[source]pace.Bucket{}},
	}
}

// acceptPause is the pause after a failed accept.
const acceptPause = 100 * time.Millisecond

// Serve answers the clients that connect to l and use one of the tools in answered, until l is
// closed or ctx ends. The sessions may continue after it returns.
func (r *Responder) Serve(ctx context.Context, l net.Listener, answered ...Kind) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	f := newSYNFilter(l)
	defer f.close()
	p := paces{bySource: map[source]pace.Bucket{}, spent: f.drop}
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			r.log.Warn("a client cannot be accepted", "address", l.Addr(), "error", err)
			if !sleep(ctx, acceptPause) {
				return nil
			}
			continue
		}
		served, wait := p.admit(exchange.Address(conn.RemoteAddr()), time.Now())
		if served {
			r.accept(ctx, conn, answered)
		} else {
			r.turnAway(conn)
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// accept starts a session, or closes the connection.
func (r *Responder) accept(ctx context.Context, conn net.Conn, answered []Kind) {
	s, why, err := r.admit(ctx, conn)
	if err != nil {
		s.cancel(nil)
		r.count.why[why].Add(1)
		r.log.Debug("client refused", "peer", conn.RemoteAddr(), "reason", err)
		conn.Close()
		return
	}
	s.answered = answered
	r.running.Go(func() {
		defer r.removeSession(s)
		s.run()
	})
}

// turnAway resets the connection of a client that connects too fast. A reset leaves no state in the
// kernel.
func (r *Responder) turnAway(conn net.Conn) {
	r.count.why[tooFast].Add(1)
	r.log.Debug("client refused", "peer", conn.RemoteAddr(), "reason", "it connects too fast")
	if t, ok := conn.(*net.TCPConn); ok {
		// If this fails, the connection is closed without a reset.
		_ = t.SetLinger(0)
	}
	conn.Close()
}

// admit creates the session of a client and adds it to the sessions. If the limits do not permit
// that, it returns why; the caller must cancel the session then too.
func (r *Responder) admit(ctx context.Context, conn net.Conn) (*session, reason, error) {
	local, peer := exchange.Address(conn.LocalAddr()), exchange.Address(conn.RemoteAddr())
	s := newSession(ctx, r, conn, peer)
	for _, d := range r.devices() {
		gids := d.GIDs()
		if i := slices.IndexFunc(gids, func(g verbs.GIDEntry) bool { return g.Addr == local }); i >= 0 {
			s.dev, s.here = d, gids[i]
		}
	}
	switch {
	case s.dev == nil:
		return s, noDevice, fmt.Errorf("%v is not an address of a device", local)
	case !s.dev.Admits(peer):
		return s, notAdmitted, fmt.Errorf("not among the peers of device %s", s.dev.Name())
	}
	for {
		old, err := r.addSession(s)
		if err != nil {
			return s, tooMany, err
		}
		if old == nil {
			return s, 0, nil
		}
		old.end(displacedBy, errDisplaced)
		<-old.over
	}
}

// errDisplaced is the error of a session that is displaced by another client: see idle and
// handshakeStalled.
var errDisplaced = errors.New("displaced by another client while idle")

// addSession adds s to the sessions. At a limit it returns instead a session that can be displaced,
// or an error if there is none.
func (r *Responder) addSession(s *session) (old *session, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return nil, errStopping
	}
	ofPeer, ofNetwork, network := 0, 0, networkOf(s.peer)
	for o := range r.sessions {
		if o.peer == s.peer {
			ofPeer++
		}
		if networkOf(o.peer) == network {
			ofNetwork++
		}
	}
	// makesRoom reports whether the end of another session lets s in.
	makesRoom := func(*session) bool { return true }
	switch {
	case ofPeer >= r.limits.PerPeer:
		err = fmt.Errorf("it has %d sessions, the most that a peer may have", ofPeer)
		makesRoom = func(o *session) bool { return o.peer == s.peer }
	case ofNetwork >= r.limits.PerNetwork && network.IsValid():
		err = fmt.Errorf("%v has %d sessions, the most that a network may have", network, ofNetwork)
		makesRoom = func(o *session) bool { return networkOf(o.peer) == network }
	case len(r.sessions) >= r.limits.Sessions:
		err = fmt.Errorf("there are %d sessions, the most that may be", len(r.sessions))
	default:
		r.sessions[s] = struct{}{}
		return nil, nil
	}
	for o := range r.sessions {
		if makesRoom(o) && (o.idle() || o.handshakeStalled()) {
			return o, nil
		}
	}
	return nil, err
}

// networkOf returns the network of a peer that one host or user can own: an IPv6 /64, or the
// loopback addresses. It is invalid for other addresses.
func networkOf(peer netip.Addr) quota.Network {
	if peer.Is4() && peer.IsLoopback() {
		return quota.Network{Addr: netip.AddrFrom4([4]byte{127}), Bits: 8}
	}
	return quota.NetworkOf(peer)
}

// removeSession removes a session that has ended.
func (r *Responder) removeSession(s *session) {
	r.mu.Lock()
	delete(r.sessions, s)
	r.mu.Unlock()
	close(s.over)
}

// Sessions returns the number of sessions.
func (r *Responder) Sessions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

// errStopping is the error of sessions and clients when the responder stops.
var errStopping = errors.New("the daemon is stopping")

// Drain rejects new clients, ends silent pingpongs, and returns when all sessions have ended.
// When ctx ends, it ends the remaining sessions and returns an error.
func (r *Responder) Drain(ctx context.Context) error {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	over := make(chan struct{})
	go func() {
		r.running.Wait()
		close(over)
	}()
	tick := time.NewTicker(minSilence / 4)
	defer tick.Stop()
	for {
		r.endSessions((*session).idle, func(s *session) { s.cancel(nil) })
		select {
		case <-over:
			return nil
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		n := r.endSessions(func(*session) bool { return true }, func(s *session) { s.end(stopped, errStopping) })
		<-over
		if n == 0 {
			return nil
		}
		return fmt.Errorf("%d sessions of perftest and pingpong clients were cut off", n)
	}
}

// endSessions calls end with each session that which selects, and returns their number.
func (r *Responder) endSessions(which func(*session) bool, end func(*session)) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sessions {
		if which(s) {
			end(s)
			n++
		}
	}
	return n
}
