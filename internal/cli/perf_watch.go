package cli

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"
)

// Why traffic ends although nothing is wrong with this end. errors.Is finds them in what a run returns.
var (
	errPeerGone   = errors.New("the peer ended the test; look at its output")
	errNoReceives = errors.New("the peer posts no receives")
	errSilence    = errors.New("nothing comes from the peer")
)

// peerGrace is how long traffic goes on after the peer's TCP connection has ended: its last packets may be under way.
const peerGrace = 500 * time.Millisecond

// watchedConn is a connection on which traffic can be interrupted by the peer's hanging up.
type watchedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *watchedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// watch returns a context that ends when the peer closes the connection, a while later. What the peer sends meanwhile
// stays to be read. stop must be called before anything else is done with the connection.
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
			cancel(errPeerGone)
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

// noDeadline takes the limit off the connection's reads and writes, but not one that ctx's end has set.
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

// A peer that runs another test can leave this end waiting for ever, so standstill is looked for.
const (
	stallCheck   = 10 * time.Second
	silentChecks = 3 // without progress and without a packet
)

// watchProgress cancels the run when the peer has no receives for what this end sends, or is silent. It returns when
// ctx ends.
func (e *perfEnd) watchProgress(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(stallCheck)
	defer tick.Stop()
	last := e.standing()
	for silent := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := e.standing()
		switch {
		case now.progress != last.progress:
			silent = 0
		case now.refused != last.refused:
			cancel(errNoReceives)
			return
		case now.packets != last.packets:
			silent = 0
		default:
			if silent++; silent == silentChecks {
				cancel(errSilence)
				return
			}
		}
		last = now
	}
}

// standing is how far traffic has come.
type standing struct{ progress, refused, packets uint64 }

func (e *perfEnd) standing() standing {
	s := standing{progress: e.progress.Load()}
	for _, q := range e.qps {
		c := q.Counters()
		s.refused += c.RNRNAKsTaken
		s.packets += c.ReceivedPackets
	}
	return s
}
