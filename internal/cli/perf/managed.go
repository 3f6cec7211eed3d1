package perf

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// runManaged runs one end of a test whose connections rdma_cm makes: one for the exchange, and
// then one for each queue pair, all to the same port.
func runManaged(ctx context.Context, a *app.App, p *params, out *printer) (err error) {
	c := &managedConns{}
	s := &session.Session{Role: exchange.Server}
	flags := p.device.Managed()
	if p.host != "" {
		s.Role = exchange.Client
		s.Device, c.remote, err = a.OpenToDial(ctx, flags, "", p.host, p.port)
	} else {
		s.Device, _, err = a.OpenToServe(ctx, flags, "")
	}
	if err != nil {
		return err
	}
	defer s.Close()
	out.role = s.Role
	if err := c.open(ctx, a, s, p, out.waiting); err != nil {
		return err
	}
	defer session.KeepAlive(ctx, c.control.conn, session.KeepAliveInterval)()
	e := &end{Session: s, ctx: ctx, params: p, out: out, line: c.control, conns: c}
	err = e.run()
	var failed *session.CompletionError
	switch {
	case err != nil && session.IsDead(c.control.conn):
		return fmt.Errorf("%w; look at its output: it must be %s with the same parameters", session.ErrPeerDead,
			p.describe())
	case errors.As(err, &failed) && failed.WC.Status == verbs.WCRetryExcErr:
		return err // the peer is gone, so the line is not closed in order
	}
	c.end(ctx, e.standingQPs())
	if err != nil {
		return err
	}
	return out.finish()
}

// managedConns are the connections of a test.
type managedConns struct {
	remote   netip.AddrPort // server that a client connects to
	listener *verbs.Listener
	control  *managedLine
	data     []*verbs.Conn
}

// open makes the connection of the exchange and sets the GID and path MTU of the session.
func (c *managedConns) open(ctx context.Context, a *app.App, s *session.Session, p *params, waiting func()) error {
	var err error
	if c.control, err = newManagedLine(s.Device); err != nil {
		return err
	}
	if s.Role == exchange.Client {
		c.control.conn, err = c.dial(ctx, s.Device, c.control.qp, verbs.DefaultConnParam())
	} else {
		if c.listener, err = s.Device.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, p.port),
			p.qps+1); err != nil {
			return err
		}
		waiting()
		a.Announce(c.listener, s.Device)
		c.control.conn, err = c.accept(ctx, c.control.qp, verbs.DefaultConnParam())
	}
	if err != nil {
		return err
	}
	c.control.begin(ctx)
	for _, g := range s.Device.GIDs() {
		if g.Addr == c.control.conn.Local().Addr() {
			s.GID = g
		}
	}
	s.PathMTU, err = app.PathMTU(p.mtu, s.GID)
	return err
}

// The server of perftest listens for the queue pairs only after it has accepted the control
// connection, so the client may be too early and retries.
const (
	managedTries = 20
	managedPause = 100 * time.Millisecond
)

func (c *managedConns) dial(ctx context.Context, dev *verbs.Device, qp *verbs.QP,
	param verbs.ConnParam) (*verbs.Conn, error) {
	return dev.Dial(ctx, c.remote, qp, param)
}

func (c *managedConns) accept(ctx context.Context, qp *verbs.QP, param verbs.ConnParam) (*verbs.Conn, error) {
	r, err := c.listener.Next(ctx)
	if err != nil {
		return nil, err
	}
	return r.Accept(ctx, qp, param)
}

// connect makes the connections of all queue pairs.
func (c *managedConns) connect(e *end) error {
	p := e.params
	param := verbs.DefaultConnParam()
	param.PathMTU, param.Timeout, param.TrafficClass, param.Access = e.PathMTU, p.timeout, p.trafficClass, p.access()
	outs := uint8(min(e.outReads(), managedOuts))
	if p.outs > 0 {
		outs = uint8(e.outReads())
	}
	param.MaxRdAtomic, param.MaxDestRdAtomic = outs, outs
	for i, q := range e.qps {
		conn, err := c.connectOne(e, q.QP, param)
		if err != nil {
			return err
		}
		c.data = append(c.data, conn)
		e.out.address("local", e.Key(i))
	}
	return nil
}

// managedOuts is the number of outstanding READs that is offered by default: some peers reject
// more than they support.
const managedOuts = 16

func (c *managedConns) connectOne(e *end, q *verbs.QP, param verbs.ConnParam) (*verbs.Conn, error) {
	if e.Role == exchange.Server {
		return c.accept(e.ctx, q, param)
	}
	for try := 1; ; try++ {
		conn, err := c.dial(e.ctx, e.Device, q, param)
		var refused *verbs.RejectError
		if err == nil || try == managedTries || !errors.As(err, &refused) ||
			refused.Reason != mad.RejectInvalidServiceID {
			return conn, err
		}
		select {
		case <-time.After(managedPause):
		case <-e.ctx.Done():
			return nil, context.Cause(e.ctx)
		}
		if err := q.Modify(&verbs.QPAttr{State: verbs.RESET}, verbs.AttrState); err != nil {
			return nil, err
		}
	}
}

