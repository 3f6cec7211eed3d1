package route

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var compareAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// The kernel has no entry for the neighbour: each destination is another one.
func TestResolveFindsRouteAndNeighbour(t *testing.T) {
	h := newHosts(t)
	left, right := veth(t, h.Left), veth(t, h.Right)
	index, mac := left.Attrs().Index, right.Attrs().HardwareAddr
	for _, a := range []string{"198.18.46.20/24", "10.9.9.9/32", "fd00:46::20/64", "fd09::9/128"} {
		addAddress(t, h.Right, right, a)
	}
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{Gw: net.ParseIP("198.18.46.20")})
	addRoute(t, h.Left, "fd00:50::/64", netlink.Route{Gw: net.ParseIP(rightLL), LinkIndex: index})
	addRoute(t, h.Left, "fd00:51::/64", netlink.Route{Gw: net.ParseIP("fd00:46::20"), MTU: 1300, Hoplimit: 9})
	addRoute(t, h.Left, "198.18.51.0/24", netlink.Route{
		Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: net.ParseIP(rightLL)}, LinkIndex: index,
		MTU: 1400, Hoplimit: 7,
	})
	// Gateways that are on the link by their routes only, not by their addresses.
	addRoute(t, h.Left, "198.18.52.0/24",
		netlink.Route{Gw: net.ParseIP("10.9.9.9"), LinkIndex: index, Flags: int(netlink.FLAG_ONLINK)})
	addRoute(t, h.Left, "fd00:52::/64",
		netlink.Route{Gw: net.ParseIP("fd09::9"), LinkIndex: index, Flags: int(netlink.FLAG_ONLINK)})

	addr := netip.MustParseAddr
	for _, c := range []struct {
		name, dst string
		o         Options
		want      Route // without the fields that are common to all
	}{
		{"IPv4 on the link", right4, Options{}, Route{Dst: addr(right4), Src: addr(left4)}},
		{"IPv6 on the link", right6, Options{}, Route{Dst: addr(right6), Src: addr(left6)}},
		{"link-local", rightLL + scope, Options{}, Route{Dst: addr(rightLL + scope), Src: addr(leftLL + scope)}},
		{"link-local on the named interface", rightLL, Options{Interface: testnet.Interface},
			Route{Dst: addr(rightLL + scope), Src: addr(leftLL + scope)}},
		{"link-local on the interface of the source", rightLL, Options{Sources: addrs(leftLL+scope, left4)},
			Route{Dst: addr(rightLL + scope), Src: addr(leftLL + scope)}},
		{"IPv4-mapped", "::ffff:" + right4, Options{}, Route{Dst: addr(right4), Src: addr(left4)}},
		{"IPv6 with a zone", right6 + scope, Options{}, Route{Dst: addr(right6), Src: addr(left6)}},
		{"IPv4 behind a gateway", "198.18.50.1", Options{},
			Route{Dst: addr("198.18.50.1"), Src: addr(left4), Gateway: addr("198.18.46.20")}},
		{"IPv6 behind a link-local gateway", "fd00:50::1", Options{},
			Route{Dst: addr("fd00:50::1"), Src: addr(left6), Gateway: addr(rightLL + scope)}},
		{"IPv6 behind a gateway, MTU and hop limit of the route", "fd00:51::1", Options{}, Route{
			Dst: addr("fd00:51::1"), Src: addr(left6), Gateway: addr("fd00:46::20"), MTU: 1300, HopLimit: 9}},
		{"IPv4 behind an IPv6 gateway, MTU and hop limit of the route", "198.18.51.1", Options{}, Route{
			Dst: addr("198.18.51.1"), Src: addr(left4), Gateway: addr(rightLL + scope), MTU: 1400, HopLimit: 7}},
		{"IPv4 gateway without a route of its own", "198.18.52.1", Options{},
			Route{Dst: addr("198.18.52.1"), Src: addr(left4), Gateway: addr("10.9.9.9")}},
		{"IPv6 gateway without a route of its own", "fd00:52::1", Options{},
			Route{Dst: addr("fd00:52::1"), Src: addr(left6), Gateway: addr("fd09::9")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Interface, c.want.Index, c.want.MAC = testnet.Interface, index, mac
			if c.want.MTU == 0 {
				c.want.MTU, c.want.HopLimit = mtu, 64
			}
			r, err := resolve(t, h.Left, c.dst, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r, compareAddr); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("link-local with the index for a zone", func(t *testing.T) {
		r, err := resolve(t, h.Left, rightLL+"%"+strconv.Itoa(index), Options{})
		if err != nil || r.Dst != addr(rightLL+scope) || r.Src != addr(leftLL+scope) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestHopLimitAndMTUAreThoseOfTheHost(t *testing.T) {
	h := newHosts(t)
	setSysctl(t, h.Left, "net/ipv4/ip_default_ttl", 99)
	setSysctl(t, h.Left, "net/ipv6/conf/"+testnet.Interface+"/hop_limit", 98)
	setSysctl(t, h.Left, "net/ipv6/conf/"+testnet.Interface+"/mtu", 1400)
	for _, c := range []struct {
		dst      string
		hopLimit uint8
		mtu      int
	}{{right4, 99, mtu}, {right6, 98, 1400}} {
		r, err := resolve(t, h.Left, c.dst, Options{})
		if err != nil || r.HopLimit != c.hopLimit || r.MTU != c.mtu {
			t.Errorf("%s: hop limit %d, MTU %d, error %v; want %d, %d",
				c.dst, r.HopLimit, r.MTU, err, c.hopLimit, c.mtu)
		}
	}
}

func TestEachGatewayOfSeveralIsFound(t *testing.T) {
	h := newHosts(t)
	right := veth(t, h.Right)
	var hops []*netlink.NexthopInfo
	for _, gw := range []string{"198.18.46.21", "198.18.46.22", "198.18.46.23"} {
		addAddress(t, h.Right, right, gw+"/24")
		hops = append(hops, &netlink.NexthopInfo{Gw: net.ParseIP(gw)})
	}
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{MultiPath: hops})
	used := map[netip.Addr]bool{}
	for dst := netip.MustParseAddr("198.18.50.1"); len(used) < len(hops) && dst.As4()[3] < 255; dst = dst.Next() {
		r, err := resolve(t, h.Left, dst.String(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		used[r.Gateway] = true
	}
	if len(used) != len(hops) {
		t.Errorf("gateways %v, want %d", used, len(hops))
	}
}

func TestNoWay(t *testing.T) {
	h := newHosts(t)
	for _, r := range []struct {
		prefix string
		typ    int
	}{
		{"198.18.50.0/24", unix.RTN_BLACKHOLE}, {"fd00:50::/64", unix.RTN_BLACKHOLE},
		{"198.18.51.0/24", unix.RTN_PROHIBIT}, {"fd00:51::/64", unix.RTN_PROHIBIT},
		{"198.18.52.0/24", unix.RTN_UNREACHABLE}, {"fd00:52::/64", unix.RTN_UNREACHABLE},
	} {
		addRoute(t, h.Left, r.prefix, netlink.Route{Type: r.typ})
	}
	own := addrs(left4, left6, leftLL+scope)
	for _, c := range []struct {
		dst   string
		o     Options
		kind  Kind
		errno error
		text  string
	}{
		{"203.0.113.1", Options{}, NoRoute, syscall.ENETUNREACH,
			"no route to 203.0.113.1: add one, or a default gateway"},
		{"2001:db8::1", Options{}, NoRoute, syscall.ENETUNREACH,
			"no route to 2001:db8::1: add one, or a default gateway"},
		{"2001:db8::1", Options{Interface: testnet.Interface}, NoRoute, syscall.ENETUNREACH,
			"no route to 2001:db8::1 by veth0: add one, or a default gateway"},
		{"203.0.113.1", Options{Sources: own}, NoRoute, syscall.ENETUNREACH,
			"no route to 203.0.113.1: add one, or a default gateway"},
		{"198.18.50.1", Options{}, Blackhole, syscall.EINVAL,
			"198.18.50.1 is unreachable: its route is of type blackhole: delete it (ip route) or add a narrower one"},
		{"fd00:50::1", Options{}, Blackhole, syscall.EINVAL,
			"fd00:50::1 is unreachable: its route is of type blackhole: delete it (ip route) or add a narrower one"},
		{"198.18.51.1", Options{Sources: own}, Prohibit, syscall.EACCES,
			"198.18.51.1 is unreachable: its route is of type prohibit: delete it (ip route) or add a narrower one"},
		{"fd00:51::1", Options{}, Prohibit, syscall.EACCES,
			"fd00:51::1 is unreachable: its route is of type prohibit: delete it (ip route) or add a narrower one"},
		{"198.18.52.1", Options{}, Unreachable, syscall.EHOSTUNREACH,
			"198.18.52.1 is unreachable: its route is of type unreachable: delete it (ip route) or add a narrower one"},
		{"fd00:52::1", Options{Sources: own}, Unreachable, syscall.EHOSTUNREACH,
			"fd00:52::1 is unreachable: its route is of type unreachable: delete it (ip route) or add a narrower one"},
		{"198.18.46.255", Options{Sources: own}, Broadcast, nil, "198.18.46.255 is a broadcast address: name one host"},
	} {
		r, err := resolve(t, h.Left, c.dst, c.o)
		var u *UnreachableError
		if !errors.As(err, &u) || u.Kind != c.kind || err.Error() != c.text {
			t.Errorf("%s, %+v: %+v, error %v; want %q", c.dst, c.o, r, err, c.text)
		} else if c.errno != nil && !errors.Is(err, c.errno) {
			t.Errorf("%s: %#v is not %v", c.dst, u.Err, c.errno)
		}
	}
}

func TestTheNamedInterfaceIsTaken(t *testing.T) {
	h := newHosts(t)
	other := addOther(t, h.Left)
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{LinkIndex: other.Attrs().Index})
	addRoute(t, h.Left, "fd00:50::/64", netlink.Route{LinkIndex: other.Attrs().Index})
	addAddress(t, h.Right, veth(t, h.Right), "198.18.50.1/32")
	// Without a route through it, IPv4 assumes that the destination is on its link.
	for _, o := range []Options{{Interface: testnet.Interface}, {Interface: testnet.Interface, Sources: addrs(left4)}} {
		r, err := resolve(t, h.Left, "198.18.50.1", o)
		if err != nil || r.Interface != testnet.Interface || r.MAC == nil || r.Src.String() != left4 {
			t.Errorf("%+v: %+v, error %v", o, r, err)
		}
	}
	r, err := resolve(t, h.Left, "fd00:50::1", Options{Interface: testnet.Interface, Sources: addrs(left6)})
	if want := "no route to fd00:50::1 by veth0: add one, or a default gateway"; err == nil || err.Error() != want {
		t.Errorf("%+v, error %v; want %s", r, err, want)
	}
}

func TestInterfacesThatAreDown(t *testing.T) {
	h := newHosts(t)
	testnet.In(t, h.Left, func() error { return netlink.LinkSetDown(veth(t, h.Left)) })
	for _, c := range []struct {
		dst  string
		o    Options
		want error
	}{
		{right4, Options{}, syscall.ENETUNREACH}, // its route is gone
		{right4, Options{Interface: testnet.Interface}, syscall.ENETDOWN},
		{rightLL + scope, Options{}, syscall.ENETDOWN},
		{right4, Options{Interface: "veth9"}, syscall.ENODEV},
		{rightLL + "%veth9", Options{}, syscall.ENODEV},
		{rightLL + "%99", Options{}, syscall.ENODEV},
		{rightLL + "%an_interface_with_a_long_name", Options{}, syscall.ENODEV},
	} {
		if r, err := resolve(t, h.Left, c.dst, c.o); !errors.Is(err, c.want) {
			t.Errorf("%s, %+v: %+v, error %v; want %v", c.dst, c.o, r, err, c.want)
		}
	}
}

func TestInterfacesWithoutNeighbours(t *testing.T) {
	h := newHosts(t)
	left := veth(t, h.Left)
	testnet.In(t, h.Left, func() error { return netlink.LinkSetARPOff(left) })
	for _, dst := range []string{dead4, dead6} {
		r, err := resolve(t, h.Left, dst, Options{})
		if err != nil || r.Interface != testnet.Interface || r.MAC != nil || r.Type != Unicast {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestAnEndedContextResolvesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Resolve(ctx, netip.MustParseAddr("127.0.0.1"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
}
