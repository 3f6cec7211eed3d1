package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Preference selects the IP version of the addresses of a name.
type Preference uint8

const (
	AsResolved Preference = iota // both versions, in the order of the resolver
	IPv4First
	IPv6First
	IPv4Only
	IPv6Only
)

type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// LookupAddrPort resolves "host", "host:port", an IP address, or "[IPv6 address]:port". Without a
// port it uses defaultPort. An IPv6 address without a port needs no brackets. It may have a zone,
// which is kept unchanged. Host names are resolved by the system's resolver. The result is not
// empty; IPv4-mapped addresses become IPv4.
func LookupAddrPort(ctx context.Context, s string, defaultPort uint16, p Preference) ([]netip.AddrPort, error) {
	return lookupAddrPort(ctx, net.DefaultResolver, s, defaultPort, p)
}

func lookupAddrPort(ctx context.Context, r resolver, s string, defaultPort uint16,
	p Preference) ([]netip.AddrPort, error) {
	host, port, err := splitPort(s, defaultPort)
	if err != nil {
		return nil, fmt.Errorf("%q is no host or host:port: %w", s, err)
	}
	var addrs []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{a}
	} else {
		network := "ip"
		switch p {
		case IPv4Only:
			network = "ip4"
		case IPv6Only:
			network = "ip6"
		}
		if addrs, err = r.LookupNetIP(ctx, network, host); err != nil {
			return nil, err
		}
	}
	var out []netip.AddrPort
	for _, a := range addrs {
		a = a.Unmap()
		ap := netip.AddrPortFrom(a, port)
		if p == IPv4Only && !a.Is4() || p == IPv6Only && !a.Is6() || slices.Contains(out, ap) {
			continue
		}
		out = append(out, ap)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no %s address", host,
			map[Preference]string{IPv4Only: "IPv4", IPv6Only: "IPv6"}[p])
	}
	slices.SortStableFunc(out, func(a, b netip.AddrPort) int { return p.rank(a.Addr()) - p.rank(b.Addr()) })
	return out, nil
}

// rank returns the sort key of an address: 0 for the preferred IP version, 1 for the other.
func (p Preference) rank(a netip.Addr) int {
	if p == IPv4First && a.Is6() || p == IPv6First && a.Is4() {
		return 1
	}
	return 0
}

func splitPort(s string, defaultPort uint16) (host string, port uint16, err error) {
	if _, err := netip.ParseAddr(s); err == nil {
		return s, defaultPort, nil
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			return bracketed(inner, defaultPort)
		}
	}
	if !strings.Contains(s, ":") {
		host, port = s, defaultPort
	} else {
		var text string
		if host, text, err = net.SplitHostPort(s); err != nil {
			return "", 0, err
		}
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return "", 0, fmt.Errorf("the port %q is not a number from 0 to 65535", text)
		}
		port = uint16(n)
		if s[0] == '[' {
			return bracketed(host, port)
		}
	}
	if host == "" {
		return "", 0, errors.New("it names no host")
	}
	return host, port, nil
}

// bracketed returns its arguments, or an error if host, which was in brackets, is not an IPv6
// address.
func bracketed(host string, port uint16) (string, uint16, error) {
	if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
		return "", 0, fmt.Errorf("%q in brackets is no IPv6 address", host)
	}
	return host, port, nil
}
