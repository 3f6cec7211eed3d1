package namespaces_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
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

// followIn opens a device on a host that follows device.
func followIn(t *testing.T, ns netns.NsHandle, device string) *verbstest.Node {
	t.Helper()
	return followBy(t, ns, device, "", 0)
}

// followBy is followIn with links of a kind and a number of shards.
func followBy(t *testing.T, ns netns.NsHandle, device, link string, shards int) (n *verbstest.Node) {
	t.Helper()
	testnet.In(t, ns, func() error {
		dev, err := verbs.Open(verbs.Config{Device: device, Link: link, Follow: true, Shards: shards})
		if err != nil {
			return err
		}
		n = &verbstest.Node{TB: t, Device: dev, Buf: make([]byte, 1<<20)}
		return nil
	})
	t.Cleanup(func() {
		if err := n.Device.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	var err error
	n.PD = n.Device.AllocPD()
	if n.CQ, err = n.Device.CreateCQ(1 << 10); err != nil {
		t.Fatal(err)
	}
	if n.MR, err = n.PD.RegMR(n.Buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	return n
}

// connectOver connects queue pairs of a and b over the two addresses, with a timeout that exceeds
// the interruptions in the tests.
func connectOver(t *testing.T, a, b *verbstest.Node, addrA, addrB string) {
	t.Helper()
	attr := verbs.DefaultConnAttr()
	attr.Timeout = 17 // 0.5 s, and 14 s with all retries
	var err error
	for _, e := range []struct {
		*verbstest.Node
		addr string
	}{{a, addrA}, {b, addrB}} {
		if e.QP, err = e.PD.CreateQP(verbs.QPInitAttr{SendCQ: e.CQ, Cap: verbstest.Cap}); err != nil {
			t.Fatal(err)
		}
		if e.Info, err = e.QP.Local(e.GIDOf(e.addr), verbs.RandomPSN()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.QP.Connect(a.Info, b.Info, attr), b.QP.Connect(b.Info, a.Info, attr)); err != nil {
		t.Fatal(err)
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

// An address is removed while WRITEs are in progress and added again: they continue. The same
// holds for the address of the other end.
func TestTrafficGoesOnWhenAnAddressComesBack(t *testing.T) {
	for _, family := range []struct{ name, left, right, prefix string }{
		{"IPv4", "198.18.57.1", "198.18.57.2", "/24"},
		{"IPv6", "fd00:57::1", "fd00:57::2", "/64"},
	} {
		t.Run(family.name, func(t *testing.T) {
			hosts := testnet.Connect(t, followCable)
			a, b := followIn(t, hosts.Left, testnet.Interface), followIn(t, hosts.Right, family.right)
			a.Until("the address", a.Has(family.left))
			connectOver(t, a, b, family.left, family.right)
			for round, end := range []struct {
				*verbstest.Node
				ns   netns.NsHandle
				addr string
			}{{a, hosts.Left, family.left}, {b, hosts.Right, family.right}} {
				index, addr := end.GIDOf(end.addr), addrOf(t, end.addr+family.prefix, unix.IFA_F_NODAD)
				delAddr(t, end.ns, addr)
				end.Until("the address to go", end.Lacks(end.addr))
				a.PostWrite(b, byte(round+1))
				addAddr(t, end.ns, addr)
				end.Until("the address to come back", end.Has(end.addr))
				if got := end.GIDOf(end.addr); got != index {
					t.Errorf("the address came back as GID %d, it was GID %d", got, index)
				}
				a.WaitWrite(b)
			}
			if a.QP.Counters().Retransmitted == 0 {
				t.Error("nothing was sent again: no address was away")
			}
		})
	}
}

// An interface that is deleted loses its addresses; when it is created again they return, and
// connections over them continue.
func TestTrafficGoesOnWhenTheInterfaceIsMadeAgain(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a, b := followIn(t, hosts.Left, testnet.Interface), followIn(t, hosts.Right, "198.18.57.2")
	a.Until("the port", a.Port("PORT_ACTIVE"))
	b.Until("the port", b.Port("PORT_ACTIVE"))
	connectOver(t, a, b, "198.18.57.1", "198.18.57.2")
	index := a.GIDOf("198.18.57.1")
	for round := range 2 {
		a.PostWrite(b, byte(2*round))
		a.WaitWrite(b)
		hosts.Cut(t)
		for _, n := range []*verbstest.Node{a, b} {
			n.Until("the end of the interface",
				func() bool { return len(n.Device.GIDs()) == 0 && n.Device.NetDev() == "" })
			if s := n.Device.PortAttr().State; s != "PORT_DOWN" {
				t.Errorf("the port is %s without an interface", s)
			}
		}
		a.PostWrite(b, byte(2*round+1))
		hosts.Plug(t)
		a.Until("the address", a.Has("198.18.57.1"))
		a.Until("the port", a.Port("PORT_ACTIVE"))
		b.Until("the port", b.Port("PORT_ACTIVE"))
		if got := a.GIDOf("198.18.57.1"); got != index {
			t.Errorf("the address came back as GID %d, it was GID %d", got, index)
		}
		a.WaitWrite(b)
		if got := b.Device.NetDev(); got != testnet.Interface {
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
		return func() bool { g, err := a.Device.GID(a.GIDOf(left)); return err == nil && g.MTU == want }
	}
	index := a.GIDOf(left)
	for _, c := range []struct {
		step  string
		do    func()
		until func() bool
	}{
		{"down", func() { set(hosts.Left, netlink.LinkSetDown) }, a.Port("PORT_DOWN")},
		{"up", func() { set(hosts.Left, netlink.LinkSetUp) }, a.Port("PORT_ACTIVE")},
		{"cable out", func() { set(hosts.Right, netlink.LinkSetDown) }, a.Port("PORT_DOWN")},
		{"cable in", func() { set(hosts.Right, netlink.LinkSetUp) }, a.Port("PORT_ACTIVE")},
		{"larger MTU", func() {
			for _, ns := range []netns.NsHandle{hosts.Left, hosts.Right} {
				set(ns, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 9000) })
			}
		}, mtu(4096)},
		{"MTU as before", func() {
			set(hosts.Left,
				func(l netlink.Link) error { return netlink.LinkSetMTU(l, 1500) })
		}, mtu(1024)},
		{"too small an MTU", func() {
			set(hosts.Left, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 300) })
		}, a.Lacks(left)},
		{"MTU that is large enough",
			func() { set(hosts.Left, func(l netlink.Link) error { return netlink.LinkSetMTU(l, 1500) }) }, a.Has(left)},
	} {
		c.do()
		a.Until(c.step, c.until)
	}
	if got := a.GIDOf(left); got != index {
		t.Errorf("the address is GID %d, it was GID %d", got, index)
	}
	// The queue pairs kept their path MTU.
	if attr, _ := a.QP.Query(); attr.PathMTU != 1024 {
		t.Errorf("the path MTU is %d, was 1024", attr.PathMTU)
	}
	a.PostWrite(b, 7)
	a.WaitWrite(b)
}

// A device that follows one address has no other, and follows it to another interface.
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
		return errors.Join(netlink.LinkSetUp(bridge), netlink.LinkSetMaster(cable, bridge),
			netlink.AddrDel(cable, addr), netlink.AddrAdd(bridge, addr))
	})
	a.Until("the other interface", func() bool { return a.Device.NetDev() == "bridge57" && a.Has(left)() })
	if got := a.Device.GIDs(); len(got) != 1 || got[0].Index != 0 || got[0].NetDev != "bridge57" {
		t.Errorf("the GIDs are %+v", got)
	}
	a.PostWrite(b, 3)
	a.WaitWrite(b)
}

