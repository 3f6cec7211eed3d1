package exchange

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestAPeerNamesTheAddressOfItsTCPConnection(t *testing.T) {
	prefixes := func(all ...string) (p []netip.Prefix) {
		for _, s := range all {
			p = append(p, netip.MustParsePrefix(s))
		}
		return p
	}
	var own []HostAddr
	for _, p := range prefixes("127.0.0.1/8", "::1/128", "192.0.2.1/24", "198.51.100.1/31", "2001:db8::1/64") {
		own = append(own, HostAddr{p.Addr(), p.Bits()})
	}
	own = append(own, HostAddr{netip.MustParseAddr("fe80::1%eth0"), 64},
		HostAddr{netip.MustParseAddr("fe80::11%eth1"), 64})
	everything := prefixes("0.0.0.0/0", "::/0")
	for _, c := range []struct {
		tcp, gid string
		zone     string // zone of the address that sends to gid
		foreign  []netip.Prefix
		never    string
		refused  bool
	}{
		{tcp: "192.0.2.2", gid: "192.0.2.2"},
		{tcp: "::ffff:192.0.2.2", gid: "::ffff:192.0.2.2"},
		{tcp: "2001:db8::2", gid: "2001:db8::2"},
		{tcp: "fe80::2%eth0", gid: "fe80::2", zone: "eth0"},
		{tcp: "fe80::2%eth1", gid: "fe80::2", zone: "eth1"},
		{tcp: "198.51.100.0", gid: "198.51.100.0"}, // of a /31, which has no broadcast address
		{tcp: "192.0.2.2", gid: "192.0.2.3", refused: true},
		{tcp: "192.0.2.2", gid: "2001:db8::2", refused: true},
		{tcp: "fe80::2%eth0", gid: "fe80::3", zone: "eth0", refused: true},
		// The same address on another link is another host.
		{tcp: "fe80::2%eth1", gid: "fe80::2", zone: "eth0", refused: true},
		{tcp: "fe80::2%eth1", gid: "fe80::2", refused: true},
		{tcp: "fe80::2%eth1", gid: "fe80::2", zone: "eth0", foreign: prefixes("fe80::/10")},
		{tcp: "fe80::1%eth1", gid: "fe80::1", zone: "eth1"},
		{tcp: "fe80::1%eth1", gid: "2001:db8::1", foreign: everything, never: "an address of this host"},
		{tcp: "fe80::1%eth1", gid: "::1", foreign: everything, never: "a loopback address"},
		{tcp: "fe80::1%eth1", gid: "fe80::1", zone: "eth0", foreign: everything, never: "an address of this host"},
		{tcp: "fe80::2%eth0", gid: "fe80::1", zone: "eth0", foreign: everything, never: "an address of this host"},
		{tcp: "fe80::2%eth0", gid: "fe80::1", zone: "eth1", foreign: everything},
		{tcp: "192.0.2.2", gid: "192.0.2.2", zone: "eth0"}, // which needs no zone
		{tcp: "192.0.2.2", gid: "2001:db8::2", foreign: prefixes("2001:db8::/64")},
		{tcp: "192.0.2.2", gid: "203.0.113.9", foreign: prefixes("203.0.113.0/24")},
		{tcp: "192.0.2.2", gid: "203.0.114.9", foreign: prefixes("203.0.113.0/24"), refused: true},
		// Both ends on this host.
		{tcp: "127.0.0.1", gid: "127.0.0.2"}, {tcp: "127.0.0.1", gid: "192.0.2.1"},
		{tcp: "192.0.2.1", gid: "2001:db8::1"}, {tcp: "::1", gid: "127.0.0.9"},
		{tcp: "127.0.0.1", gid: "192.0.2.2", refused: true},
		{tcp: "fe80::1%eth0", gid: "2001:db8::1"}, {tcp: "fe80::1%eth0", gid: "fe80::1", zone: "eth0"},
		{tcp: "::1", gid: "fe80::11", zone: "eth1"},
		{tcp: "::1", gid: "fe80::11", zone: "eth0", refused: true},
		// GIDs that no peer may use, regardless of the permitted networks.
		{tcp: "192.0.2.2", gid: "0.0.0.0", foreign: everything, never: "no address"},
		{tcp: "192.0.2.2", gid: "::", foreign: everything, never: "no address"},
		{tcp: "192.0.2.2", gid: "224.0.0.1", foreign: everything, never: "a multicast address"},
		{tcp: "192.0.2.2", gid: "ff02::1", foreign: everything, never: "a multicast address"},
		{tcp: "192.0.2.2", gid: "255.255.255.255", foreign: everything, never: "a broadcast address"},
		{tcp: "192.0.2.2", gid: "192.0.2.255", foreign: everything, never: "a broadcast address"},
		{tcp: "192.0.2.0", gid: "192.0.2.0"}, // a host, as the handshake proves
		{tcp: "192.0.2.2", gid: "192.0.2.0", foreign: everything, never: "a broadcast address"},
		{tcp: "192.0.2.2", gid: "127.255.255.255", foreign: everything, never: "a broadcast address"},
		{tcp: "192.0.2.2", gid: "127.0.0.1", foreign: everything, never: "a loopback address"},
		{tcp: "192.0.2.2", gid: "::1", foreign: everything, never: "a loopback address"},
		{tcp: "192.0.2.2", gid: "192.0.2.1", foreign: everything, never: "an address of this host"},
		{tcp: "192.0.2.2", gid: "2001:db8::1", foreign: everything, never: "an address of this host"},
	} {
		p := Peers{Foreign: c.foreign, Own: own}
		err := p.Check(netip.MustParseAddr(c.tcp), netip.MustParseAddr(c.gid).As16(), c.zone)
		var refused *PeerError
		if errors.As(err, &refused) != (c.refused || c.never != "") || refused != nil && refused.Never != c.never {
			t.Errorf("GID %s of %s, sent to from zone %q, with %v allowed: %v", c.gid, c.tcp, c.zone, c.foreign, err)
		}
	}
}

