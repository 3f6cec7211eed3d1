// Package exchange sends and receives the small items of fixed size that RDMA test tools exchange
// over TCP before and after their traffic.
//
// The tools read every item with a single read(2) of its full size and fail on less, so an item
// is always written with a single Write, never together with another one.
//
// [WriteItem] and [ReadItem] transfer one item; packages perftest and pingpong implement the
// exchanges. [Peers] checks the GIDs that peers send.
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

// Port is the default TCP port of ibv_*_pingpong and perftest.
const Port = 18515

// Role is the end of the TCP connection. It also determines which end sends first.
type Role uint8

// The two ends: the server listens, the client connects to a given host.
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

// ErrPeerClosed means that the peer closed the connection when the exchange expected another
// item.
var ErrPeerClosed = errors.New("peer closed the connection")

// ItemError is the error of an item of an exchange. Unwrap returns the cause: ErrPeerClosed, a
// net error, or a decode error.
type ItemError struct {
	Item string // such as "version", "key of QP 0"
	Op   string // "send", "receive" or "decode"
	Err  error
}

// Error describes the item, the operation and the cause.
func (e *ItemError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Item, e.Err) }

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }

// WriteItem sends one item with a single write.
func WriteItem(conn net.Conn, item string, b []byte) error {
	if _, err := conn.Write(b); err != nil {
		return &ItemError{item, "send", err}
	}
	return nil
}

// ReadItem fills b with one item. If the connection ends first, even within the item, the cause
// is ErrPeerClosed.
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

// Watch unblocks reads and writes on conn when ctx ends. The returned function stops watching and
// must be called; when it returns, all goroutines of Watch have ended and the connection's
// deadline is no longer changed.
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
