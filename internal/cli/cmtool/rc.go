package cmtool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/verbs"
)

// With ucmatose, rdma_server and rdma_client the server disconnects, with cmtime the client. So
// with messages our server disconnects, and our client waits up to clientWait for that. Without
// messages our client disconnects, and our server waits up to serverWait for that. After this time
// the waiting end disconnects too.
const (
	serverWait   = 2 * time.Second // without messages
	clientWait   = 5 * time.Second // with messages
	nextWait     = 10 * time.Second
	silenceLimit = 10 * time.Second // for a peer that is alive and sends nothing
)

// connections makes connections, exchanges messages on each, and ends them.
func (e *end) connections(ctx context.Context) error {
	connect := e.dialAll
	if e.params.server {
		connect = e.acceptAll
	}
	if err := connect(ctx, e.params.conns); err != nil {
		return err
	}
	run, cancel := context.WithCancelCause(ctx)
	stop := session.WatchProgress(run, cancel, silenceLimit, e.messages)
	err := session.Each(run, e.made, func(ctx context.Context, c *connection) error { return c.exchange(ctx, e) })
	stop()
	cancel(nil)
	if err != nil {
		return e.explain(err)
	}
	if e.ends() {
		session.Linger(ctx, e.qps()...)
	}
	if err := session.Each(ctx, e.made, e.disconnectOrWait); err != nil {
		return err
	}
	e.printRun()
	return nil
}

// explain adds to the error of an aborted exchange what the peer must be.
func (e *end) explain(err error) error {
	if errors.Is(err, session.ErrSilence) {
		return fmt.Errorf(
			"%w: it must be ucmatose, or gorxe cm, with the same number of connections (-n) and messages (-C)", err)
	}
	return session.ExplainStandstill(err, verbs.RC, "ucmatose, or gorxe cm,")
}

// param returns the parameters that ucmatose requests. As with every queue pair of rdma_cm, the
// peer has remote write access: it uses that to check whether this end is alive.
func (e *end) param() verbs.ConnParam {
	p := verbs.DefaultConnParam()
	p.Access, p.MaxRdAtomic, p.MaxDestRdAtomic = verbs.RemoteWrite, 1, 1
	return p
}

// dialAll makes n connections, up to params.parallel at a time.
func (e *end) dialAll(ctx context.Context, n int) error { return e.askAll(ctx, n, verbs.RC, e.dial) }

func (e *end) dial(ctx context.Context, c *connection) (err error) {
	if c.conn, err = e.dev.Dial(ctx, e.remote, c.qp, e.param()); err == nil {
		e.startKeepAlive(c.conn)
	}
	return err
}

// startKeepAlive ends the connection when its peer no longer responds. In step with cmtime the TCP
// connection serves that purpose, and not all of cmtime's connections have queue pairs.
func (e *end) startKeepAlive(c *verbs.Conn) {
	if e.params.step {
		return
	}
	// KeepAlive returns when the connection ends, at the latest when the queue pair is closed.
	go c.KeepAlive(context.Background(), session.KeepAliveIntervalFor(max(e.params.conns, e.params.parallel)))
}

// open opens the port.
func (e *end) open() (*verbs.Listener, error) {
	return e.dev.Listen(e.params.portSpace(), netip.AddrPortFrom(e.at, e.params.port), e.params.conns)
}

// listen opens the port and announces it.
func (e *end) listen() (*verbs.Listener, error) {
	l, err := e.open()
	if err == nil {
		e.announce(l)
	}
	return l, err
}

// acceptAll opens the port, accepts n connections, and closes the port.
func (e *end) acceptAll(ctx context.Context, n int) error {
	l, err := e.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	return e.acceptSome(ctx, l, n)
}

// acceptSome accepts n connections and prints how fast they were made.
func (e *end) acceptSome(ctx context.Context, l *verbs.Listener, n int) error {
	var begin time.Time
	g := session.NewGroup(ctx)
	early := newEarlyEnds(e, n)
	for i := range n {
		r, err := early.next(g.Ctx, l)
		if err != nil {
			g.Fail(err)
			break
		}
		if i == 0 {
			begin = time.Now()
		}
		g.Go(func(ctx context.Context) error {
			c, err := e.accept(ctx, r)
			if err == nil && i < n-1 {
				err = early.watch(ctx, c.conn)
			}
			return err
		})
	}
	early.allCame()
	if err := g.Wait(); err != nil {
		return err
	}
	e.printMade(time.Since(begin))
	return nil
}

// accept makes one connection.
func (e *end) accept(ctx context.Context, r *verbs.ConnRequest) (*connection, error) {
	c, took, err := e.ask(verbs.RC, func(c *connection) error { return e.take(ctx, r, c) })
	if err != nil {
		return nil, err
	}
	e.keep(c, took)
	return c, nil
}

func (e *end) take(ctx context.Context, r *verbs.ConnRequest, c *connection) (err error) {
	if c.conn, err = r.Accept(ctx, c.qp, e.param()); err == nil {
		e.startKeepAlive(c.conn)
	}
	return err
}

// exchange sends all messages and receives the peer's, in any order.
func (c *connection) exchange(ctx context.Context, e *end) error {
	if err := c.send(func(*verbs.SendWR) {}); err != nil {
		return err
	}
	n := e.params.count
	return c.complete(ctx, e, n, n, nil)
}

// ends reports whether this end disconnects.
func (e *end) ends() bool { return e.params.server == (e.params.count > 0) }

func (e *end) qps() (qps []*verbs.QP) {
	for _, c := range e.made {
		qps = append(qps, c.qp)
	}
	return qps
}

// disconnectOrWait ends a connection, or waits for the peer to end it.
func (e *end) disconnectOrWait(ctx context.Context, c *connection) error {
	wait := clientWait
	if e.params.server {
		wait = serverWait
	}
	if !e.ends() {
		select {
		case <-c.conn.Done():
			return nil
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, session.DisconnectTimeout)
	defer cancel()
	// An error means that the peer did not answer in time: it has received everything, and may be
	// gone.
	_ = c.conn.Disconnect(ctx)
	return nil
}
