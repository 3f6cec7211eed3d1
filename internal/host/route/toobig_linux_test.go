package route

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
)

// Any host can report a path MTU by ICMP, so only the routing table counts.
func TestTheMTUOfARouteIsNotWhatICMPSays(t *testing.T) {
	h := newHosts(t)
	right := veth(t, h.Right)
	for _, a := range []string{"198.18.50.1/32", "fd00:50::1/128"} {
		addAddress(t, h.Right, right, a)
	}
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{Gw: net.ParseIP(right4), MTU: 1400})
	addRoute(t, h.Left, "fd00:50::/64", netlink.Route{Gw: net.ParseIP(right6), MTU: 1400})
	addr := netip.MustParseAddr
	for _, c := range []struct {
		name, src, dst string
	}{
		{"IPv4 on the link", left4, right4}, {"IPv6 on the link", left6, right6},
		{"IPv4, MTU of the route", left4, "198.18.50.1"}, {"IPv6, MTU of the route", left6, "fd00:50::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l net.PacketConn
			testnet.In(t, h.Left, func() (err error) {
				l, err = net.ListenPacket("udp", net.JoinHostPort(c.src, "4791"))
				return err
			})
			defer l.Close()
			find := func() (r Route) {
				testnet.In(t, h.Left, func() (err error) {
					r, err = Find(addr(c.dst), Options{})
					return err
				})
				return r
			}
			before := find()
			testnet.TooBig(t, h.Right, h.Left, addr(c.src), addr(c.dst), 1300)
			if after := find(); after.MTU != before.MTU || after.MTU <= 1300 {
				t.Errorf("%+v, before %+v", after, before)
			}
		})
	}
}
