package testnet

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener in memory, to which Dial connects. It needs no privileges.
type Listener struct {
	// Gone is the error of Dial after Close; nil: net.ErrClosed.
	Gone error

	calls chan net.Conn
	over  chan struct{}
	close sync.Once
}

// Listen returns a listener.
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

// Close ends every running and later Accept and Dial with an error.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.over) })
	return nil
}

// Closed returns a channel that is closed with the listener.
func (l *Listener) Closed() <-chan struct{} { return l.over }

// Addr returns the address of a Unix socket "memory".
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// Give waits for a caller of Accept and passes it the connection c.
func (l *Listener) Give(c net.Conn) { l.calls <- c }

// Dial waits for a caller of Accept and returns a connection to it.
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
