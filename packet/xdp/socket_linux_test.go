package xdp_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/vishvananda/netns"
)

// listenIn opens a UDP link in a network namespace.
func listenIn(t testing.TB, ns netns.NsHandle, addr string, opts socket.UDPOptions) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = socket.ListenUDP(netip.MustParseAddr(addr), opts)
		return err
	})
	return l
}

// listenRawIn opens a raw link in a network namespace.
func listenRawIn(t testing.TB, ns netns.NsHandle, addr string, opts socket.RawOptions) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = socket.ListenRaw(netip.MustParseAddr(addr), opts)
		return err
	})
	return l
}
