package verbs_test

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
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestAnInterfaceIsWaitedFor(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.57.9/24"}})
	for _, c := range []struct{ device, addr string }{{"veth57", "198.18.57.5"}, {"198.18.57.6", "198.18.57.6"}} {
		t.Run(c.device, func(t *testing.T) {
			a := followIn(t, hosts.Left, c.device)
			if p := a.dev.PortAttr(); p.State != "PORT_DOWN" || len(a.dev.GIDs()) != 0 || a.dev.NetDev() != "" && a.dev.NetDev() != "veth57" {
				t.Fatalf("without an interface the port is %s, the GIDs %+v", p.State, a.dev.GIDs())
			}
			if _, err := a.dev.GID(0); err == nil {
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
				return errors.Join(netlink.LinkSetUp(left), netlink.LinkSetUp(peer), netlink.AddrAdd(left, addrOf(t, c.addr+"/24", 0)))
			})
			a.until("the address", a.has(c.addr))
			a.until("the port", a.port("PORT_ACTIVE"))
			if got := a.dev.NetDev(); got != "veth57" {
				t.Errorf("the interface is %q", got)
			}
			testnet.In(t, hosts.Left, func() error { return netlink.LinkDel(peer) })
			a.until("the end of the interface", func() bool { return a.lacks(c.addr)() && a.port("PORT_DOWN")() })
		})
	}
}

// What is wrapped around a link is wrapped around one that comes later, too.
func TestLinksThatComeAreWrapped(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	var a testNode
	a.TB = t
	testnet.In(t, hosts.Left, func() (err error) {
		a.dev, err = verbs.Open(verbs.Config{Device: testnet.Interface, Follow: true, Wrap: func(l packet.Link) packet.Link {
			return fault.New(l, fault.Config{})
		}})
		return err
	})
	defer a.dev.Close()
	addAddr(t, hosts.Left, addrOf(t, "198.18.57.77/24", 0))
	a.until("the address", a.has("198.18.57.77"))
	for _, g := range a.dev.GIDs() {
		if g.Link != "fault(udp)" {
			t.Errorf("GID %d is a link of kind %s", g.Index, g.Link)
		}
	}
}

func TestFollowingEndsWithTheDevice(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, device := range []string{"nosuch57", "127.55.4.57", "203.0.113.57"} {
		d, err := verbs.Open(verbs.Config{Device: device, Follow: true})
		if err != nil {
			t.Fatalf("%s: %v", device, err)
		}
		if runtime.NumGoroutine() == before {
			t.Fatal("no goroutine to leave behind: this test counts nothing")
		}
		if there := device == "127.55.4.57"; (len(d.GIDs()) > 0) != there || (d.PortAttr().State == "PORT_ACTIVE") != there {
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
	cfg := udpDevices(t)[0]
	openNode(t, cfg, 64)
	cfg.Follow = true
	d, err := verbs.Open(cfg)
	if err == nil {
		d.Close()
	}
	says(t, err, "127.55.4.1", "4791", "in use")
}

// The name decides which interface it is, not which one had it.
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
	a.until("the address", a.has("198.18.57.1"))
	rename(testnet.Interface, "other57")
	a.until("the interface to lose its name", func() bool { return len(a.dev.GIDs()) == 0 && a.dev.NetDev() == "" })
	rename("other57", testnet.Interface)
	a.until("the interface to have its name again", func() bool { return a.gidOf("198.18.57.1") >= 0 && a.port("PORT_ACTIVE")() })
}

// An address whose port another program has is tried again.
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
	// No event tells of what does not come.
	for inUse := false; !inUse; runtime.Gosched() {
		for _, err := range a.dev.Skipped() {
			inUse = inUse || errors.Is(err, unix.EADDRINUSE)
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	a.until("the address", a.has("198.18.57.88"))
	if a.gidOf("198.18.57.1") < 0 {
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
		a.until("the address", a.has("198.18.57.90"))
		delAddr(t, hosts.Left, addr)
		a.until("the address to go", a.lacks("198.18.57.90"))
	}
	round()
	// What comes after it shows that the round is over in the device.
	addAddr(t, hosts.Left, spare)
	a.until("another", a.has("198.18.57.91"))
	files, goroutines := used()
	for range 50 {
		round()
	}
	for f, g := used(); f > files || g > goroutines; f, g = used() {
		runtime.Gosched()
	}
	if n := a.dev.PortAttr().GIDTableLen; n > 6 {
		t.Errorf("the GID table is %d long", n)
	}
}

// A membership ends with the interface, and there is another when it was made again.
func TestGroupsAreJoinedAgainWhenTheInterfaceIs(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	group := mustMulticastGID(t, "239.57.4.9")
	a, b := followIn(t, hosts.Left, "198.18.57.1"), followIn(t, hosts.Right, "198.18.57.2")
	a.qp, b.qp = a.newDatagramQP(udQKey), b.newDatagramQP(udQKey)
	testnet.In(t, hosts.Right, func() error { b.join(group, 0); return nil })
	for round := range 3 {
		if round > 0 {
			hosts.Cut(t)
			for _, n := range []*testNode{a, b} {
				n.until("the end of the interface", n.port("PORT_DOWN"))
				n.until("the end of its address", func() bool { return len(n.dev.GIDs()) == 0 })
			}
			hosts.Plug(t)
			b.recv(0, 4096)
		}
		for _, n := range []*testNode{a, b} {
			n.until("the interface", n.port("PORT_ACTIVE"))
		}
		copy(a.buf, "over the cable")
		a.fence()
		if err := a.qp.PostSend(a.groupSend(group, 14)); err != nil {
			t.Fatal(err)
		}
		b.heard(a, 14)
	}
}

// A listener may be there before the first address of its device is, and stays when they go.
func TestAListenerWaitsForAddresses(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	const text = "198.18.57.22"
	a, b := followIn(t, hosts.Left, "198.18.57.1"), followIn(t, hosts.Right, text)
	l, err := b.dev.Listen(verbs.PortSpaceTCP, netip.AddrPort{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	addr := addrOf(t, text+"/24", 0)
	for round := range 2 {
		addAddr(t, hosts.Right, addr)
		b.until("the address", b.has(text))
		for _, n := range []*testNode{a, b} {
			if n.qp, err = n.pd.CreateQP(verbs.QPInitAttr{SendCQ: n.cq, Cap: testCap}); err != nil {
				t.Fatal(err)
			}
		}
		accepted := make(chan error)
		go func() {
			r, err := l.Next(t.Context())
			if err == nil {
				_, err = r.Accept(t.Context(), b.qp, verbs.DefaultConnParam())
			}
			accepted <- err
		}()
		testnet.In(t, hosts.Left, func() error {
			to := netip.AddrPortFrom(netip.MustParseAddr(text), l.Addr().Port())
			_, err := a.dev.Dial(t.Context(), to, a.qp, verbs.DefaultConnParam())
			return err
		})
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		a.writes(b, byte(round))
		a.written(b)
		delAddr(t, hosts.Right, addr)
		b.until("the address to go", b.lacks(text))
	}
}
