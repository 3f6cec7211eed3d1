package verbs_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The cable of these tests.
var followCable = testnet.Cable{
	MTU:   1500,
	Left:  []string{"198.18.57.1/24", "fd00:57::1/64"},
	Right: []string{"198.18.57.2/24", "fd00:57::2/64"},
}

// followIn opens a device that follows what device names on a host.
func followIn(t *testing.T, ns netns.NsHandle, device string) *testNode {
	t.Helper()
	return followBy(t, ns, device, "", 0)
}

// followBy is followIn with links of a kind and a number of shards.
func followBy(t *testing.T, ns netns.NsHandle, device, link string, shards int) (n *testNode) {
	t.Helper()
	testnet.In(t, ns, func() error {
		dev, err := verbs.Open(verbs.Config{Device: device, Link: link, Follow: true, Shards: shards})
		if err != nil {
			return err
		}
		n = &testNode{TB: t, dev: dev, buf: make([]byte, 1<<20)}
		return nil
	})
	t.Cleanup(func() {
		if err := n.dev.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	var err error
	n.pd = n.dev.AllocPD()
	if n.cq, err = n.dev.CreateCQ(1 << 10); err != nil {
		t.Fatal(err)
	}
	if n.mr, err = n.pd.RegMR(n.buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	return n
}

// until waits, from event to event, until the device is as the test wants it.
func (n *testNode) until(what string, is func() bool) {
	n.Helper()
	ctx, cancel := context.WithTimeoutCause(n.Context(), time.Minute, errors.New("a minute has passed"))
	defer cancel()
	for !is() {
		if _, err := n.dev.Event(ctx); err != nil {
			n.Fatalf("waiting for %s: %v; the port is %s, the GIDs are %+v, left out: %v", what, err, n.dev.PortAttr().State, n.dev.GIDs(), n.dev.Skipped())
		}
	}
}

// gidOf returns the index of an address, -1 while the device does not have it.
func (n *testNode) gidOf(addr string) int {
	for _, g := range n.dev.GIDs() {
		if g.Addr == netip.MustParseAddr(addr) {
			return g.Index
		}
	}
	return -1
}

func (n *testNode) has(addr string) func() bool { return func() bool { return n.gidOf(addr) >= 0 } }

func (n *testNode) lacks(addr string) func() bool { return func() bool { return n.gidOf(addr) < 0 } }

func (n *testNode) port(state string) func() bool {
	return func() bool { return n.dev.PortAttr().State == state }
}

// connectOver connects queue pairs of a and b over the two addresses, with a timeout that is
// longer than what tests do to the network.
func connectOver(t *testing.T, a, b *testNode, addrA, addrB string) {
	t.Helper()
	attr := verbs.DefaultConnAttr()
	attr.Timeout = 17 // 0.5 s, and 14 s with all retries
	var err error
	for _, e := range []struct {
		*testNode
		addr string
	}{{a, addrA}, {b, addrB}} {
		if e.qp, err = e.pd.CreateQP(verbs.QPInitAttr{SendCQ: e.cq, Cap: testCap}); err != nil {
			t.Fatal(err)
		}
		if e.info, err = e.qp.Local(e.gidOf(e.addr), verbs.RandomPSN()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.qp.Connect(a.info, b.info, attr), b.qp.Connect(b.info, a.info, attr)); err != nil {
		t.Fatal(err)
	}
}

// writes lets a WRITE of a's whole buffer to b begin.
func (n *testNode) writes(to *testNode, seed byte) {
	n.Helper()
	for i := range n.buf {
		n.buf[i] = seed + byte(i>>8) + byte(i)
	}
	n.fence()
	n.post(n.oneSided(verbs.WRWrite, to, len(n.buf)))
}

// written waits for the end of what writes began.
func (n *testNode) written(to *testNode) {
	n.Helper()
	n.wait(1, make([]verbs.WC, 1))
	n.fence()
	to.fence()
	if !bytes.Equal(n.buf, to.buf) {
		n.Fatal("other bytes arrived")
	}
}

func addrOf(t *testing.T, text string, flags int) *netlink.Addr {
	t.Helper()
	a, err := netlink.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	a.Flags = flags
	return a
}

func addAddr(t *testing.T, ns netns.NsHandle, addr *netlink.Addr) {
	t.Helper()
	testnet.OnInterface(t, ns, func(l netlink.Link) error { return netlink.AddrAdd(l, addr) })
}

func delAddr(t *testing.T, ns netns.NsHandle, addr *netlink.Addr) {
	t.Helper()
	testnet.OnInterface(t, ns, func(l netlink.Link) error { return netlink.AddrDel(l, addr) })
}

// An address is taken away while WRITEs are under way, comes back, and they go on; so it is
// with the address of the other end.
func TestTrafficGoesOnWhenAnAddressComesBack(t *testing.T) {
	for _, family := range []struct{ name, left, right, prefix string }{
		{"IPv4", "198.18.57.1", "198.18.57.2", "/24"},
		{"IPv6", "fd00:57::1", "fd00:57::2", "/64"},
	} {
		t.Run(family.name, func(t *testing.T) {
			hosts := testnet.Connect(t, followCable)
			a, b := followIn(t, hosts.Left, testnet.Interface), followIn(t, hosts.Right, family.right)
			a.until("the address", a.has(family.left))
			connectOver(t, a, b, family.left, family.right)
			for round, end := range []struct {
				*testNode
				ns   netns.NsHandle
				addr string
			}{{a, hosts.Left, family.left}, {b, hosts.Right, family.right}} {
				index, addr := end.gidOf(end.addr), addrOf(t, end.addr+family.prefix, unix.IFA_F_NODAD)
				delAddr(t, end.ns, addr)
				end.until("the address to go", end.lacks(end.addr))
				a.writes(b, byte(round+1))
				addAddr(t, end.ns, addr)
				end.until("the address to come back", end.has(end.addr))
				if got := end.gidOf(end.addr); got != index {
					t.Errorf("the address came back as GID %d, it was GID %d", got, index)
				}
				a.written(b)
			}
			if a.qp.Counters().Retransmitted == 0 {
				t.Error("nothing was sent again: no address was away")
			}
		})
	}
}

// An interface that is deleted takes its addresses along; when it is made again they are back,
// and what was connected over them goes on.
func TestTrafficGoesOnWhenTheInterfaceIsMadeAgain(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a, b := followIn(t, hosts.Left, testnet.Interface), followIn(t, hosts.Right, "198.18.57.2")
	a.until("the port", a.port("PORT_ACTIVE"))
	b.until("the port", b.port("PORT_ACTIVE"))
	connectOver(t, a, b, "198.18.57.1", "198.18.57.2")
	index := a.gidOf("198.18.57.1")
	for round := range 2 {
		a.writes(b, byte(2*round))
		a.written(b)
		hosts.Cut(t)
		for _, n := range []*testNode{a, b} {
			n.until("the end of the interface", func() bool { return len(n.dev.GIDs()) == 0 && n.dev.NetDev() == "" })
			if s := n.dev.PortAttr().State; s != "PORT_DOWN" {
				t.Errorf("the port is %s without an interface", s)
			}
		}
		a.writes(b, byte(2*round+1))
		hosts.Plug(t)
		a.until("the address", a.has("198.18.57.1"))
		a.until("the port", a.port("PORT_ACTIVE"))
		b.until("the port", b.port("PORT_ACTIVE"))
		if got := a.gidOf("198.18.57.1"); got != index {
			t.Errorf("the address came back as GID %d, it was GID %d", got, index)
		}
		a.written(b)
		if got := b.dev.NetDev(); got != testnet.Interface {
			t.Errorf("the interface is %q, want %s", got, testnet.Interface)
		}
	}
}

func TestPortAndMTUFollowTheInterface(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a, b := followIn(t, hosts.Left, testnet.Interface), followIn(t, hosts.Right, testnet.Interface)
	const left, right = "198.18.57.1", "198.18.57.2"
	connectOver(t, a, b, left, right)
	set := func(ns netns.NsHandle, f func(netlink.Link) error) { testnet.OnInterface(t, ns, f) }
	mtu := func(want verbs.MTU) func() bool {
		return func() bool { g, err := a.dev.GID(a.gidOf(left)); return err == nil && g.MTU == want }
	}
	index := a.gidOf(left)
	for _, c := range []struct {
		step  string
		do    func()
		until func() bool
	}{
		{"down", func() { set(hosts.Left, netlink.LinkSetDown) }, a.port("PORT_DOWN")},
		{"up", func() { set(hosts.Left, netlink.LinkSetUp) }, a.port("PORT_ACTIVE")},
		{"cable out", func() { set(hosts.Right, netlink.LinkSetDown) }, a.port("PORT_DOWN")},
		{"cable in", func() { set(hosts.Right, netlink.LinkSetUp) }, a.port("PORT_ACTIVE")},
		{"larger MTU", func() {
			for _, ns := range []netns.NsHandle{hosts.Left, hosts.Right} {
				set(ns, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 9000) })
			}
		}, mtu(4096)},
		{"MTU as before", func() { set(hosts.Left, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 1500) }) }, mtu(1024)},
		{"too small an MTU", func() { set(hosts.Left, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 300) }) }, a.lacks(left)},
		{"MTU that is large enough", func() { set(hosts.Left, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 1500) }) }, a.has(left)},
	} {
		c.do()
		a.until(c.step, c.until)
	}
	if got := a.gidOf(left); got != index {
		t.Errorf("the address is GID %d, it was GID %d", got, index)
	}
	// The queue pairs kept the path MTU that they had.
	if attr, _ := a.qp.Query(); attr.PathMTU != 1024 {
		t.Errorf("the path MTU is %d, was 1024", attr.PathMTU)
	}
	a.writes(b, 7)
	a.written(b)
}

