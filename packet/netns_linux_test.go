package packet_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
)

// The two hosts of these tests and their addresses.
const (
	leftIPv4, rightIPv4   = "198.18.44.1", "198.18.44.2"
	leftIPv6, rightIPv6   = "fd00:44::1", "fd00:44::2"
	leftLocal, rightLocal = "fe80::44:1%" + testnet.Interface, "fe80::44:2%" + testnet.Interface
)

// newTestNet connects the two hosts; for segments see [testnet.Cable].
func newTestNet(t testing.TB, mtu, segments int) *testnet.Hosts {
	t.Helper()
	return testnet.Connect(t, testnet.Cable{
		MTU: mtu, Segments: segments,
		Left:  []string{leftIPv4 + "/24", leftIPv6 + "/64", "fe80::44:1/64"},
		Right: []string{rightIPv4 + "/24", rightIPv6 + "/64", "fe80::44:2/64"},
	})
}

// atHome opens further sockets in the namespace of the link.
func atHome(hosts *testnet.Hosts, left string) linktest.Option {
	return linktest.At(func(t *testing.T, l packet.Link, do func()) {
		ns := hosts.Right
		if l.Local() == netip.MustParseAddr(left) {
			ns = hosts.Left
		}
		testnet.In(t, ns, func() error { do(); return nil })
	})
}

var pairs = []struct{ name, left, right string }{
	{"IPv4", leftIPv4, rightIPv4},
	{"IPv6", leftIPv6, rightIPv6},
	{"link-local", leftLocal, rightLocal},
}
