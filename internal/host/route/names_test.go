package route

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// hosts replaces the system's resolver.
type hosts map[string][]netip.Addr

func (h hosts) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	if network != "ip" {
		host += "/" + network
	}
	if list, ok := h[host]; ok {
		return list, nil
	}
	return nil, errors.New("no such host: " + host)
}

func TestLookupAddrPort(t *testing.T) {
	both := []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("::ffff:192.0.2.1"),
		netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fe80::1%eth0")}
	r := hosts{"both": both, "both/ip4": both[1:3], "both/ip6": both}
	for _, c := range []struct {
		s    string
		p    Preference
		want string
	}{
		{"192.0.2.1", AsResolved, "192.0.2.1:7174"},
		{"192.0.2.1:80", IPv6First, "192.0.2.1:80"},
		{"::ffff:192.0.2.1", IPv4Only, "192.0.2.1:7174"},
		{"2001:db8::1", IPv4First, "[2001:db8::1]:7174"},
		{"[2001:db8::1]", AsResolved, "[2001:db8::1]:7174"},
		{"[2001:db8::1]:80", IPv6Only, "[2001:db8::1]:80"},
		{"fe80::1%eth0", AsResolved, "[fe80::1%eth0]:7174"},
		{"[fe80::1%3]:65535", AsResolved, "[fe80::1%3]:65535"},
		{"both", AsResolved, "[2001:db8::1]:7174 192.0.2.1:7174 [fe80::1%eth0]:7174"},
		{"both:80", IPv4First, "192.0.2.1:80 [2001:db8::1]:80 [fe80::1%eth0]:80"},
		{"both:0", IPv6First, "[2001:db8::1]:0 [fe80::1%eth0]:0 192.0.2.1:0"},
		{"both", IPv4Only, "192.0.2.1:7174"},
		{"both", IPv6Only, "[2001:db8::1]:7174 [fe80::1%eth0]:7174"},
	} {
		list, err := lookupAddrPort(t.Context(), r, c.s, 7174, c.p)
		var got []string
		for _, a := range list {
			got = append(got, a.String())
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s, preference %d: %v, error %v; want %s", c.s, c.p, got, err, c.want)
		}
	}
	for s, text := range map[string]string{
		"":                  `"" is no host or host:port: it names no host`,
		":80":               `":80" is no host or host:port: it names no host`,
		"both:":             `"both:" is no host or host:port: the port "" is not a number from 0 to 65535`,
		"both:65536":        `the port "65536" is not a number`,
		"both:rdma":         `the port "rdma" is not a number`,
		"both:1:2":          "too many colons",
		"[2001:db8::1":      "missing ']'",
		"[both]:80":         `"both" in brackets is no IPv6 address`,
		"[192.0.2.1]":       `"192.0.2.1" in brackets is no IPv6 address`,
		"[2001:db8::1]x:80": "missing port",
		"neither":           "no such host: neither",
	} {
		if list, err := lookupAddrPort(t.Context(), r, s, 7174, AsResolved); err == nil ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, error %v; want %s", s, list, err, text)
		}
	}
	for s, p := range map[string]Preference{"192.0.2.1": IPv6Only, "2001:db8::1": IPv4Only} {
		if list, err := lookupAddrPort(t.Context(), r, s, 7174, p); err == nil ||
			!strings.Contains(err.Error(), s+" has no IPv") {
			t.Errorf("%s: %v, %v", s, list, err)
		}
	}
}

func TestLocalhostIsALoopbackAddress(t *testing.T) {
	list, err := LookupAddrPort(t.Context(), "localhost:7174", 1, IPv4First)
	if err != nil || slices.ContainsFunc(list,
		func(a netip.AddrPort) bool { return !a.Addr().IsLoopback() || a.Port() != 7174 }) {
		t.Errorf("%v, %v", list, err)
	}
}
