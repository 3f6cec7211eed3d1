package testnet

import (
	"context"
	"net"
	"sync"
)

// Listener is one in memory, whose connections Dial makes. It needs no root.
type Listener struct {
	// Gone is what Dial returns when the listener is closed; nil stands for net.ErrClosed.
	Gone error

	calls chan net.Conn
	over  chan struct{}
	close sync.Once
}

// Listen makes a listener.
func Listen() *Listener {
	return &Listener{calls: make(chan net.Conn), over: make(chan struct{})}
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// Close ends every Accept and Dial.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.over) })
	return nil
}

// Closed is closed with the listener.
func (l *Listener) Closed() <-chan struct{} { return l.over }

// Addr is that of a Unix socket "memory".
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// Give hands a connection to whoever accepts.
func (l *Listener) Give(c net.Conn) { l.calls <- c }

// Dial connects, as soon as somebody accepts.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.calls <- b:
		return a, nil
	case <-l.over:
		if l.Gone != nil {
			return nil, l.Gone
		}
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
