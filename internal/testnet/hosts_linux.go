package testnet

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Interface is the name of the veth interface in each host.
const Interface = "veth0"

// Hosts are two network namespaces with a veth pair, the cable, between them.
type Hosts struct {
	Left, Right netns.NsHandle

	cable Cable
}

// Cable describes the veth pair.
type Cable struct {
	MTU int // in bytes
	// Segments is the maximum number of segments of a GSO packet of the left end, 0: the kernel's
	// default. With 1 the kernel segments every GSO packet before it sends it.
	Segments    int
	Left, Right []string // addresses with prefix length, such as 198.18.0.1/24
}

// Connect makes two hosts and the cable and waits until the cable has a carrier. It removes them
// when the test ends.
func Connect(t testing.TB, c Cable) *Hosts {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	h := &Hosts{cable: c}
	for _, ns := range []*netns.NsHandle{&h.Left, &h.Right} {
		made, err := newNamespace()
		if err != nil {
			t.Skipf("cannot make a network namespace: %v", err)
		}
		t.Cleanup(func() { made.Close() })
		*ns = made
	}
	h.Plug(t)
	return h
}

// Plug makes the cable again after Cut, and waits until it has a carrier.
func (h *Hosts) Plug(t testing.TB) {
	t.Helper()
	c := &h.cable
	In(t, h.Left, func() error {
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: Interface, MTU: c.MTU, GSOMaxSegs: uint32(c.Segments)},
			PeerName:  Interface, PeerNamespace: netlink.NsFd(h.Right),
		})
	})
	In(t, h.Left, func() error { return bringUp(c.MTU, c.Left) })
	In(t, h.Right, func() error { return bringUp(c.MTU, c.Right) })
	In(t, h.Left, func() error { return awaitCarrier(t.Context()) })
	In(t, h.Right, func() error { return awaitCarrier(t.Context()) })
}

// Cut removes the cable, and with it the interfaces of both hosts.
func (h *Hosts) Cut(t testing.TB) {
	t.Helper()
	OnInterface(t, h.Left, netlink.LinkDel)
}

// OnInterface calls f with the interface of a host.
func OnInterface(t testing.TB, ns netns.NsHandle, f func(netlink.Link) error) {
	t.Helper()
	In(t, ns, func() error {
		link, err := netlink.LinkByName(Interface)
		if err != nil {
			return err
		}
		return f(link)
	})
}

func bringUp(mtu int, addrs []string) error {
	link, err := netlink.LinkByName(Interface)
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

// awaitCarrier waits until the interface of the calling thread's namespace is operational, which it
// is shortly after both ends are up.
func awaitCarrier(ctx context.Context) error {
	for ctx.Err() == nil {
		link, err := netlink.LinkByName(Interface)
		if err != nil || link.Attrs().OperState == netlink.OperUp {
			return err
		}
		runtime.Gosched()
	}
	return ctx.Err()
}

// newNamespace makes a namespace and leaves the calling thread in its original namespace.
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

// goHome returns the calling thread to the namespace home and unlocks it. A thread that cannot
// return stays locked and ends with its goroutine.
func goHome(home netns.NsHandle) error {
	err := netns.Set(home)
	if err == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// In calls f with the calling thread in ns. Sockets that f opens stay in ns. If f ends the test,
// the thread ends too.
func In(t testing.TB, ns netns.NsHandle, f func() error) {
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
