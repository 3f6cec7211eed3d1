package rping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Client pings a server.
type Client struct {
	// PD is the protection domain of the queue pair and the buffers.
	PD *verbs.PD
	// Size is the length of a ping in bytes, MinSize to MaxSize; 0 means DefaultSize.
	Size int
	// Count is how many pings to send; 0 is without end.
	Count uint64
	// Validate compares every byte that comes back.
	Validate bool
	// KeepAlive is how often a server that is silent is looked for; 0 is never. See
	// [verbs.Conn.KeepAlive].
	KeepAlive time.Duration
	// Ping is called with the text that came back, if it is not nil. It must not keep it.
	Ping func(text []byte)
}

// ErrMismatch says that a ping came back with other bytes than it had.
var ErrMismatch = errors.New("the ping came back changed")

// ErrLeft says that the server has ended the connection before the last ping.
var ErrLeft = errors.New("the server has disconnected before the last ping")

// Run connects to a server, pings it, and disconnects.
func (c *Client) Run(ctx context.Context, to netip.AddrPort) error {
	if c.Size == 0 {
		c.Size = DefaultSize
	}
	if c.Size < MinSize || c.Size > MaxSize {
		return fmt.Errorf("a ping of %d bytes: it must be %d to %d", c.Size, MinSize, MaxSize)
	}
	e, err := newEndpoint(c.PD)
	if err != nil {
		return err
	}
	defer e.close()
	source, sink := make([]byte, c.Size), make([]byte, c.Size)
	const access = verbs.LocalWrite | verbs.RemoteRead | verbs.RemoteWrite
	sourceMR, err := e.register(c.PD, source, access)
	if err != nil {
		return err
	}
	sinkMR, err := e.register(c.PD, sink, access)
	if err != nil {
		return err
	}
	if e.conn, err = c.PD.Device().Dial(ctx, to, e.qp, param()); err != nil {
		return err
	}
	defer e.lookAfter(ctx, c.KeepAlive)()
	for n := uint64(0); err == nil && (c.Count == 0 || n < c.Count); n++ {
		fill(source, n)
		err = c.ping(ctx, e, sourceMR, sinkMR)
		// The device's writes are ordered before this end's reads by the wait for the message.
		switch {
		case err != nil:
		case c.Validate && !bytes.Equal(source, sink):
			err = fmt.Errorf("%w: ping %d, at byte %d", ErrMismatch, n, differ(source, sink))
		case c.Ping != nil:
			c.Ping(text(sink))
		}
	}
	if errors.Is(err, errOver) {
		err = fmt.Errorf("%w: %w", ErrLeft, err)
	}
	if d := e.conn.Disconnect(ctx); err == nil {
		err = d
	}
	return err
}

// ping sends one ping and waits for it to come back.
func (c *Client) ping(ctx context.Context, e *endpoint, source, sink *verbs.MR) error {
	for _, m := range []*verbs.MR{source, sink} {
		if err := e.sendMessage(ctx, &buffer{m.Addr(), m.RKey(), uint32(m.Len())}); err != nil {
			return err
		}
		var goOn buffer
		if err := e.message(ctx, &goOn); err != nil {
			return err
		}
	}
	return nil
}

// differ is where two slices of one length differ.
func differ(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}
