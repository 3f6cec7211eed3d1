package xdp_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/packet/xdp"
	"github.com/vishvananda/netns"
)

// xdpIn opens an xdp link in a host.
func xdpIn(t testing.TB, ns netns.NsHandle, addr string, opts xdp.Options) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = xdp.Listen(netip.MustParseAddr(addr), opts)
		return err
	})
	return l
}

func TestXDPVeth(t *testing.T) {
	for _, n := range []struct {
		Name     string
		Mtu      int
		Opts     xdp.Options
		WantMost int
		Pairs    []int
	}{
		{"MTU 9000", 9000, xdp.Options{}, 8178, []int{0, 1, 2}},
		{"MTU 1500", 1500, xdp.Options{}, 1500, []int{0}},
		{"MTU 9000, one buffer a frame", 9000, xdp.Options{SingleBuffer: true}, 3314, []int{1}},
		{"MTU 9000, generic", 9000, xdp.Options{Generic: true}, 8178, []int{0}},
	} {
		t.Run(n.Name, func(t *testing.T) {
			hosts := linktest.NewNet(t, n.Mtu, 0)
			for _, p := range n.Pairs {
				pair := linktest.Pairs[p]
				t.Run(pair.Name, func(t *testing.T) {
					linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
						a, b = xdpIn(t, hosts.Left, pair.Left, n.Opts), xdpIn(t, hosts.Right, pair.Right, n.Opts)
						want := n.WantMost
						if strings.Contains(a.Caps().Detail, "frames of at most 3328 bytes") {
							// Kernels before 6.6 have no other frames.
							want = min(want, 3314)
						}
						if got := a.Caps().MTU; got != want {
							t.Errorf("MTU %d, want %d", got, want)
						}
						return a, b
					}, linktest.AtHome(hosts, pair.Left))
				})
			}
		})
	}
}

// TestXDPAndOthers receives trains, which the sending host segments for the XDP program.
func TestXDPAndOthers(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	for _, pair := range linktest.Pairs[:2] {
		t.Run(pair.Name+" from UDP", func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return listenIn(t, hosts.Left, pair.Left, socket.UDPOptions{}),
					xdpIn(t, hosts.Right, pair.Right, xdp.Options{})
			}, linktest.AtHome(hosts, pair.Left))
		})
		t.Run(pair.Name+" from raw", func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return listenRawIn(t, hosts.Left, pair.Left, socket.RawOptions{}),
					xdpIn(t, hosts.Right, pair.Right, xdp.Options{})
			}, linktest.AtHome(hosts, pair.Left))
		})
		t.Run(pair.Name+" to UDP", func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return xdpIn(t, hosts.Left, pair.Left, xdp.Options{}),
					listenIn(t, hosts.Right, pair.Right, socket.UDPOptions{})
			}, linktest.AtHome(hosts, pair.Left), linktest.WithWire(func(t *testing.T) (w linktest.Wire) {
				testnet.In(t, hosts.Right, func() error { w = linktest.Sniff(t, testnet.Interface); return nil })
				return w
			}))
		})
	}
}
