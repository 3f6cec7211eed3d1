package packet_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/vishvananda/netns"
)

// xdpIn opens a link in a host.
func xdpIn(t testing.TB, ns netns.NsHandle, addr string, opts packet.XDPOptions) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = packet.ListenXDP(netip.MustParseAddr(addr), opts)
		return err
	})
	return l
}

func TestXDPVeth(t *testing.T) {
	for _, n := range []struct {
		name     string
		mtu      int
		opts     packet.XDPOptions
		wantMost int
		pairs    []int
	}{
		{"MTU 9000", 9000, packet.XDPOptions{}, 8178, []int{0, 1, 2}},
		{"MTU 1500", 1500, packet.XDPOptions{}, 1500, []int{0}},
		{"MTU 9000, one buffer a frame", 9000, packet.XDPOptions{SingleBuffer: true}, 3314, []int{1}},
		{"MTU 9000, generic", 9000, packet.XDPOptions{Generic: true}, 8178, []int{0}},
	} {
		t.Run(n.name, func(t *testing.T) {
			hosts := newTestNet(t, n.mtu, 0)
			for _, p := range n.pairs {
				pair := pairs[p]
				t.Run(pair.name, func(t *testing.T) {
					linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
						a, b = xdpIn(t, hosts.Left, pair.left, n.opts), xdpIn(t, hosts.Right, pair.right, n.opts)
						want := n.wantMost
						if strings.Contains(a.Caps().Detail, "frames of at most 3328 bytes") {
							// Kernels before 6.6 have no others.
							want = min(want, 3314)
						}
						if got := a.Caps().MTU; got != want {
							t.Errorf("MTU %d, want %d", got, want)
						}
						return a, b
					}, atHome(hosts, pair.left))
				})
			}
		})
	}
}

// TestXDPAndOthers has trains coming, which the sending host cuts up for the program.
func TestXDPAndOthers(t *testing.T) {
	hosts := newTestNet(t, 9000, 0)
	for _, pair := range pairs[:2] {
		t.Run(pair.name+" from UDP", func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return listenIn(t, hosts.Left, pair.left, packet.UDPOptions{}), xdpIn(t, hosts.Right, pair.right, packet.XDPOptions{})
			}, atHome(hosts, pair.left))
		})
		t.Run(pair.name+" from raw", func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return listenRawIn(t, hosts.Left, pair.left, packet.RawOptions{}), xdpIn(t, hosts.Right, pair.right, packet.XDPOptions{})
			}, atHome(hosts, pair.left))
		})
		t.Run(pair.name+" to UDP", func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return xdpIn(t, hosts.Left, pair.left, packet.XDPOptions{}), listenIn(t, hosts.Right, pair.right, packet.UDPOptions{})
			}, atHome(hosts, pair.left), linktest.WithWire(func(t *testing.T) (w linktest.Wire) {
				testnet.In(t, hosts.Right, func() error { w = linktest.Sniff(t, testnet.Interface); return nil })
				return w
			}))
		})
	}
}
