package respond

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/verbs"
)

// session is the session of one client.
type session struct {
	r        *Responder
	conn     net.Conn
	in       *bufio.Reader
	peer     netip.Addr // of the TCP connection, with the zone of a link-local address
	dev      *verbs.Device
	here     verbs.GIDEntry // local address of the TCP connection
	answered []Kind
	peers    exchange.Peers // GIDs that the client may use
	kind     Kind
	ctx      context.Context
	cancel   context.CancelCauseFunc
	over     chan struct{} // closed when the session has ended
	working  sync.WaitGroup

	pd  *verbs.PD
	cq  *verbs.CQ
	mem *touched
	mr  *verbs.MR

	check *check // nil: payload is not checked
	// wcErr is the error of the first failed completion. The goroutine that handles completions
	// sets it; it is read after that goroutine has ended.
	wcErr error

	mu           sync.Mutex
	qps          []*queue  // guarded by mu
	lastConnect  time.Time // time of the latest connection of a queue pair; guarded by mu
	lastProgress time.Time // time of the latest item or packet; guarded by mu
	packets      uint64    // packets sent so far; guarded by mu

	items         atomic.Uint64 // items of the exchange so far that count as progress
	exchangeEnded atomic.Bool   // the exchange of a pingpong has ended
}

// earlyEnd is the error of a session that ended early.
type earlyEnd struct {
	why reason
	err error
}

func (e *earlyEnd) Error() string { return e.err.Error() }
func (e *earlyEnd) Unwrap() error { return e.err }

func newSession(ctx context.Context, r *Responder, conn net.Conn, peer netip.Addr) *session {
	s := &session{r: r, conn: conn, in: bufio.NewReader(conn), peer: peer, over: make(chan struct{}),
		lastProgress: time.Now()}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// end ends the session with a reason. Later reasons are ignored.
func (s *session) end(why reason, err error) { s.cancel(&earlyEnd{why, err}) }

// run runs the session from the client's first byte to the end.
func (s *session) run() {
	defer context.AfterFunc(s.ctx, func() { s.conn.Close() })()
	err := s.converse()
	// The cause explains more than the resulting error.
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	s.cancel(nil)
	s.working.Wait()
	s.conn.Close()
	s.drainCompletions()
	// A client whose request was rejected may have closed the connection before the completion
	// was polled.
	var e *earlyEnd
	if errors.As(err, &e) && e.why == hungUp && s.wcErr != nil {
		err = s.wcErr
	}
	// A wrong byte explains more than how the client ended.
	if wrong := s.close(); wrong != nil {
		err = wrong
	}
	s.conclude(err)
}

// converse identifies the client and answers it.
func (s *session) converse() error {
	s.conn.SetDeadline(time.Now().Add(s.r.limits.Hello))
	first, err := s.in.Peek(prefixLen)
	if err != nil {
		return failure(hungUp, err)
	}
	if s.kind, err = identify(first); err != nil {
		return &earlyEnd{unknownTool, err}
	}
	allowed := false
	for _, k := range s.answered {
		allowed = allowed || k == s.kind
	}
	if !allowed {
		return &earlyEnd{switchedOff, fmt.Errorf("%v is not answered on this port", s.kind)}
	}
	s.r.count.sessions[s.kind].Add(1)
	s.peers = s.allowedPeers()
	if s.kind == Pingpong {
		return s.pingpong()
	}
	return s.perftest()
}

// allowedPeers returns the GIDs that the client may use.
func (s *session) allowedPeers() exchange.Peers {
	ends := []netip.Addr{s.peer}
	for _, g := range s.dev.GIDs() {
		ends = append(ends, g.Addr)
	}
	p := exchange.Peers{Foreign: s.r.limits.ForeignGIDs, Own: s.r.hostAddrs(exchange.Zones(ends...)...)}
	for _, a := range ends[1:] {
		p.Own = append(p.Own, exchange.HostAddr{Addr: a, Bits: a.BitLen()})
	}
	return p
}

// failure returns err as the *earlyEnd of the session that it ended; why is the reason unless err
// implies another.
func failure(why reason, err error) error {
	var e *earlyEnd
	var timeout net.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		return &earlyEnd{itemTimeout, err}
	case errors.Is(err, exchange.ErrPeerClosed):
		return &earlyEnd{hungUp, err}
	}
	return &earlyEnd{why, err}
}

