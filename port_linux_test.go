package gorxe_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// A device on a real interface: the interface goes down and comes up, its carrier goes and
// comes back, and the port tells.
func TestPortFollowsItsInterface(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	// The thread keeps the namespace, so it must end with the goroutine of the test.
	runtime.LockOSThread()
	ns, err := netns.New()
	if err != nil {
		t.Skipf("cannot make a network namespace: %v", err)
	}
	defer ns.Close()
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "left", MTU: 1500}, PeerName: "right"}
	if err := netlink.LinkAdd(veth); err != nil {
		t.Skipf("cannot make a veth pair: %v", err)
	}
	left, right := linkNamed(t, "left"), linkNamed(t, "right")
	addr, err := netlink.ParseAddr("198.18.45.1/24")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{netlink.AddrAdd(left, addr), netlink.LinkSetUp(left), netlink.LinkSetUp(right)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := gorxe.Open(gorxe.Config{Device: "198.18.45.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		step  string
		do    func() error
		event gorxe.EventType
		state string
	}{
		{"down", func() error { return netlink.LinkSetDown(left) }, gorxe.EventPortErr, "PORT_DOWN"},
		{"up", func() error { return netlink.LinkSetUp(left) }, gorxe.EventPortActive, "PORT_ACTIVE"},
		{"cable out", func() error { return netlink.LinkSetDown(right) }, gorxe.EventPortErr, "PORT_DOWN"},
		{"cable in", func() error { return netlink.LinkSetUp(right) }, gorxe.EventPortActive, "PORT_ACTIVE"},
		{"gone", func() error { return netlink.LinkDel(left) }, gorxe.EventPortErr, "PORT_DOWN"},
	} {
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.step, err)
		}
		e, err := d.Event(ctx)
		if err != nil || e.Type != c.event || e.Port != 1 {
			t.Fatalf("%s: Event = %v, %v, want %v", c.step, e, err, c.event)
		}
		if got := d.PortAttr().State; got != c.state {
			t.Errorf("%s: the port is %s, want %s", c.step, got, c.state)
		}
	}
}

func linkNamed(t *testing.T, name string) netlink.Link {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
