package route

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
)

func TestTheSourceIsOneOfThoseOffered(t *testing.T) {
	h := newHosts(t)
	left, right := veth(t, h.Left), veth(t, h.Right)
	for _, a := range []string{"198.18.46.3/24", "198.18.47.1/24", "fd00:47::1/64", "2001:db8:46::1/64"} {
		addAddress(t, h.Left, left, a)
	}
	for _, a := range []string{"198.18.47.2/24", "fd00:47::2/64"} {
		addAddress(t, h.Right, right, a)
	}
	addRoute(t, h.Left, "0.0.0.0/0", netlink.Route{Gw: net.ParseIP(right4)})
	addRoute(t, h.Left, "::/0", netlink.Route{Gw: net.ParseIP(rightLL), LinkIndex: left.Attrs().Index})
	all := addrs(leftLL+scope, left4, "198.18.46.3", "198.18.47.1", left6, "fd00:47::1")
	for _, c := range []struct {
		dst     string
		sources []netip.Addr
		want    string
	}{
		{right4, nil, left4},
		{"198.18.47.2", nil, "198.18.47.1"},
		{right6, nil, left6},
		{"fd00:47::2", nil, "fd00:47::1"},
		{right4, all, left4},
		{"198.18.47.2", all, "198.18.47.1"},
		{right6, all, left6},
		{"fd00:47::2", all, "fd00:47::1"},
		{rightLL + scope, all, leftLL + scope},
		{"203.0.113.1", all, left4},
		// Other sources than the kernel's choice.
		{right4, addrs("198.18.47.1", "198.18.46.3"), "198.18.46.3"},
		{right4, addrs("198.18.47.1"), "198.18.47.1"},
		{right4, addrs("::ffff:198.18.47.1"), "198.18.47.1"},
		{right6, addrs(leftLL+scope, "fd00:47::1"), "fd00:47::1"},
		{right6, addrs(leftLL+scope, "2001:db8:46::1"), "2001:db8:46::1"}, // fe80 has more bits in common with fd00
		{right6, addrs(leftLL + "%" + strconv.Itoa(left.Attrs().Index)), leftLL + scope},
		{rightLL + scope, addrs(left6), left6},
		{rightLL + scope, addrs(leftLL), leftLL},
		{"2001:db8::1", addrs(leftLL+scope, left6), left6},
		// To this host itself.
		{left4, nil, left4},
		{left4, addrs("198.18.47.1"), "198.18.47.1"},
		{leftLL + scope, addrs(leftLL + scope), leftLL + scope},
	} {
		r, err := resolve(t, h.Left, c.dst, Options{Sources: c.sources})
		if err != nil || r.Src.String() != c.want {
			t.Errorf("to %s from %v: %v, error %v; want %s", c.dst, c.sources, r.Src, err, c.want)
		}
	}
	for _, c := range []struct {
		dst     string
		sources []netip.Addr
		text    string
	}{
		{right4, []netip.Addr{}, "no address to send to 198.18.46.2 from"},
		{right4, addrs("192.0.2.9"), "cannot send to 198.18.46.2 from 192.0.2.9 (it is not an address of this host)"},
		{right6, addrs("fd00:46::9"), "cannot send to fd00:46::2 from fd00:46::9 (it is not an address of this host)"},
		{right4, addrs(left6, "::"),
			"cannot send to 198.18.46.2 from fd00:46::1 (it is not IPv4) or :: (it is no address)"},
		{right6, addrs(left4), "cannot send to fd00:46::2 from 198.18.46.1 (it is not IPv6)"},
		{right4, addrs("127.0.0.1"),
			"cannot send to 198.18.46.2 from 127.0.0.1 (packets from a loopback address do not leave the host)"},
		{"2001:db8::1", addrs(leftLL + scope), "cannot send to 2001:db8::1 from fe80::46:1%veth0 (packets from a link-local address do not pass the gateway fe80::46:2%veth0)"},
		{rightLL + scope, addrs(leftLL + "%lo"),
			"cannot send to fe80::46:2%veth0 from fe80::46:1%lo (it is on lo, and packets leave by veth0)"},
		{right6, addrs(leftLL), "cannot send to fd00:46::2 from fe80::46:1 (it may be on any link: add its interface)"},
		{right6, addrs(leftLL + "%veth9"),
			"cannot send to fd00:46::2 from fe80::46:1%veth9 (no network interface veth9: no such device)"},
	} {
		_, err := resolve(t, h.Left, c.dst, Options{Sources: c.sources})
		var s *SourceError
		if !errors.As(err, &s) || err.Error() != c.text {
			t.Errorf("to %s from %v: error %v; want %q", c.dst, c.sources, err, c.text)
		}
	}
}

// With source rules the route depends on the source address.
func TestRulesForSourcesAreObeyed(t *testing.T) {
	h := newHosts(t)
	left, right := veth(t, h.Left), veth(t, h.Right)
	addAddress(t, h.Left, left, "198.18.47.1/24")
	for _, a := range []string{"198.18.46.21/24", "198.18.47.2/24"} {
		addAddress(t, h.Right, right, a)
	}
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{Gw: net.ParseIP("198.18.46.21")})
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{Gw: net.ParseIP("198.18.47.2"), Table: 100})
	rule := netlink.NewRule()
	rule.Src = &net.IPNet{IP: net.ParseIP("198.18.47.1"), Mask: net.CIDRMask(32, 32)}
	rule.Table, rule.Priority = 100, 1000
	testnet.In(t, h.Left, func() error { return netlink.RuleAdd(rule) })
	for src, gateway := range map[string]string{left4: "198.18.46.21", "198.18.47.1": "198.18.47.2"} {
		r, err := resolve(t, h.Left, "198.18.50.1", Options{Sources: addrs(src)})
		if err != nil || r.Gateway.String() != gateway {
			t.Errorf("from %s: %+v, error %v; want gateway %s", src, r, err, gateway)
		}
	}
}