// conclude counts and logs how the session ended.
func (s *session) conclude(err error) {
	log := s.r.log.With("peer", s.peer, "device", s.dev.Name(), "tool", s.kind.String())
	if s.check != nil {
		s.check.report(log)
	}
	var e *earlyEnd
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		s.r.count.ended[s.kind].Add(1)
		log.Debug("session over")
	case errors.As(err, &e):
		s.r.count.why[e.why].Add(1)
		level := slog.LevelInfo
		if e.why == displacedBy || e.why == hungUp && s.pd == nil {
			level = slog.LevelDebug // the test was over, or had not started, as with a port scan
		}
		log.Log(context.Background(), level, "session ended early", "reason", err)
	default:
		s.r.count.why[failed].Add(1)
		log.Info("session ended early", "reason", err)
	}
}

// access returns the rights of clients on a session's memory. A pingpong only sends. Atomics
// would destroy the payload.
func (s *session) access() verbs.Access {
	switch {
	case s.kind != Perftest:
		return verbs.LocalWrite
	case s.check != nil:
		return verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead
	}
	return verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
}

// open creates the session's memory and its completion queue.
func (s *session) open() error {
	n := s.r.limits.Memory
	var err error
	if s.mem, err = newTouched(n, s.peer, s.r.memory, func(err error) { s.end(noMemory, err) }); err != nil {
		return &earlyEnd{noMemory, err}
	}
	mem := mr.Memory(s.mem)
	if s.kind == Perftest && s.r.pattern != nil {
		s.check = s.r.pattern.newCheck(&s.r.count, s.mem)
		mem = s.check.mem
	}
	s.pd = s.dev.AllocPD()
	// Perftest requires whole pages.
	if s.mr, err = s.pd.RegMemory(mem, s.access(), verbs.WithRandomIOVA()); err != nil {
		return &earlyEnd{refusedQP, err}
	}
	if s.check != nil {
		if s.check.payloadMR, err = s.pd.RegMR(s.check.payload, 0); err != nil {
			return &earlyEnd{refusedQP, err}
		}
	}
	if s.cq, err = s.dev.CreateCQ(1); err != nil {
		return &earlyEnd{refusedQP, err}
	}
	return nil
}

// close releases everything, and compares the written memory once no peer can access it. The calls
// fail only for objects in use, and these are not in use.
func (s *session) close() (wrong error) {
	for _, q := range s.qps {
		_ = q.Close()
	}
	if s.cq != nil {
		_ = s.cq.Close()
	}
	if s.mr != nil {
		_ = s.mr.Dereg()
	}
	if s.check != nil {
		wrong = s.check.checkWritten()
		if s.check.payloadMR != nil {
			_ = s.check.payloadMR.Dereg()
		}
	}
	if s.mem != nil {
		_ = s.mem.Close()
	}
	return wrong
}

// gidFor returns the local GID for a connection to the GID peer. It is of the same kind (IPv4, IPv6
// or link-local): the address that the client connected to over TCP if possible, else the first GID
// of the device that the client may connect to. A link-local peer is reached on the link of the TCP
// connection.
func (s *session) gidFor(peer verbs.GID) (verbs.GIDEntry, error) {
	p := peer.Addr()
	like := func(g verbs.GIDEntry) bool {
		return g.Addr.Is4() == p.Is4() && g.Addr.IsLinkLocalUnicast() == p.IsLinkLocalUnicast()
	}
	var wrong error
	for _, g := range append([]verbs.GIDEntry{s.here}, s.dev.GIDs()...) {
		if !like(g) {
			continue
		}
		err := s.peers.Check(s.peer, peer, g.Addr.Zone())
		if err == nil {
			return g, nil
		}
		if wrong == nil {
			wrong = err
		}
	}
	if wrong == nil {
		wrong = s.peers.Check(s.peer, peer, s.peer.Zone())
	}
	if wrong == nil {
		return verbs.GIDEntry{}, &earlyEnd{refusedQP, fmt.Errorf(
			"the client uses GID %v, and device %s has none of that kind: choose another at the client, with -g or -x",
			peer, s.dev.Name())}
	}
	var e *exchange.PeerError
	if errors.As(wrong, &e) && e.Never == "" {
		wrong = fmt.Errorf(
			"%w: choose the GID of that address at the client, with -g or -x, or allow the other with --foreign-gids",
			wrong)
	}
	return verbs.GIDEntry{}, &earlyEnd{foreignGID, wrong}
}
