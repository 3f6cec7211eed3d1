package verbstest

import (
	"context"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

// ListenAt opens a listener of n at the port.
func (n *Node) ListenAt(ps verbs.PortSpace, port uint16) *verbs.Listener {
	n.Helper()
	l, err := n.Device.Listen(ps, netip.AddrPortFrom(netip.Addr{}, port), 0)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() {
		if err := l.Close(); err != nil {
			n.Error(err)
		}
	})
	return l
}

// At returns a port at n's first address.
func (n *Node) At(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(n.Device.GIDs()[0].Addr, port)
}

// Dialed holds the results of [Node.Dial].
type Dialed struct {
	Conn *verbs.Conn
	Err  error
}

// Dial connects n's queue pair in a goroutine of its own, and returns the channel for the results.
func (n *Node) Dial(ctx context.Context, to netip.AddrPort, p verbs.ConnParam) <-chan Dialed {
	out := make(chan Dialed, 1)
	go func() {
		c, err := n.Device.Dial(ctx, to, n.QP, p)
		out <- Dialed{c, err}
	}()
	return out
}

// Next returns the next request of a listener.
func (n *Node) Next(l *verbs.Listener) *verbs.ConnRequest {
	n.Helper()
	r, err := l.Next(n.Context())
	if err != nil {
		n.Fatal(err)
	}
	return r
}

// ConnectByCM connects the queue pairs of two nodes through rdma_cm; a dials.
func ConnectByCM(t testing.TB, a, b *Node) (atA, atB *verbs.Conn) {
	t.Helper()
	l := b.ListenAt(verbs.PortSpaceTCP, 0)
	out := a.Dial(t.Context(), b.At(l.Addr().Port()), verbs.DefaultConnParam())
	atB, err := b.Next(l).Accept(t.Context(), b.QP, verbs.DefaultConnParam())
	if err != nil {
		t.Fatal(err)
	}
	d := <-out
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	return d.Conn, atB
}

// DialNewQP connects a new queue pair of n in a goroutine of its own, and returns the channel for
// the error.
func (n *Node) DialNewQP(t *testing.T, to netip.AddrPort) <-chan error {
	q, _ := n.NewQP()
	out := make(chan error, 1)
	go func() {
		_, err := n.Device.Dial(t.Context(), to, q, verbs.DefaultConnParam())
		out <- err
	}()
	return out
}
