package socket_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/vishvananda/netns"
)

func listen(t testing.TB, addr string, opts socket.UDPOptions) packet.Link {
	t.Helper()
	l, err := socket.ListenUDP(netip.MustParseAddr(addr), opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// listenIn opens a link in a network namespace.
func listenIn(t testing.TB, ns netns.NsHandle, addr string, opts socket.UDPOptions) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = socket.ListenUDP(netip.MustParseAddr(addr), opts)
		return err
	})
	return l
}

// offloads are the option sets of a link; a kernel or peer may lack some offloads.
var offloads = []struct {
	Name string
	Opts socket.UDPOptions
}{
	{"offloads", socket.UDPOptions{}},
	{"no GSO", socket.UDPOptions{NoGSO: true}},
	{"no GRO", socket.UDPOptions{NoGRO: true}},
	{"no offload", socket.UDPOptions{NoGSO: true, NoGRO: true}},
}

func TestUDPLoopback(t *testing.T) {
	lo := linktest.WithWire(func(t *testing.T) linktest.Wire { return linktest.Sniff(t, "lo") })
	for _, o := range offloads {
		t.Run(o.Name, func(t *testing.T) {
			linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
				return listen(t, "127.44.0.1", o.Opts), listen(t, "127.44.0.2", o.Opts)
			}, lo)
		})
	}
	t.Run("fault", func(t *testing.T) {
		linktest.Run(t, linktest.Wrapped(func(t *testing.T) (a, b packet.Link) {
			return listen(t, "127.44.0.3", socket.UDPOptions{}), listen(t, "127.44.0.4", socket.UDPOptions{})
		}, func(l packet.Link) packet.Link {
			return fault.NewBoth(l, fault.Config{Seed: 1}, fault.Config{Seed: 2})
		}), lo)
	})
}

func TestUDPVeth(t *testing.T) {
	for _, n := range []struct {
		Name          string
		Mtu, Segments int
	}{
		{"MTU 9000", 9000, 0},
		{"MTU 1500", 1500, 0},
		{"MTU 9000, trains cut up by the sender's kernel", 9000, 1},
	} {
		t.Run(n.Name, func(t *testing.T) {
			hosts := linktest.NewNet(t, n.Mtu, n.Segments)
			for _, pair := range linktest.Pairs {
				t.Run(pair.Name, func(t *testing.T) {
					linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
						a = listenIn(t, hosts.Left, pair.Left, socket.UDPOptions{})
						b = listenIn(t, hosts.Right, pair.Right, socket.UDPOptions{})
						if got := a.Caps().MTU; got != n.Mtu {
							t.Errorf("MTU %d, want that of the device, %d", got, n.Mtu)
						}
						return a, b
					}, linktest.WithWire(func(t *testing.T) (w linktest.Wire) {
						testnet.In(t, hosts.Left, func() error { w = linktest.Sniff(t, "veth0"); return nil })
						return w
					}), linktest.AtHome(hosts, pair.Left))
				})
			}
		})
	}
}
