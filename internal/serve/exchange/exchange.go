// Package exchange carries the small fixed-size items that RDMA test tools trade over TCP around their traffic.
//
// The tools read every item with a single read(2) of its full size and give up on less, so an item is always
// written with a single Write, and never together with another one.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Port is the TCP port that ibv_*_pingpong and perftest use when none is given.
const Port = 18515

// Role says which end of the TCP connection this is. In both tools it also decides who speaks first.
type Role uint8

// The two ends: the server listens, the client was given a host.
const (
	Server Role = iota
	Client
)

// String returns "server" or "client".
func (r Role) String() string {
	if r == Client {
		return "client"
	}
	return "server"
}

// ErrPeerClosed reports that the peer closed the connection where the exchange wanted another item.
var ErrPeerClosed = errors.New("peer closed the connection")

// ItemError says which item of an exchange failed. Unwrap gives the cause: ErrPeerClosed, a net error, or a decode error.
type ItemError struct {
	Item string // what was being traded, "version", "key of QP 0"
	Op   string // "send", "receive" or "decode"
	Err  error
}

// Error names the item, the direction and the cause.
func (e *ItemError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Item, e.Err) }

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }

// WriteItem sends one item as one segment.
func WriteItem(conn net.Conn, item string, b []byte) error {
	if _, err := conn.Write(b); err != nil {
		return &ItemError{item, "send", err}
	}
	return nil
}

// ReadItem fills b with one item. A connection that ends first, even in the middle, gives ErrPeerClosed.
func ReadItem(conn net.Conn, item string, b []byte) error {
	n, err := io.ReadFull(conn, b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return &ItemError{item, "receive", ErrPeerClosed}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &ItemError{item, "receive", fmt.Errorf("%w after %d of %d bytes", ErrPeerClosed, n, len(b))}
	}
	return &ItemError{item, "receive", err}
}

// Watch unblocks reads and writes on conn when ctx ends. The returned function stops watching and must be called;
// when it returns, no goroutine of Watch is left and nothing touches the connection's deadline any more.
func Watch(ctx context.Context, conn net.Conn) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}
