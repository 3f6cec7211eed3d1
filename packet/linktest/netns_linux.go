package linktest

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
)

// The addresses of the two hosts that [NewNet] connects.
const (
	LeftIPv4, RightIPv4   = "198.18.44.1", "198.18.44.2"
	LeftIPv6, RightIPv6   = "fd00:44::1", "fd00:44::2"
	LeftLocal, RightLocal = "fe80::44:1%" + testnet.Interface, "fe80::44:2%" + testnet.Interface
)

// NewNet connects two hosts in network namespaces, which requires root. For segments see
// [testnet.Cable].
func NewNet(t testing.TB, mtu, segments int) *testnet.Hosts {
	t.Helper()
	return testnet.Connect(t, testnet.Cable{
		MTU: mtu, Segments: segments,
		Left:  []string{LeftIPv4 + "/24", LeftIPv6 + "/64", "fe80::44:1/64"},
		Right: []string{RightIPv4 + "/24", RightIPv6 + "/64", "fe80::44:2/64"},
	})
}

// AtHome makes the suite open further sockets in the network namespace of the link. left is the
// address of the link in hosts.Left.
func AtHome(hosts *testnet.Hosts, left string) Option {
	return At(func(t *testing.T, l packet.Link, do func()) {
		ns := hosts.Right
		if l.Local() == netip.MustParseAddr(left) {
			ns = hosts.Left
		}
		testnet.In(t, ns, func() error { do(); return nil })
	})
}

// Pairs lists, for each kind of address, one address of the left and one of the right host.
var Pairs = []struct{ Name, Left, Right string }{
	{"IPv4", LeftIPv4, RightIPv4},
	{"IPv6", LeftIPv6, RightIPv6},
	{"link-local", LeftLocal, RightLocal},
}
