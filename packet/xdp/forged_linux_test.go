package xdp_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/xdp"
)

// The kernel's IP stack drops packets with the host's own addresses as source, but does not see
// those that AF_XDP receives.
func TestXDPTakesNothingUnderTheHostsOwnAddresses(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	var l packet.Link
	testnet.In(t, hosts.Right, func() (err error) {
		l, err = xdp.Listen(netip.MustParseAddr(linktest.RightIPv4), xdp.Options{})
		return err
	})
	defer l.Close()
	f := linktest.NewForger(t, hosts, netip.MustParseAddr(linktest.LeftIPv4))
	f.Send(l.Local(), "ready", nil)
	for linktest.Next(t, l) != "ready" {
	}
	f.Send(l.Local(), "from itself", func(h *encap.Header) { h.Src = l.Local() })
	f.Send(l.Local(), "from a loopback address", func(h *encap.Header) { h.Src = netip.MustParseAddr("127.9.9.9") })
	f.Send(l.Local(), "from all hosts", func(h *encap.Header) { h.Src = netip.MustParseAddr("255.255.255.255") })
	f.Send(l.Local(), "good", nil)
	if got := linktest.Next(t, l); got != "good" {
		t.Errorf("received what was sent %s", got)
	}
	if s := l.(packet.StatsReporter).Stats(); s.RxMalformed != 3 {
		t.Errorf("%+v", s)
	}
}
