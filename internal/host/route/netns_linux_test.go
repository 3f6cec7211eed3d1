package route

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The two hosts of these tests and their addresses. No host has the dead ones.
const (
	left4, right4, dead4 = "198.18.46.1", "198.18.46.2", "198.18.46.9"
	left6, right6, dead6 = "fd00:46::1", "fd00:46::2", "fd00:46::9"
	leftLL, rightLL      = "fe80::46:1", "fe80::46:2"
	scope                = "%" + testnet.Interface
	mtu                  = 1500
)

func newHosts(t testing.TB) *testnet.Hosts {
	t.Helper()
	h := testnet.Connect(t, testnet.Cable{
		MTU:   mtu,
		Left:  []string{left4 + "/24", left6 + "/64", leftLL + "/64"},
		Right: []string{right4 + "/24", right6 + "/64", rightLL + "/64"},
	})
	awaitAddresses(t, h.Left, left6, leftLL+scope)
	awaitAddresses(t, h.Right, right6, rightLL+scope)
	return h
}

// awaitAddresses waits until IPv6 addresses are local, which happens shortly after they were
// added.
func awaitAddresses(t testing.TB, ns netns.NsHandle, list ...string) {
	t.Helper()
	testnet.In(t, ns, func() error {
		for _, a := range addrs(list...) {
			for r, err := Find(a, Options{}); err != nil || r.Type != Local; r, err = Find(a, Options{}) {
				if t.Context().Err() != nil {
					return t.Context().Err()
				}
				runtime.Gosched()
			}
		}
		return nil
	})
}

// veth returns the end of the veth pair in ns.
func veth(t testing.TB, ns netns.NsHandle) (link netlink.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		link, err = netlink.LinkByName(testnet.Interface)
		return err
	})
	return link
}

// addOther adds another veth pair to ns and returns its end, "other".
func addOther(t testing.TB, ns netns.NsHandle) (link netlink.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		err = netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "other"}, PeerName: "end"})
		if err != nil {
			return err
		}
		for _, name := range []string{"end", "other"} {
			if link, err = netlink.LinkByName(name); err != nil {
				return err
			}
			if err = netlink.LinkSetUp(link); err != nil {
				return err
			}
		}
		return nil
	})
	return link
}

// setSysctl writes a setting of a network namespace, such as net/ipv4/ip_default_ttl.
func setSysctl(t testing.TB, ns netns.NsHandle, name string, value int) {
	t.Helper()
	testnet.In(t, ns, func() error {
		return os.WriteFile("/proc/sys/"+name, fmt.Append(nil, value), 0o644)
	})
}

// setNeighbourTimer sets the number of the kernel's solicitations for a neighbour and their
// interval.
func setNeighbourTimer(t testing.TB, ns netns.NsHandle, asks, milliseconds int) {
	t.Helper()
	for _, version := range []string{"ipv4", "ipv6"} {
		dir := "net/" + version + "/neigh/" + testnet.Interface
		setSysctl(t, ns, dir+"/mcast_solicit", asks)
		setSysctl(t, ns, dir+"/retrans_time_ms", milliseconds)
	}
}

// addRoute adds a route to the prefix in ns; the other fields of r are the caller's.
func addRoute(t testing.TB, ns netns.NsHandle, prefix string, r netlink.Route) {
	t.Helper()
	_, dst, err := net.ParseCIDR(prefix)
	if err != nil {
		t.Fatal(err)
	}
	r.Dst = dst
	testnet.In(t, ns, func() error { return netlink.RouteAdd(&r) })
}

func addAddress(t testing.TB, ns netns.NsHandle, link netlink.Link, prefix string) {
	t.Helper()
	a, err := netlink.ParseAddr(prefix)
	if err != nil {
		t.Fatal(err)
	}
	a.Flags = unix.IFA_F_NODAD
	testnet.In(t, ns, func() error { return netlink.AddrAdd(link, a) })
	prefix, _, _ = strings.Cut(prefix, "/")
	if strings.HasPrefix(prefix, "fe80") {
		prefix += scope
	}
	awaitAddresses(t, ns, prefix)
}

// resolve calls [Resolve] in a namespace.
func resolve(t testing.TB, ns netns.NsHandle, dst string, o Options) (r Route, rerr error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testnet.In(t, ns, func() error {
		r, rerr = Resolve(ctx, netip.MustParseAddr(dst), o)
		return nil
	})
	return r, rerr
}

func addrs(list ...string) (out []netip.Addr) {
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}
