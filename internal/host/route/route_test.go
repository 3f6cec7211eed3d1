package route

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// hostAddrs returns the addresses of this host's interfaces that are up, link-local ones with
// their zone.
func hostAddrs(t testing.TB) (out []netip.Addr) {
	t.Helper()
	ifs, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, ifc := range ifs {
		list, err := ifc.Addrs()
		if err != nil || ifc.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range list {
			if ipnet, ok := a.(*net.IPNet); ok {
				a, _ := netip.AddrFromSlice(ipnet.IP)
				out = append(out, scoped(a.Unmap(), ifc.Name))
			}
		}
	}
	return out
}

func TestOwnAddressesAreLocal(t *testing.T) {
	for _, a := range append(hostAddrs(t), netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")) {
		r, err := Resolve(t.Context(), a, Options{})
		if err != nil || r.Type != Local || r.Dst != a.Unmap() || r.NextHop() != a.Unmap() || !r.Src.IsValid() ||
			r.MAC != nil || r.MTU < 1280 || r.HopLimit == 0 || r.Interface == "" {
			t.Errorf("%v: %+v, error %v", a, r, err)
		}
		r, err = Resolve(t.Context(), a, Options{Sources: []netip.Addr{a}})
		if err != nil || r.Src != a.Unmap() {
			t.Errorf("%v from itself: %+v, error %v", a, r, err)
		}
	}
}

// The source of a connected socket and that of the routing table are the same.
func TestSocketsFindTheSameSource(t *testing.T) {
	h, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	list := hostAddrs(t)
	for _, a := range []string{"192.0.2.1", "198.51.100.1", "2001:db8::1", "224.0.0.1", "127.0.0.9"} {
		list = append(list, netip.MustParseAddr(a))
	}
	for _, a := range list {
		for _, o := range []Options{{}, {Sources: hostAddrs(t)}} {
			want, _, werr := find(h, a, o)
			got, _, err := find(sockets{}, a, o)
			if (err == nil) != (werr == nil) || got.Src != want.Src || got.Type != want.Type || want.Type != Local &&
				got.Interface != want.Interface {
				t.Errorf("%v: %+v, error %v; want %+v, error %v", a, got, err, want, werr)
			}
		}
	}
}

func TestDestinationsThatCannotBe(t *testing.T) {
	for dst, text := range map[netip.Addr]string{
		{}:                                                "name one host",
		netip.IPv4Unspecified():                           "name one host",
		netip.IPv6Unspecified():                           "name one host",
		netip.MustParseAddr("::ffff:0:0"):                 "name one host",
		netip.MustParseAddr("fe80::1"):                    "add the interface, as in fe80::1%eth0",
		netip.MustParseAddr("ff02::1"):                    "add the interface, as in ff02::1%eth0",
		netip.MustParseAddr("fe80::1%no_interface"):       "no network interface no_interface",
		netip.MustParseAddr("fe80::1%1000000"):            "no network interface with index 1000000",
		netip.MustParseAddr("fe80::1%-1"):                 "no network interface -1",
		netip.MustParseAddr("fe80::1%99999999999999"):     "no network interface 99999999999999",
		netip.MustParseAddr("fe80::1%4294967297"):         "no network interface 4294967297",
		netip.MustParseAddr("fd00::1%an_interface_alike"): "no network interface an_interface_alike",
	} {
		if r, err := Find(dst, Options{}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %+v, error %v; want %q", dst, r, err, text)
		}
	}
}

// fakeKernel has two interfaces about which nothing else is known.
type fakeKernel struct{ sockets }

func (fakeKernel) link(name string, index int) (link, error) {
	for _, l := range []link{{name: "one", index: 1, up: true}, {name: "2", index: 7, up: true},
		{name: "two", index: 2, up: true}} {
		if name == l.name || name == "" && index == l.index {
			return l, nil
		}
	}
	return sockets{}.link(name, index)
}

func TestAZoneIsANameBeforeAnIndex(t *testing.T) {
	for zone, want := range map[string]string{"one": "one", "1": "one", "2": "2", "two": "two", "7": "2"} {
		if l, err := linkOfZone(fakeKernel{}, zone); err != nil || l.name != want {
			t.Errorf("zone %s: %+v, %v; want %s", zone, l, err, want)
		}
	}
}

func TestZonesThatDisagree(t *testing.T) {
	dst := netip.MustParseAddr("fe80::1%one")
	_, _, err := find(fakeKernel{}, dst, Options{Interface: "two"})
	if want := "fe80::1%one is on one and cannot be reached by two"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	// The zone is ambiguous.
	_, _, err = find(fakeKernel{}, dst.WithZone(""), Options{Sources: []netip.Addr{
		netip.MustParseAddr("fe80::3%one"), netip.MustParseAddr("fe80::3%two"),
	}})
	if err == nil || !strings.Contains(err.Error(), "may be on any link") {
		t.Error(err)
	}
}

func TestResolveIsForManyGoroutines(t *testing.T) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if r, err := Resolve(context.Background(), netip.MustParseAddr("127.0.0.1"), Options{}); err != nil ||
				r.Type != Local {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
}
