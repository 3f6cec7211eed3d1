package namespaces_test

import (
	"context"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// A device on a real interface: the interface goes down and up, its carrier is lost and returns,
// and the port follows.
func TestPortFollowsItsInterface(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24"}})
	var d *verbs.Device
	testnet.In(t, hosts.Left, func() (err error) {
		d, err = verbs.Open(verbs.Config{Device: "198.18.45.1"})
		return err
	})
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		step  string
		ns    netns.NsHandle
		do    func(netlink.Link) error
		event verbs.EventType
		state string
	}{
		{"down", hosts.Left, netlink.LinkSetDown, verbs.EventPortErr, "PORT_DOWN"},
		{"up", hosts.Left, netlink.LinkSetUp, verbs.EventPortActive, "PORT_ACTIVE"},
		{"cable out", hosts.Right, netlink.LinkSetDown, verbs.EventPortErr, "PORT_DOWN"},
		{"cable in", hosts.Right, netlink.LinkSetUp, verbs.EventPortActive, "PORT_ACTIVE"},
		{"gone", hosts.Left, netlink.LinkDel, verbs.EventPortErr, "PORT_DOWN"},
	} {
		testnet.OnInterface(t, c.ns, c.do)
		e, err := d.Event(ctx)
		if err != nil || e.Type != c.event || e.Port != 1 {
			t.Fatalf("%s: Event = %v, %v, want %v", c.step, e, err, c.event)
		}
		if got := d.PortAttr().State; got != c.state {
			t.Errorf("%s: the port is %s, want %s", c.step, got, c.state)
		}
	}
}
