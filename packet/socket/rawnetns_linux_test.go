package socket_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// listenRawIn opens a link in a network namespace.
func listenRawIn(t testing.TB, ns netns.NsHandle, addr string, opts socket.RawOptions) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = socket.ListenRaw(netip.MustParseAddr(addr), opts)
		return err
	})
	return l
}

// TestRawVeth tests raw links at both ends, and with udp at one.
func TestRawVeth(t *testing.T) {
	raw := func(opts socket.RawOptions) func(testing.TB, netns.NsHandle, string) packet.Link {
		return func(t testing.TB, ns netns.NsHandle, addr string) packet.Link { return listenRawIn(t, ns, addr, opts) }
	}
	udp := func(t testing.TB, ns netns.NsHandle, addr string) packet.Link {
		return listenIn(t, ns, addr, socket.UDPOptions{})
	}
	whole, lone := raw(socket.RawOptions{}), raw(socket.RawOptions{NoGSO: true})
	for _, n := range []struct {
		Name          string
		Mtu, Segments int
		Left, Right   func(testing.TB, netns.NsHandle, string) packet.Link
		Joined        bool
	}{
		{"MTU 9000", 9000, 0, whole, whole, false},
		{"MTU 1500", 1500, 0, whole, whole, false},
		{"MTU 9000, trains cut up by the sender's kernel", 9000, 1, whole, whole, false},
		{"MTU 9000, no trains", 9000, 0, lone, lone, false},
		{"cut up and joined again", 9000, 1, whole, whole, true},
		{"to udp", 9000, 0, whole, udp, false},
		{"from udp", 9000, 0, udp, whole, false},
	} {
		t.Run(n.Name, func(t *testing.T) {
			hosts := linktest.NewNet(t, n.Mtu, n.Segments)
			if n.Joined {
				joinOnArrival(t, hosts)
			}
			for _, pair := range linktest.Pairs {
				t.Run(pair.Name, func(t *testing.T) {
					linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
						a, b = n.Left(t, hosts.Left, pair.Left), n.Right(t, hosts.Right, pair.Right)
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

// There is no Ethernet on loopback: the UDP socket sends.
func TestRawLoopback(t *testing.T) {
	listen := func(t testing.TB, addr string) packet.Link {
		l, err := socket.ListenRaw(netip.MustParseAddr(addr), socket.RawOptions{})
		if errors.Is(err, unix.EPERM) {
			t.Skip("a packet socket takes CAP_NET_RAW")
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	linktest.Run(t, func(t *testing.T) (a, b packet.Link) {
		return listen(t, "127.48.0.1"), listen(t, "127.48.0.2")
	}, linktest.WithWire(func(t *testing.T) linktest.Wire { return linktest.Sniff(t, "lo") }))
}
