package cmtool

import (
	"context"
	"fmt"
	"net"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// A step is a synchronization point of both ends of cmtime. It is sent as one byte: its index in
// cmtime's list of measurements.
type step byte

const (
	stepBegin      step = 0  // ready for a round
	stepConnect    step = 12 // all connections of the round are established
	stepDisconnect step = 14 // all connections of the round have ended
)

// String returns the name of the step in errors.
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

// stepLine is the TCP connection that synchronizes two ends: the client sends the byte of a step
// when it has finished it, and the server returns the byte when it has finished it too.
type stepLine struct {
	conn net.Conn
	role exchange.Role
}

// keep does the work of a step and returns when both ends have finished it. It reads from the
// peer during the work: a byte may arrive early, and if the peer disappears, the work is
// cancelled.
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
	return causeOf(ctx, exchange.WriteItem(l.conn, s.String(), []byte{byte(s)}))
}

func (l *stepLine) hear(ctx context.Context, s step) error {
	defer exchange.Watch(ctx, l.conn)()
	var b [1]byte
	if err := exchange.ReadItem(l.conn, s.String(), b[:]); err != nil {
		return causeOf(ctx, err)
	}
	if came := step(b[0]); came != s {
		return &exchange.ItemError{Item: s.String(), Op: "decode", Err: fmt.Errorf("%v came", came)}
	}
	return nil
}

// causeOf returns the cause of ctx if ctx is done, which may have interrupted the operation;
// otherwise err.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
