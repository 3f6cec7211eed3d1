package namespaces_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestAnInterfaceIsWaitedFor(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.57.9/24"}})
	for _, c := range []struct{ device, addr string }{{"veth57", "198.18.57.5"}, {"198.18.57.6", "198.18.57.6"}} {
		t.Run(c.device, func(t *testing.T) {
			a := followIn(t, hosts.Left, c.device)
			if p := a.Device.PortAttr(); p.State != "PORT_DOWN" || len(a.Device.GIDs()) != 0 ||
				a.Device.NetDev() != "" && a.Device.NetDev() != "veth57" {
				t.Fatalf("without an interface the port is %s, the GIDs %+v", p.State, a.Device.GIDs())
			}
			if _, err := a.Device.GID(0); err == nil {
				t.Error("there is a GID")
			}
			var peer netlink.Link
			testnet.In(t, hosts.Left, func() error {
				veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "veth57"}, PeerName: "peer57"}
				if err := netlink.LinkAdd(veth); err != nil {
					return err
				}
				left, err := netlink.LinkByName("veth57")
				if err != nil {
					return err
				}
				if peer, err = netlink.LinkByName("peer57"); err != nil {
					return err
				}
				return errors.Join(netlink.LinkSetUp(left), netlink.LinkSetUp(peer),
					netlink.AddrAdd(left, addrOf(t, c.addr+"/24", 0)))
			})
			a.Until("the address", a.Has(c.addr))
			a.Until("the port", a.Port("PORT_ACTIVE"))
			if got := a.Device.NetDev(); got != "veth57" {
				t.Errorf("the interface is %q", got)
			}
			testnet.In(t, hosts.Left, func() error { return netlink.LinkDel(peer) })
			a.Until("the end of the interface", func() bool { return a.Lacks(c.addr)() && a.Port("PORT_DOWN")() })
		})
	}
}

// Config.Wrap also applies to links that are opened later.
func TestLinksThatComeAreWrapped(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	var a verbstest.Node
	a.TB = t
	testnet.In(t, hosts.Left, func() (err error) {
		a.Device, err = verbs.Open(verbs.Config{Device: testnet.Interface, Follow: true,
			Wrap: func(l packet.Link) packet.Link {
				return fault.New(l, fault.Config{})
			}})
		return err
	})
	defer a.Device.Close()
	addAddr(t, hosts.Left, addrOf(t, "198.18.57.77/24", 0))
	a.Until("the address", a.Has("198.18.57.77"))
	for _, g := range a.Device.GIDs() {
		if g.Link != "fault(udp)" {
			t.Errorf("GID %d is a link of kind %s", g.Index, g.Link)
		}
	}
}

func TestFollowingEndsWithTheDevice(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, device := range []string{"nosuch57", "127.55.14.57", "203.0.113.57"} {
		d, err := verbs.Open(verbs.Config{Device: device, Follow: true})
		if err != nil {
			t.Fatalf("%s: %v", device, err)
		}
		if runtime.NumGoroutine() == before {
			t.Fatal("no goroutine to leave behind: this test counts nothing")
		}
		if there := device == "127.55.14.57"; (len(d.GIDs()) > 0) != there ||
			(d.PortAttr().State == "PORT_ACTIVE") != there {
			t.Errorf("%s: the port is %s, the GIDs are %+v", device, d.PortAttr().State, d.GIDs())
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: %v", device, err)
		}
	}
	// As in TestUDPCloseLeavesNoGoroutine.
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

func TestFollowingAnAddressInUse(t *testing.T) {
	cfg := verbs.Config{Device: "127.55.14.1"}
	verbstest.Open(t, cfg, 64)
	cfg.Follow = true
	d, err := verbs.Open(cfg)
	if err == nil {
		d.Close()
	}
	verbstest.MustMention(t, err, "127.55.14.1", "4791", "in use")
}

// The name identifies the interface, not the interface that had the name before.
func TestAnInterfaceIsFollowedByItsName(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a := followIn(t, hosts.Left, testnet.Interface)
	rename := func(from, to string) {
		t.Helper()
		testnet.In(t, hosts.Left, func() error {
			l, err := netlink.LinkByName(from)
			if err != nil {
				return err
			}
			return errors.Join(netlink.LinkSetDown(l), netlink.LinkSetName(l, to), netlink.LinkSetUp(l))
		})
	}
	a.Until("the address", a.Has("198.18.57.1"))
	rename(testnet.Interface, "other57")
	a.Until("the interface to lose its name",
		func() bool { return len(a.Device.GIDs()) == 0 && a.Device.NetDev() == "" })
	rename("other57", testnet.Interface)
	a.Until("the interface to have its name again",
		func() bool { return a.GIDOf("198.18.57.1") >= 0 && a.Port("PORT_ACTIVE")() })
}

// An address whose port is in use by another program is retried.
func TestAnAddressInUseComesWhenItIsFree(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a := followIn(t, hosts.Left, testnet.Interface)
	var other net.PacketConn
	testnet.In(t, hosts.Left, func() (err error) {
		lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
			cerr := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })
			return errors.Join(cerr, err)
		}}
		other, err = lc.ListenPacket(context.Background(), "udp4", "198.18.57.88:4791")
		return err
	})
	defer other.Close()
	addAddr(t, hosts.Left, addrOf(t, "198.18.57.88/24", 0))
	// No event reports an address that stays absent.
	for inUse := false; !inUse; runtime.Gosched() {
		for _, err := range a.Device.Skipped() {
			inUse = inUse || errors.Is(err, unix.EADDRINUSE)
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	a.Until("the address", a.Has("198.18.57.88"))
	if a.GIDOf("198.18.57.1") < 0 {
		t.Error("the other address is gone")
	}
}

func TestAnAddressThatComesAndGoesLeavesNothingBehind(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	a := followIn(t, hosts.Left, testnet.Interface)
	used := func() (files, goroutines int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds), runtime.NumGoroutine()
	}
	addr, spare := addrOf(t, "198.18.57.90/24", 0), addrOf(t, "198.18.57.91/24", 0)
	round := func() {
		addAddr(t, hosts.Left, addr)
		a.Until("the address", a.Has("198.18.57.90"))
		delAddr(t, hosts.Left, addr)
		a.Until("the address to go", a.Lacks("198.18.57.90"))
	}
	round()
	// The next address shows that the device has finished the round.
	addAddr(t, hosts.Left, spare)
	a.Until("another", a.Has("198.18.57.91"))
	files, goroutines := used()
	for range 50 {
		round()
	}
	for f, g := used(); f > files || g > goroutines; f, g = used() {
		runtime.Gosched()
	}
	if n := a.Device.PortAttr().GIDTableLen; n > 6 {
		t.Errorf("the GID table is %d long", n)
	}
}

