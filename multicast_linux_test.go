package gorxe_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/gorxe/gorxe"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inNamespace runs f with its thread in ns. A thread that cannot return stays locked and
// ends with its goroutine.
func inNamespace(t *testing.T, ns netns.NsHandle, f func()) {
	t.Helper()
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	if err := netns.Set(ns); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := netns.Set(home); err != nil {
			t.Errorf("the thread cannot return to its namespace: %v", err)
			return
		}
		runtime.UnlockOSThread()
	}()
	f()
}

// newHost makes a namespace of its own.
func newHost(t *testing.T) netns.NsHandle {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	var ns netns.NsHandle
	inNamespace(t, home, func() { ns, err = netns.New() })
	if err != nil {
		t.Skipf("cannot make a network namespace: %v", err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// twoHosts are two namespaces with a cable between them.
func twoHosts(t *testing.T) (left, right netns.NsHandle) {
	t.Helper()
	left, right = newHost(t), newHost(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	inNamespace(t, left, func() {
		must(netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "veth0", MTU: 1500}, PeerName: "veth0", PeerNamespace: netlink.NsFd(right),
		}))
	})
	for i, ns := range []netns.NsHandle{left, right} {
		inNamespace(t, ns, func() {
			link, err := netlink.LinkByName("veth0")
			must(err)
			for _, a := range [][]string{{"198.18.55.1/24", "fd00:55::1/64"}, {"198.18.55.2/24", "fd00:55::2/64"}}[i] {
				addr, err := netlink.ParseAddr(a)
				must(err)
				addr.Flags = unix.IFA_F_NODAD
				must(netlink.AddrAdd(link, addr))
			}
			must(netlink.LinkSetUp(link))
		})
	}
	for _, ns := range []netns.NsHandle{left, right} {
		inNamespace(t, ns, func() {
			// The kernel takes the cable in, and sets up IPv6, a moment later.
			for up := false; !up && t.Context().Err() == nil; {
				link, err := netlink.LinkByName("veth0")
				must(err)
				up = link.Attrs().OperState == netlink.OperUp
				runtime.Gosched()
			}
		})
	}
	return left, right
}

// Two hosts and a cable: what one sends to a group reaches both members on the other, over
// both families.
func TestMulticastCrossesHosts(t *testing.T) {
	left, right := twoHosts(t)
	for _, family := range []struct{ name, left, right, group string }{
		{"IPv4", "198.18.55.1", "198.18.55.2", "239.55.4.9"},
		{"IPv6", "fd00:55::1", "fd00:55::2", "ff0e::55:4:9"},
		{"IPv6, of the link", "fd00:55::1", "fd00:55::2", "ff02::55:4:9"},
	} {
		t.Run(family.name, func(t *testing.T) {
			group := mustMulticastGID(t, family.group)
			var a, b, c *testNode
			inNamespace(t, left, func() { a = datagramNode(t, gorxe.Config{Device: family.left}, 8192) })
			inNamespace(t, right, func() {
				b = datagramNode(t, gorxe.Config{Device: family.right}, 8192)
				b.join(group, 0)
				second := *b
				c = &second
				var err error
				if c.cq, err = b.dev.CreateCQ(16); err != nil {
					t.Fatal(err)
				}
				c.qp = c.newDatagramQP(udQKey)
				c.join(group, 4096)
			})
			copy(a.buf, "over the cable")
			a.fence()
			if err := a.qp.PostSend(a.groupSend(group, 14)); err != nil {
				t.Fatal(err)
			}
			if err := a.dev.SendError(); err != nil {
				t.Fatal(err)
			}
			b.heard(a, 14)
			c.heard(a, 14)
			ah, err := b.pd.CreateAHFromWC(&gorxe.WC{Flags: gorxe.WCGRH}, b.buf)
			if err != nil {
				t.Fatal(err)
			}
			if gid, _ := a.dev.GID(0); ah.Vector().DGID != gid.GID {
				t.Errorf("the way back leads to %v, not to %v", ah.Vector().DGID, gid.GID)
			}
			if d := b.dev.Counters(); d["drop_bad_icrc"]+d["drop_unknown_qpn"]+d["drop_stranger"] > 0 {
				t.Errorf("drops: %v", d)
			}
		})
	}
}
