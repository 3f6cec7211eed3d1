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
	// Count is the number of pings to send; 0 means unlimited.
	Count uint64
	// Validate makes Run compare every byte that returns.
	Validate bool
	// KeepAlive is the interval in which a silent server is checked; 0 disables it. See
	// [verbs.Conn.KeepAlive].
	KeepAlive time.Duration
	// Ping, if not nil, is called with the text that returned. The function must not retain the
	// text.
	Ping func(text []byte)
}

// ErrMismatch means that a ping returned with other bytes.
var ErrMismatch = errors.New("ping data mismatch")

// ErrLeft means that the server ended the connection before the last ping.
var ErrLeft = errors.New("server disconnected before the last ping")

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
		// Waiting for the message orders the device's writes before the reads here.
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

// ping sends one ping and waits until it returns.
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

// differ returns the first index at which two slices of the same length differ.
func differ(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}
