package verbstest

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Until waits up to a minute until the condition is() is true. It checks the condition after each
// event of the device. what names the condition in the error.
func (n *Node) Until(what string, is func() bool) {
	n.Helper()
	ctx, cancel := context.WithTimeoutCause(n.Context(), time.Minute, errors.New("a minute has passed"))
	defer cancel()
	for !is() {
		if _, err := n.Device.Event(ctx); err != nil {
			n.Fatalf("waiting for %s: %v; the port is %s, the GIDs are %+v, left out: %v", what, err,
				n.Device.PortAttr().State, n.Device.GIDs(), n.Device.Skipped())
		}
	}
}

// GIDOf returns the index of an address, -1 if the device does not have it.
func (n *Node) GIDOf(addr string) int {
	for _, g := range n.Device.GIDs() {
		if g.Addr == netip.MustParseAddr(addr) {
			return g.Index
		}
	}
	return -1
}

// Has returns a condition for Until: n has the address.
func (n *Node) Has(addr string) func() bool { return func() bool { return n.GIDOf(addr) >= 0 } }

// Lacks returns a condition for Until: n does not have the address.
func (n *Node) Lacks(addr string) func() bool { return func() bool { return n.GIDOf(addr) < 0 } }

// Port returns a condition for Until: n's port is in a state, such as PORT_ACTIVE.
func (n *Node) Port(state string) func() bool {
	return func() bool { return n.Device.PortAttr().State == state }
}

// PostWrite posts a WRITE of n's whole buffer, filled from seed, to the buffer of to.
func (n *Node) PostWrite(to *Node, seed byte) {
	n.Helper()
	for i := range n.Buf {
		n.Buf[i] = seed + byte(i>>8) + byte(i)
	}
	n.Fence()
	n.Post(n.OneSided(verbs.WRWrite, to, len(n.Buf)))
}

// WaitWrite waits for the WRITE that PostWrite posted, and compares the buffers.
func (n *Node) WaitWrite(to *Node) {
	n.Helper()
	n.Wait(1, make([]verbs.WC, 1))
	n.Fence()
	to.Fence()
	if !bytes.Equal(n.Buf, to.Buf) {
		n.Fatal("other bytes arrived")
	}
}
