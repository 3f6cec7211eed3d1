package packet_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/packet"
)

var byText = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// loopback returns the name of the loopback interface.
func loopback(t *testing.T) string {
	ifs, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, ifc := range ifs {
		if ifc.Flags&net.FlagLoopback != 0 && ifc.Flags&net.FlagUp != 0 {
			return ifc.Name
		}
	}
	t.Skip("the host has no loopback interface")
	return ""
}

func TestHostAddrsOfAnAddress(t *testing.T) {
	lo := loopback(t)
	for _, text := range []string{"127.0.0.1", "::ffff:127.0.0.1", "127.44.77.1"} {
		addrs, mtu, ifname, err := packet.HostAddrs(text)
		if err != nil {
			t.Fatal(err)
		}
		want := []netip.Addr{netip.MustParseAddr(text).Unmap()}
		if diff := cmp.Diff(want, addrs, byText); diff != "" || ifname != lo || mtu < 1280 {
			t.Errorf("%s: %v, MTU %d, interface %s", text, addrs, mtu, ifname)
		}
	}
}

func TestHostAddrsOfAnInterface(t *testing.T) {
	lo := loopback(t)
	addrs, mtu, ifname, err := packet.HostAddrs(lo)
	if err != nil {
		t.Fatal(err)
	}
	if len(addrs) == 0 || mtu < 1280 || ifname != lo {
		t.Errorf("%v, MTU %d, interface %s", addrs, mtu, ifname)
	}
}

func TestHostAddrsRefuses(t *testing.T) {
	lo := loopback(t)
	for _, test := range []struct {
		Rule, Device string
		Want         []string
	}{
		{"an unknown interface", "nosuch0", []string{`"nosuch0"`, lo}},
		{"an address of another host", "192.0.2.1", []string{"192.0.2.1 is not an address of this host", "127.0.0.1"}},
		{"no name at all", "", []string{`no network interface ""`, lo}},
	} {
		_, _, _, err := packet.HostAddrs(test.Device)
		if err == nil {
			t.Errorf("%s: no error", test.Rule)
			continue
		}
		for _, want := range test.Want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not name %s: %v", test.Rule, want, err)
			}
		}
	}
}