func TestOnlyAddressesThatCanBeUsedAreFollowed(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a := followIn(t, hosts.Left, testnet.Interface)
	const tentative, deprecated, other, twice = "fd00:57::70", "fd00:57::71", "fd00:57::72", "fd00:57::2"
	old := addrOf(t, deprecated+"/64", unix.IFA_F_NODAD)
	old.ValidLft, old.PreferedLft = 3600, 0
	addAddr(t, hosts.Left, old)
	addAddr(t, hosts.Left, addrOf(t, twice+"/64", 0)) // belongs to the other host
	addAddr(t, hosts.Left, addrOf(t, tentative+"/64", 0))
	a.Until("the end of duplicate address detection", a.Has(tentative))
	addAddr(t, hosts.Left, addrOf(t, other+"/64", unix.IFA_F_NODAD))
	a.Until("another", a.Has(other))
	for _, addr := range []string{deprecated, twice} {
		if got := a.GIDOf(addr); got >= 0 {
			t.Errorf("%s is GID %d", addr, got)
		}
		if !slices.ContainsFunc(a.Device.Skipped(),
			func(err error) bool { return bytes.Contains([]byte(err.Error()), []byte(addr)) }) {
			t.Errorf("left out are %v, without %s", a.Device.Skipped(), addr)
		}
	}
	// An address that is deprecated while in use remains until the host removes it.
	aged := addrOf(t, tentative+"/64", 0)
	aged.ValidLft, aged.PreferedLft = 3600, 0
	testnet.OnInterface(t, hosts.Left, func(l netlink.Link) error { return netlink.AddrReplace(l, aged) })
	delAddr(t, hosts.Left, addrOf(t, other+"/64", 0))
	a.Until("the other to go", a.Lacks(other))
	if a.Lacks(tentative)() {
		t.Error("an address that was deprecated while it was in use is gone")
	}
	delAddr(t, hosts.Left, aged)
	a.Until("it to go", a.Lacks(tentative))
}
