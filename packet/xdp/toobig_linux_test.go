package xdp_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/packet/xdp"
	"github.com/vishvananda/netns"
)

// Any host can claim by ICMP that a path has a small MTU, and the kernel believes it for ten
// minutes.
func TestAForgedICMPMessageShortensNoFrames(t *testing.T) {
	for _, kind := range []struct {
		Name string
		Open func(testing.TB, netns.NsHandle, string) packet.Link
	}{
		{"udp", func(t testing.TB, ns netns.NsHandle, addr string) packet.Link {
			return listenIn(t, ns, addr, socket.UDPOptions{})
		}},
		{"raw", func(t testing.TB, ns netns.NsHandle, addr string) packet.Link {
			return listenRawIn(t, ns, addr, socket.RawOptions{})
		}},
		{"xdp", func(t testing.TB, ns netns.NsHandle, addr string) packet.Link {
			return xdpIn(t.(*testing.T), ns, addr, xdp.Options{})
		}},
	} {
		for _, p := range linktest.Pairs[:2] {
			t.Run(kind.Name+"/"+p.Name, func(t *testing.T) {
				hosts := linktest.NewNet(t, 9000, 0)
				b := listenIn(t, hosts.Right, p.Right, socket.UDPOptions{})
				defer b.Close()
				addr, mtu := netip.MustParseAddr, 552
				if addr(p.Left).Is6() {
					mtu = 1280 // minimum of every path (RFC 8200)
				}
				// One link looked up its next hops before, the other does it afterwards.
				before := kind.Open(t, hosts.Left, p.Left)
				linktest.Exchange(t, before, b, 3000)
				testnet.TooBig(t, hosts.Right, hosts.Left, addr(p.Left), addr(p.Right), mtu)
				linktest.Exchange(t, before, b, 3000)
				linktest.Exchange(t, before, b, 3000)
				before.Close()
				after := kind.Open(t, hosts.Left, p.Left)
				defer after.Close()
				for range 3 {
					linktest.Exchange(t, after, b, 3000)
				}
			})
		}
	}
}