// end disconnects, whether this end is the client or the server: in perftest 4.5 the client
// disconnects, in 25.01 the server, and the other end waits for that.
func (c *managedConns) end(ctx context.Context, qps []*verbs.QP) {
	session.Linger(ctx, append(qps, c.control.qp)...)
	ctx, cancel := context.WithTimeout(ctx, session.DisconnectTimeout)
	defer cancel()
	hangUp := func(ctx context.Context, conn *verbs.Conn) error {
		_ = conn.Disconnect(ctx) // the peer may be gone
		return nil
	}
	_ = session.Each(ctx, c.data, hangUp)
	_ = hangUp(ctx, c.control.conn)
	if c.listener != nil {
		c.listener.Close()
	}
}

// managedLine carries the exchange over a connection of rdma_cm.
type managedLine struct {
	conn     *verbs.Conn
	qp       *verbs.QP
	cq       session.Waiter
	mr       *verbs.MR
	buf      []byte // the message to send, followed by the received message
	ctx      context.Context
	cancel   context.CancelFunc
	received []verbs.WC // receives that completed while a send was waited for
}

func newManagedLine(dev *verbs.Device) (*managedLine, error) {
	l := &managedLine{buf: make([]byte, 2*wire.MaxMessage)}
	pd := dev.AllocPD()
	var err error
	if l.mr, err = pd.RegMR(l.buf, verbs.LocalWrite); err != nil {
		return nil, err
	}
	cq, err := dev.CreateCQ(4)
	if err != nil {
		return nil, err
	}
	l.cq = session.Waiter{CQ: cq}
	l.qp, err = pd.CreateQP(verbs.QPInitAttr{SendCQ: cq,
		Cap: verbs.QPCap{MaxSendWR: 2, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1}})
	if err != nil {
		return nil, err
	}
	if err := l.qp.Init(0); err != nil {
		return nil, err
	}
	return l, l.receive()
}

func (l *managedLine) receive() error {
	return l.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{l.mr.SGE(wire.MaxMessage, wire.MaxMessage)}})
}

// begin starts the timeout of the exchange.
func (l *managedLine) begin(ctx context.Context) {
	l.ctx, l.cancel = context.WithTimeout(ctx, session.ExchangeTimeout)
}

func (l *managedLine) noDeadline(ctx context.Context) {
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(ctx)
}

func (l *managedLine) drive(role exchange.Role, steps []wire.Step, end wire.End) error {
	return wire.DriveManaged(l, role, steps, end)
}

// Send implements wire.Messages.
func (l *managedLine) Send(b []byte) error {
	copy(l.buf, b)
	if err := l.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{l.mr.SGE(0, len(b))}}); err != nil {
		return err
	}
	for {
		wc, err := l.next()
		if len(l.received) > 0 && errors.Is(err, exchange.ErrPeerClosed) {
			return nil // the peer has responded, so it received the message
		}
		if err != nil || !wc.Opcode.IsRecv() {
			return err
		}
		l.received = append(l.received, wc)
	}
}

// Receive implements wire.Messages.
func (l *managedLine) Receive(b []byte) (int, error) {
	if len(l.received) == 0 {
		wc, err := l.next()
		if err != nil {
			return 0, err
		}
		l.received = append(l.received, wc)
	}
	n := int(l.received[0].ByteLen)
	l.received = l.received[1:]
	copy(b, l.buf[wire.MaxMessage:])
	return n, l.receive()
}

// next returns the next successful completion.
func (l *managedLine) next() (verbs.WC, error) {
	var wc [1]verbs.WC
	if _, err := l.cq.Next(l.ctx, wc[:]); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the peer was silent for %v", session.ExchangeTimeout)
		}
		return wc[0], err
	}
	switch wc[0].Status {
	case verbs.WCSuccess:
		return wc[0], nil
	case verbs.WCWRFlushErr:
		return wc[0], exchange.ErrPeerClosed
	}
	return wc[0], fmt.Errorf("%v (%s)", wc[0].Status, wc[0].Status.Name())
}

func (l *managedLine) watch(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	ctx, cancel = context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-l.conn.Done():
		case <-ctx.Done():
			return
		}
		if session.IsDead(l.conn) {
			cancel(session.ErrPeerDead)
			return
		}
		select {
		case <-time.After(peerGrace):
			cancel(session.ErrPeerGone)
		case <-ctx.Done():
		}
	}()
	return ctx, cancel, func() {
		cancel(context.Canceled)
		<-done
	}
}

// awaitClose does nothing: managedConns.end ends the connections.
func (l *managedLine) awaitClose(*end) {}
