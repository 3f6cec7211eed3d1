package packet_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The two hosts of a testNet and the addresses on their ends of the cable, both called veth0.
const (
	leftIPv4, rightIPv4   = "198.18.44.1", "198.18.44.2"
	leftIPv6, rightIPv6   = "fd00:44::1", "fd00:44::2"
	leftLocal, rightLocal = "fe80::44:1%veth0", "fe80::44:2%veth0"
)

// testNet is two network namespaces with a veth pair between them.
type testNet struct{ left, right netns.NsHandle }

// newTestNet makes a testNet with the given MTU. segments, if not 0, is the most segments the left device takes in one
// piece: with 1 the kernel cuts up every train before it goes on the wire.
func newTestNet(t testing.TB, mtu, segments int) *testNet {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	n := new(testNet)
	for _, h := range []*netns.NsHandle{&n.left, &n.right} {
		ns, err := newNamespace()
		if err != nil {
			t.Skipf("cannot make a network namespace: %v", err)
		}
		t.Cleanup(func() { ns.Close() })
		*h = ns
	}
	in(t, n.left, func() error {
		veth := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "veth0", MTU: mtu, GSOMaxSegs: uint32(segments)},
			PeerName:  "veth0", PeerNamespace: netlink.NsFd(n.right),
		}
		return netlink.LinkAdd(veth)
	})
	for _, side := range []struct {
		ns    netns.NsHandle
		addrs []string
	}{
		{n.left, []string{leftIPv4 + "/24", leftIPv6 + "/64", "fe80::44:1/64"}},
		{n.right, []string{rightIPv4 + "/24", rightIPv6 + "/64", "fe80::44:2/64"}},
	} {
		in(t, side.ns, func() error { return bringUp("veth0", mtu, side.addrs) })
	}
	return n
}

func bringUp(name string, mtu int, addrs []string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(link, mtu); err != nil {
		return err
	}
	for _, a := range addrs {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		addr.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrAdd(link, addr); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(link)
}

// newNamespace makes a namespace and leaves the thread in its own.
func newNamespace() (netns.NsHandle, error) {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		return netns.None(), err
	}
	defer home.Close()
	ns, err := netns.New()
	if err != nil {
		runtime.UnlockOSThread()
		return ns, err
	}
	return ns, goHome(home)
}

// goHome returns the thread to its namespace. A thread that cannot return stays locked and ends with its goroutine.
func goHome(home netns.NsHandle) error {
	err := netns.Set(home)
	if err == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// in runs f with its thread in ns. Sockets f opens stay there.
func in(t testing.TB, ns netns.NsHandle, f func() error) {
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
	err = f()
	if herr := goHome(home); herr != nil {
		t.Fatal(herr)
	}
	if err != nil {
		t.Fatal(err)
	}
}
