package quota

import (
	"net/netip"
	"testing"
)

func TestTheNetworkOfAnAddressIsItsSlash64OnItsLink(t *testing.T) {
	for addr, want := range map[string]string{
		"2001:db8::1":        "2001:db8::/64",
		"2001:db8:0:0:9::1":  "2001:db8::/64",
		"2001:db8:0:1::1":    "2001:db8:0:1::/64",
		"fe80::1%eth0":       "fe80::/64%eth0",
		"fe80::1:2:3:4%eth0": "fe80::/64%eth0",
		"fe80::1%eth1":       "fe80::/64%eth1",
		"192.0.2.1":          "",
		"::ffff:192.0.2.1":   "",
		"127.0.0.1":          "",
	} {
		n := NetworkOf(netip.MustParseAddr(addr))
		if n.IsValid() != (want != "") || n.IsValid() && n.String() != want {
			t.Errorf("%s is of the network %v, want %q", addr, n, want)
		}
	}
	if NetworkOf(netip.MustParseAddr("fe80::1%eth0")) == NetworkOf(netip.MustParseAddr("fe80::1%eth1")) {
		t.Error("two links are one network")
	}
}
