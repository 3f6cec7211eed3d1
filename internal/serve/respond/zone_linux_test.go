package respond

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/testnet"
)

// Linux accepts a segment to any address of the host on any interface. A neighbour on one link,
// with a link-local address that another host has on another link, can therefore connect to the
// address of a device there. The device must not send to that other host.
func TestAConnectionByAnotherLinkGivesNoHostOfTheDevicesLink(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500})
	// Two links with indexes that no interface of the test's own namespace has, so that package
	// net uses numbers as names.
	const device, other = 47110, 47111
	links := []struct {
		name        string
		index       int
		left, right []string
	}{
		{"rdma0", device, []string{"fe80::1/64", "2001:db8::1/64"}, []string{"fe80::2/64"}},
		{"rdma1", other, nil, []string{"fe80::2/64", "fe80::1/64"}},
	}
	assign := func(name string, addrs []string) {
		link, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addrs {
			addr, err := netlink.ParseAddr(a)
			if err != nil {
				t.Fatal(err)
			}
			addr.Flags = unix.IFA_F_NODAD
			if err := netlink.AddrAdd(link, addr); err != nil {
				t.Fatal(err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			t.Fatal(err)
		}
	}
	macs := map[string]net.HardwareAddr{}
	for _, l := range links {
		testnet.In(t, hosts.Left, func() error {
			err := netlink.LinkAdd(&netlink.Veth{
				LinkAttrs: netlink.LinkAttrs{Name: l.name, Index: l.index}, PeerName: l.name,
				PeerNamespace: netlink.NsFd(hosts.Right),
			})
			if err != nil {
				return err
			}
			assign(l.name, l.left)
			link, err := netlink.LinkByName(l.name)
			if err == nil {
				macs[l.name] = link.Attrs().HardwareAddr
			}
			return err
		})
		testnet.In(t, hosts.Right, func() error { assign(l.name, l.right); return nil })
	}
	zone := func(index int) string { return "%" + strconv.Itoa(index) }
	d := openAt(t, "fe80::1"+zone(device), "2001:db8::1")
	r := alone(d, Limits{})
	r.hostAddrs = func(...string) []exchange.HostAddr { return nil }
	var l net.Listener
	testnet.In(t, hosts.Left, func() (err error) { l, err = listenForBoth(); return err })
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- r.Serve(ctx, l, Perftest) }()
	for _, c := range []struct {
		name, by, from, to, gid string
		answered                bool
	}{
		{"a neighbour of the device", "rdma0", "fe80::2", "fe80::1", "fe80::2", true},
		{"a neighbour of the device that calls its global address", "rdma0", "fe80::2", "2001:db8::1", "fe80::2", true},
		{"a neighbour on the other link with the address of one", "rdma1", "fe80::2", "2001:db8::1", "fe80::2", false},
		{"a neighbour on the other link with the address of the device", "rdma1", "fe80::1", "2001:db8::1",
			"2001:db8::1", false},
	} {
		var conn net.Conn
		testnet.In(t, hosts.Right, func() (err error) {
			i, err := net.InterfaceByName(c.by)
			if err != nil {
				return err
			}
			// The host does not answer neighbour solicitations for it on the other link, but
			// accepts packets.
			global := net.ParseIP("2001:db8::1")
			way := &netlink.Route{LinkIndex: i.Index, Dst: &net.IPNet{IP: global, Mask: net.CIDRMask(128, 128)}}
			if err := netlink.RouteReplace(way); err != nil {
				return err
			}
			defer netlink.RouteDel(way)
			entry := netlink.Neigh{LinkIndex: i.Index, IP: global, HardwareAddr: macs[c.by],
				State: netlink.NUD_PERMANENT}
			if err := netlink.NeighSet(&entry); err != nil {
				return err
			}
			scope := strconv.Itoa(i.Index)
			to := netip.MustParseAddr(c.to)
			if to.IsLinkLocalUnicast() {
				to = to.WithZone(scope)
			}
			from := netip.AddrPortFrom(netip.MustParseAddr(c.from).WithZone(scope), 0)
			dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: net.TCPAddrFromAddrPort(from)}
			conn, err = dialer.Dial("tcp6", netip.AddrPortFrom(to, uint16(l.Addr().(*net.TCPAddr).Port)).String())
			if err != nil {
				return err
			}
			conn.SetDeadline(time.Now().Add(5 * time.Second))
			k := perftest.Key{OutReads: 1, QPN: 1, GID: gid(c.gid)}
			_, err = converse(conn, append(opening(), say{k.Append(nil), perftest.KeyLen})...)
			if (err == nil) != c.answered {
				t.Errorf("%s: the key is answered: %v", c.name, err)
			}
			return nil
		})
		conn.Close()
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if err := r.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	counted := map[string]uint64{}
	r.Counters(func(name string, value uint64) { counted[name] = value })
	if n := counted["respond_ended_refused_foreign_gid"]; n != 2 {
		t.Errorf("%d are counted that named another host: %v", n, counted)
	}
}
