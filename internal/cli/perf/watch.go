package perf

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// peerGrace is the time for which traffic continues after the end of the peer's TCP connection:
// its last packets may still arrive.
const peerGrace = 500 * time.Millisecond

// watchedConn is a connection whose end interrupts the traffic.
type watchedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *watchedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// watch implements line. Data from the peer stays buffered. stop must be called before any other
// use of the connection.
func (c *watchedConn) watch(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc, stop func()) {
	ctx, cancel = context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := c.r.Peek(1); err == nil || isTimeout(err) {
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
		c.SetReadDeadline(time.Unix(1, 0))
		<-done
		c.noDeadline(parent)
	}
}

func (c *watchedConn) drive(role exchange.Role, steps []wire.Step, end wire.End) error {
	return wire.Drive(c, role, steps, end)
}

// awaitClose waits for the peer to close the connection: if its last acknowledgement was lost, it
// needs this end's queue pair a little longer.
func (c *watchedConn) awaitClose(*end) {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
	}
	c.SetReadDeadline(time.Now().Add(session.LingerMax))
	for {
		if _, err := c.r.Discard(1); err != nil {
			return
		}
	}
}

// noDeadline removes the deadline of the connection, unless ctx is done: then reads and writes
// still fail at once.
func (c *watchedConn) noDeadline(ctx context.Context) {
	c.SetDeadline(time.Time{})
	if ctx.Err() != nil {
		c.SetDeadline(time.Unix(1, 0))
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// standing returns the progress of the traffic.
func (e *end) standing() session.Snapshot {
	s := session.Snapshot{Progress: e.progress.Load()}
	for _, q := range e.qps {
		s.Add(q.QP)
	}
	return s
}

// standingQPs returns the queue pairs of the traffic.
func (e *end) standingQPs() (qps []*verbs.QP) {
	for _, q := range e.qps {
		qps = append(qps, q.QP)
	}
	return qps
}
