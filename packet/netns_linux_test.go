package packet_test

import (
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
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