// A membership ends with the interface; when the interface is created again, the device joins
// again.
func TestGroupsAreJoinedAgainWhenTheInterfaceIs(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	group := verbstest.MustMulticastGID(t, "239.57.4.9")
	a, b := followIn(t, hosts.Left, "198.18.57.1"), followIn(t, hosts.Right, "198.18.57.2")
	a.QP, b.QP = a.NewDatagramQP(verbstest.QKey), b.NewDatagramQP(verbstest.QKey)
	testnet.In(t, hosts.Right, func() error { b.Join(group, 0); return nil })
	for round := range 3 {
		if round > 0 {
			hosts.Cut(t)
			for _, n := range []*verbstest.Node{a, b} {
				n.Until("the end of the interface", n.Port("PORT_DOWN"))
				n.Until("the end of its address", func() bool { return len(n.Device.GIDs()) == 0 })
			}
			hosts.Plug(t)
			b.Recv(0, 4096)
		}
		for _, n := range []*verbstest.Node{a, b} {
			n.Until("the interface", n.Port("PORT_ACTIVE"))
		}
		copy(a.Buf, "over the cable")
		a.Fence()
		if err := a.QP.PostSend(a.GroupSend(group, 14)); err != nil {
			t.Fatal(err)
		}
		b.WaitDatagram(a, 14)
	}
}

// A listener can exist before the first address of its device, and remains when they are removed.
func TestAListenerWaitsForAddresses(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	const text = "198.18.57.22"
	a, b := followIn(t, hosts.Left, "198.18.57.1"), followIn(t, hosts.Right, text)
	l, err := b.Device.Listen(verbs.PortSpaceTCP, netip.AddrPort{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	addr := addrOf(t, text+"/24", 0)
	for round := range 2 {
		addAddr(t, hosts.Right, addr)
		b.Until("the address", b.Has(text))
		for _, n := range []*verbstest.Node{a, b} {
			if n.QP, err = n.PD.CreateQP(verbs.QPInitAttr{SendCQ: n.CQ, Cap: verbstest.Cap}); err != nil {
				t.Fatal(err)
			}
		}
		accepted := make(chan error)
		go func() {
			r, err := l.Next(t.Context())
			if err == nil {
				_, err = r.Accept(t.Context(), b.QP, verbs.DefaultConnParam())
			}
			accepted <- err
		}()
		testnet.In(t, hosts.Left, func() error {
			to := netip.AddrPortFrom(netip.MustParseAddr(text), l.Addr().Port())
			_, err := a.Device.Dial(t.Context(), to, a.QP, verbs.DefaultConnParam())
			return err
		})
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		a.PostWrite(b, byte(round))
		a.WaitWrite(b)
		delAddr(t, hosts.Right, addr)
		b.Until("the address to go", b.Lacks(text))
	}
}