// A device that follows one address has no other, and goes with it to another interface.
func TestAnAddressIsFollowedFromInterfaceToInterface(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	const left, right = "198.18.57.1", "198.18.57.2"
	a, b := followIn(t, hosts.Left, left), followIn(t, hosts.Right, right)
	connectOver(t, a, b, left, right)
	testnet.In(t, hosts.Left, func() error {
		cable, err := netlink.LinkByName(testnet.Interface)
		if err != nil {
			return err
		}
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bridge57"}}
		if err := netlink.LinkAdd(bridge); err != nil {
			t.Skipf("cannot make a bridge: %v", err)
		}
		addr := addrOf(t, left+"/24", 0)
		return errors.Join(netlink.LinkSetUp(bridge), netlink.LinkSetMaster(cable, bridge), netlink.AddrDel(cable, addr), netlink.AddrAdd(bridge, addr))
	})
	a.until("the other interface", func() bool { return a.dev.NetDev() == "bridge57" && a.has(left)() })
	if got := a.dev.GIDs(); len(got) != 1 || got[0].Index != 0 || got[0].NetDev != "bridge57" {
		t.Errorf("the GIDs are %+v", got)
	}
	a.writes(b, 3)
	a.written(b)
}

func TestOnlyAddressesThatCanBeUsedAreFollowed(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a := followIn(t, hosts.Left, testnet.Interface)
	const tentative, deprecated, other, twice = "fd00:57::70", "fd00:57::71", "fd00:57::72", "fd00:57::2"
	old := addrOf(t, deprecated+"/64", unix.IFA_F_NODAD)
	old.ValidLft, old.PreferedLft = 3600, 0
	addAddr(t, hosts.Left, old)
	addAddr(t, hosts.Left, addrOf(t, twice+"/64", 0)) // is the other host's
	addAddr(t, hosts.Left, addrOf(t, tentative+"/64", 0))
	a.until("the end of duplicate address detection", a.has(tentative))
	addAddr(t, hosts.Left, addrOf(t, other+"/64", unix.IFA_F_NODAD))
	a.until("another", a.has(other))
	for _, addr := range []string{deprecated, twice} {
		if got := a.gidOf(addr); got >= 0 {
			t.Errorf("%s is GID %d", addr, got)
		}
		if !slices.ContainsFunc(a.dev.Skipped(), func(err error) bool { return bytes.Contains([]byte(err.Error()), []byte(addr)) }) {
			t.Errorf("left out are %v, without %s", a.dev.Skipped(), addr)
		}
	}
	// One that is deprecated while it is in use stays until the host loses it.
	aged := addrOf(t, tentative+"/64", 0)
	aged.ValidLft, aged.PreferedLft = 3600, 0
	testnet.OnInterface(t, hosts.Left, func(l netlink.Link) error { return netlink.AddrReplace(l, aged) })
	delAddr(t, hosts.Left, addrOf(t, other+"/64", 0))
	a.until("the other to go", a.lacks(other))
	if a.lacks(tentative)() {
		t.Error("an address that was deprecated while it was in use is gone")
	}
	delAddr(t, hosts.Left, aged)
	a.until("it to go", a.lacks(tentative))
}
