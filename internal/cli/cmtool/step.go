package cmtool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// stepPeer describes the required peer of a test with --step.
const stepPeer = "cmtime of rdma-core 52 to 58 or gorxe cm --step"

// A round makes connections and ends them when all are established.
type round struct {
	title string
	conns int
}

// rounds returns the rounds of cmtime. In the last round cmtime has no queue pairs and sends
// invented queue pair numbers from 1000 on. This end has a queue pair for each connection in all
// rounds; nothing is sent over it.
func (p *params) rounds() []round {
	return []round{{"to warm up", 1}, {"with queue pairs", p.conns},
		{"with made-up queue pair numbers of cmtime", p.conns}}
}

// runSynced does what cmtime does: it makes and ends connections, and waits for the peer after each
// step.
func (e *end) runSynced(ctx context.Context) error {
	var l *verbs.Listener
	line, err := &stepLine{role: exchange.Client}, error(nil)
	if e.params.server {
		line.role = exchange.Server
		// A client may request the rdma_cm connections as soon as it has the TCP connection, so
		// their port must be open before.
		if l, err = e.open(); err != nil {
			return err
		}
		defer l.Close()
		line.conn, err = e.meetStep(ctx, l)
	} else {
		line.conn, err = e.callStep(ctx)
	}
	if err != nil {
		return err
	}
	defer line.conn.Close()
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer session.WatchProgress(run, cancel, session.SilenceLimit, e.messages)()
	all := e.params.rounds()
	for i, r := range all {
		err := e.round(run, line, l, fmt.Sprintf("round %d of %d, %s\n", i+1, len(all), r.title), r.conns)
		made := e.forget()
		if err != nil {
			err = session.ExplainStandstill(session.ExplainExchange(err, stepPeer), verbs.RC, stepPeer)
			return fmt.Errorf("in round %d, with %d of %s: %w", i+1, made, app.Plural(r.conns, "connection"), err)
		}
	}
	return nil
}

// round makes n connections and ends them.
func (e *end) round(ctx context.Context, line *stepLine, l *verbs.Listener, title string, n int) error {
	err := line.keep(ctx, stepBegin, func(context.Context) error { return nil })
	if err != nil {
		return err
	}
	e.progress.Add(1)
	fmt.Fprint(e.out, title)
	err = line.keep(ctx, stepConnect, func(ctx context.Context) error {
		if l != nil {
			return e.acceptSome(ctx, l, n)
		}
		return e.dialAll(ctx, n)
	})
	if err != nil {
		return err
	}
	begin := time.Now()
	err = line.keep(ctx, stepDisconnect, func(ctx context.Context) error {
		if err := session.Each(ctx, e.made, e.part); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s ended in %v\n", app.Plural(n, e.params.unit()),
			time.Since(begin).Round(time.Microsecond))
		return nil
	})
	e.progress.Add(1)
	return err
}

// part disconnects if this end is the client; a server waits until the client has done so.
func (e *end) part(ctx context.Context, c *connection) error {
	defer e.progress.Add(1)
	if !e.params.server {
		wait, cancel := context.WithTimeout(ctx, session.DisconnectTimeout)
		defer cancel()
		// An error means that the peer has not answered. Its step over TCP shows whether it has
		// disconnected.
		_ = c.conn.Disconnect(wait)
		return context.Cause(ctx)
	}
	select {
	case <-c.conn.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.conn.Err(); !errors.Is(err, verbs.ErrDisconnected) {
		return err
	}
	return nil
}

// forget closes the connections of a round and returns their number.
func (e *end) forget() int {
	e.mu.Lock()
	made := e.made
	e.made, e.took = nil, nil
	e.mu.Unlock()
	for _, c := range made {
		c.close()
	}
	return len(made)
}

// meetStep waits for the client's TCP connection. When it announces that it listens, the ports of
// TCP and of rdma_cm are open.
func (e *end) meetStep(ctx context.Context, l *verbs.Listener) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var asking sync.WaitGroup
	var early error
	asking.Go(func() {
		r, err := l.Next(ctx)
		if err != nil {
			return
		}
		early = fmt.Errorf("%v asks for a connection before it has made one over TCP, so it is not %s: omit --step",
			r.Remote(), stepPeer)
		// An error means that the client has already closed the connection.
		_ = r.Reject(nil)
		cancel(early)
	})
	conn, err := e.tcp.Accept(ctx, l.Addr().Port(), func(net.Addr) { e.announce(l) })
	cancel(nil)
	asking.Wait()
	if early != nil && conn != nil {
		conn.Close()
		return nil, early
	}
	return conn, err
}

// The server of cmtime listens first with rdma_cm and then over TCP, so the client may be too
// early and retries.
const (
	stepTries = 20
	stepPause = 100 * time.Millisecond
)

// callStep makes the TCP connection to the server.
func (e *end) callStep(ctx context.Context) (net.Conn, error) {
	host, port := e.remote.Addr().String(), e.remote.Port()
	for try := 1; ; try++ {
		conn, err := e.tcp.Dial(ctx, host, port)
		var refused *app.RefusedError
		if !errors.As(err, &refused) {
			return conn, err
		}
		if try == stepTries {
			return nil, fmt.Errorf(
				"no server listens on %s TCP port %d: start %s there first, or omit --step for another server", host,
				port, stepPeer)
		}
		select {
		case <-time.After(stepPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
