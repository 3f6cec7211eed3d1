package cmtool

import (
	"context"
	"fmt"
	"net"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// A step is what both ends of cmtime have done when they go on. It travels as one byte: the place that cmtime
// gives it among all that it measures.
type step byte

const (
	stepBegin      step = 0  // ready for a round
	stepConnect    step = 12 // all connections of the round stand
	stepDisconnect step = 14 // all have ended
)

// String names the step as an error has it.
func (s step) String() string {
	switch s {
	case stepBegin:
		return "step 0 (begin)"
	case stepConnect:
		return "step 12 (connected)"
	case stepDisconnect:
		return "step 14 (disconnected)"
	}
	return fmt.Sprintf("step %d", byte(s))
}

// stepLine is the TCP connection over which two ends keep step: the client sends the byte of the step that it has
// done, and the server sends it back when it has done it, too.
type stepLine struct {
	conn net.Conn
	role exchange.Role
}

// keep does a step's work and returns when both ends have. What the peer says meanwhile is heard at once: a byte
// may come early, and a peer that has gone has no more part in the work.
func (l *stepLine) keep(ctx context.Context, s step, work func(context.Context) error) error {
	g := session.NewGroup(ctx)
	g.Go(func(ctx context.Context) error { return l.hear(ctx, s) })
	g.Go(func(ctx context.Context) error {
		if err := work(ctx); err != nil || l.role == exchange.Server {
			return err
		}
		return l.say(ctx, s)
	})
	if err := g.Wait(); err != nil || l.role == exchange.Client {
		return err
	}
	return l.say(ctx, s)
}

func (l *stepLine) say(ctx context.Context, s step) error {
	defer exchange.Watch(ctx, l.conn)()
	return because(ctx, exchange.WriteItem(l.conn, s.String(), []byte{byte(s)}))
}

func (l *stepLine) hear(ctx context.Context, s step) error {
	defer exchange.Watch(ctx, l.conn)()
	var b [1]byte
	if err := exchange.ReadItem(l.conn, s.String(), b[:]); err != nil {
		return because(ctx, err)
	}
	if came := step(b[0]); came != s {
		return &exchange.ItemError{Item: s.String(), Op: "decode", Err: fmt.Errorf("%v came", came)}
	}
	return nil
}

// because is why an operation on the line failed that the end of ctx may have interrupted.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
