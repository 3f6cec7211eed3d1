package cmtool

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
)

// end is one end of a test of the connection manager.
type end struct {
	params *params
	out    io.Writer
	dev    *verbs.Device
	pd     *verbs.PD
	remote netip.AddrPort // server that a client connects to
	at     netip.Addr     // address on which a server listens; unspecified: all addresses
	tcp    app.TCP

	announce func(*verbs.Listener)

	progress atomic.Uint64 // number of connections and completions, for WatchProgress

	mu   sync.Mutex
	made []*connection // guarded by mu
	// took holds the setup time of each connection; guarded by mu.
	took []time.Duration
}

// connection is a connection, or a datagram queue pair, with its message counts.
type connection struct {
	conn           *verbs.Conn   // nil for a datagram queue pair
	peer           *verbs.UDPeer // set for a datagram queue pair
	qp             *verbs.QP
	cq             session.Waiter
	mr             *verbs.MR
	buf            []byte
	slot           int // length of a receive in buf; the message to send is in the last slot
	params         *params
	sent, received int
	moved          atomic.Uint64 // number of completions, for WatchProgress
}

// prepare makes a queue pair and posts all its receives: the peer may send as soon as it knows of
// the connection, and ucmatose does not retry after an RNR NAK (its RNR retry count is 0).
func (e *end) prepare(service verbs.QPType) (*connection, error) {
	p := e.params
	c := &connection{params: p, slot: session.HeaderOf(service) + p.size}
	c.buf = make([]byte, c.slot*(p.count+1))
	var err error
	if c.mr, err = e.pd.RegMR(c.buf, verbs.LocalWrite); err != nil {
		return nil, err
	}
	depth := max(1, p.count)
	const empty = 1 // the empty WRITE of KeepAlive
	cq, err := e.dev.CreateCQ(2*depth + empty)
	if err != nil {
		return nil, err
	}
	c.cq = session.Waiter{CQ: cq}
	c.qp, err = e.pd.CreateQP(verbs.QPInitAttr{Type: service, SendCQ: cq, Cap: verbs.QPCap{
		MaxSendWR: depth + empty, MaxRecvWR: depth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	if err != nil {
		return nil, err
	}
	if service == verbs.UD {
		err = c.qp.StartDatagrams(verbs.UDPQKey, verbs.RandomPSN())
	} else {
		err = c.qp.Init(0)
	}
	if err != nil {
		return nil, err
	}
	for i := range p.count {
		err := c.qp.PostRecv(&verbs.RecvWR{ID: uint64(i), SGList: []verbs.SGE{c.mr.SGE(i*c.slot, c.slot)}})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ask prepares a queue pair, calls do to connect it or to find its peer, and returns the time
// that do took. It returns the prepared queue pair even if do fails.
func (e *end) ask(service verbs.QPType, do func(*connection) error) (c *connection, took time.Duration, err error) {
	if c, err = e.prepare(service); err != nil {
		return nil, 0, err
	}
	asked := time.Now()
	err = do(c)
	return c, time.Since(asked), err
}

// askAll makes n connections, up to params.parallel at a time, and prints how fast they were
// made.
func (e *end) askAll(ctx context.Context, n int, service verbs.QPType,
	do func(context.Context, *connection) error) error {
	turns := make(chan struct{}, e.params.parallel)
	begin := time.Now()
	err := session.Each(ctx, make([]struct{}, n), func(ctx context.Context, _ struct{}) error {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-turns }()
		c, took, err := e.ask(service, func(c *connection) error { return do(ctx, c) })
		if err != nil {
			return err
		}
		e.keep(c, took)
		return nil
	})
	if err == nil {
		e.printMade(time.Since(begin))
	}
	return err
}

// keep adds a connection and its setup time.
func (e *end) keep(c *connection, took time.Duration) {
	e.progress.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.made = append(e.made, c)
	e.took = append(e.took, took)
}

// send posts all messages. address sets their destination.
func (c *connection) send(address func(*verbs.SendWR)) error {
	for i := range c.params.count {
		wr := &verbs.SendWR{
			ID: uint64(i), Opcode: verbs.WRSend, Flags: verbs.Signaled,
			SGList: []verbs.SGE{c.mr.SGE(c.params.count*c.slot, c.params.size)},
		}
		address(wr)
		if err := c.qp.PostSend(wr); err != nil {
			return err
		}
	}
	return nil
}

// complete waits until the given numbers of messages have been sent and received. It calls first,
// if not nil, with the completion of the first received message.
func (c *connection) complete(ctx context.Context, e *end, sent, received int, first func(*verbs.WC) error) error {
	var wc [16]verbs.WC
	for c.sent < sent || c.received < received {
		n, err := c.cq.Next(ctx, wc[:])
		if err != nil {
			return fmt.Errorf("%w after %s", err, c.progress())
		}
		e.progress.Add(uint64(n))
		c.moved.Add(uint64(n))
		for i := range wc[:n] {
			if err := c.completed(e.dev, &wc[i], first); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *connection) completed(dev *verbs.Device, wc *verbs.WC, first func(*verbs.WC) error) error {
	switch {
	case wc.Status == verbs.WCWRFlushErr && c.conn != nil && c.received == c.params.count:
		// The peer ends the connection when it has received everything: only acknowledgements are
		// missing.
		c.sent = c.params.count
		return nil
	case c.conn != nil && session.IsDead(c.conn):
		return fmt.Errorf("%w, after %s", session.ErrPeerDead, c.progress())
	case wc.Status == verbs.WCWRFlushErr && c.conn != nil:
		return fmt.Errorf("the peer ended the connection after %s: it must be started with the same -C", c.progress())
	case wc.Status != verbs.WCSuccess:
		e := &session.CompletionError{WC: *wc, Done: c.progress(), Device: dev}
		if c.conn != nil {
			e.Peer = qp.GIDFromAddr(c.conn.Remote().Addr())
		}
		return e
	case !wc.Opcode.IsRecv():
		c.sent++
		return nil
	}
	want := c.slot
	if got := int(wc.ByteLen); got != want {
		return fmt.Errorf("a message of %d bytes came, want %d: start the peer with the same -S",
			got-want+c.params.size, c.params.size)
	}
	if c.received++; c.received == 1 && first != nil {
		return first(wc)
	}
	return nil
}

func (c *connection) progress() string {
	return fmt.Sprintf("%d of %d messages sent and %d received", c.sent, c.params.count, c.received)
}

// messages returns the progress of all connections. Responses to KeepAlive do not count.
func (e *end) messages() session.Snapshot { return session.Snapshot{Progress: e.progress.Load()} }

// messages returns the progress of the connection.
func (c *connection) messages() session.Snapshot { return session.Snapshot{Progress: c.moved.Load()} }

// standing returns the progress and the transport counters of all connections.
func (e *end) standing() (s session.Snapshot) {
	s.Progress = e.progress.Load()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.made {
		s.Add(c.qp)
	}
	return s
}