// A connection that is not TCP has not proven an address.
func TestWithoutTCPNothingIsProven(t *testing.T) {
	a, _ := net.Pipe()
	p := Peers{}
	for _, gid := range []string{"192.0.2.1", "::", "127.0.0.1"} {
		if p.Check(Address(a.RemoteAddr()), netip.MustParseAddr(gid).As16(), "") == nil {
			t.Errorf("%s is taken", gid)
		}
	}
}

func TestHostAddrsAreThoseOfTheInterfaces(t *testing.T) {
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Skip(err)
	}
	for _, i := range interfaces {
		want, err := i.Addrs()
		if err != nil {
			t.Skip(err)
		}
		got := HostAddrs(i.Name)
		for _, a := range want {
			n := a.(*net.IPNet)
			addr, _ := netip.AddrFromSlice(n.IP)
			if addr = addr.Unmap(); addr.Is6() && addr.IsLinkLocalUnicast() {
				addr = addr.WithZone(i.Name)
			}
			bits, _ := n.Mask.Size()
			if !slices.Contains(got, HostAddr{addr, bits}) {
				t.Errorf("%v of %s is missing in %v", a, i.Name, got)
			}
		}
		for _, a := range got {
			if a.Addr.Is6() && a.Addr.IsLinkLocalUnicast() && a.Addr.Zone() != i.Name {
				t.Errorf("%v is an address of another link than %s", a, i.Name)
			}
		}
	}
}

func TestAnAddressKeepsItsZone(t *testing.T) {
	for text, want := range map[string]string{
		"[fe80::2%eth0]:1": "fe80::2%eth0", "[::ffff:192.0.2.1]:1": "192.0.2.1", "[2001:db8::1]:1": "2001:db8::1",
	} {
		if got := Address(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))); got.String() != want {
			t.Errorf("the address of %s is %v, want %s", text, got, want)
		}
	}
	got := Zones(netip.MustParseAddr("fe80::2%eth0"), netip.MustParseAddr("192.0.2.1"),
		netip.MustParseAddr("fe80::3%eth1"), netip.MustParseAddr("fe80::4%eth0"))
	if !slices.Equal(got, []string{"eth0", "eth1"}) {
		t.Errorf("zones %q", got)
	}
}
