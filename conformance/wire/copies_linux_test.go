package wire

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// upper puts an interface above link in the current network namespace. It gets its addresses.
func upper(link netlink.Link, above func(link netlink.Link, a netlink.LinkAttrs) error) error {
	addrs, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	a := netlink.NewLinkAttrs()
	a.Name, a.HardwareAddr = "upper", link.Attrs().HardwareAddr
	if err := above(link, a); err != nil {
		return err
	}
	made, err := netlink.LinkByName(a.Name)
	if err != nil {
		return err
	}
	for _, x := range addrs {
		err = errors.Join(err, netlink.AddrDel(link, &netlink.Addr{IPNet: x.IPNet}),
			netlink.AddrAdd(made, &netlink.Addr{IPNet: x.IPNet}))
	}
	return errors.Join(err, netlink.LinkSetUp(made))
}

func TestARawLinkReceivesAFrameOnce(t *testing.T) {
	bridge := func(link netlink.Link, a netlink.LinkAttrs) error {
		b := &netlink.Bridge{LinkAttrs: a}
		return errors.Join(netlink.LinkAdd(b), netlink.LinkSetMaster(link, b))
	}
	vlan := func(link netlink.Link, a netlink.LinkAttrs) error {
		a.ParentIndex = link.Attrs().Index
		return netlink.LinkAdd(&netlink.Vlan{LinkAttrs: a, VlanId: 7})
	}
	for name, kind := range map[string]struct {
		left, right func(netlink.Link, netlink.LinkAttrs) error
	}{"bridge": {nil, bridge}, "VLAN": {vlan, vlan}} {
		t.Run(name, func(t *testing.T) {
			hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24"},
				Right: []string{"198.18.45.2/24"}})
			put := func(ns netns.NsHandle, above func(netlink.Link, netlink.LinkAttrs) error) {
				testnet.OnInterface(t, ns, func(l netlink.Link) error {
					err := upper(l, above)
					if errors.Is(err, unix.EOPNOTSUPP) {
						t.Skip(err)
					}
					return err
				})
			}
			if kind.left != nil {
				put(hosts.Left, kind.left)
			}
			put(hosts.Right, kind.right)
			var l, r Link
			src, dst := netip.MustParseAddr("198.18.45.1"), netip.MustParseAddr("198.18.45.2")
			testnet.In(t, hosts.Left, func() (err error) { l, err = ListenRaw(src); return err })
			testnet.In(t, hosts.Right, func() (err error) { r, err = ListenRaw(dst); return err })
			defer l.Close()
			defer r.Close()
			for _, psn := range []bth.PSN{7, 7, 8} { // a packet that is sent twice arrives twice
				if _, err := l.Send(dst, send(psn)); err != nil {
					t.Fatal(err)
				}
			}
			for _, psn := range []bth.PSN{7, 7, 8} {
				if got := recv(t, r); got.ICRC != Right || got.PSN != psn {
					t.Errorf("received %+v, want PSN %d", got, psn)
				}
			}
		})
	}
}

func TestOnlyTheSameFrameAtAnotherInterfaceIsACopy(t *testing.T) {
	at, c := time.Unix(1, 2), newCopies()
	for i, f := range []struct {
		at    time.Time
		index int
		frame string
		want  bool
	}{
		{at, 1, "a", false}, {at, 1, "a", false}, {at, 2, "a", true}, {at, 2, "b", false},
		{at.Add(1), 2, "a", false}, {at, 3, "a", true},
	} {
		if got := c.is(f.at, f.index, []byte(f.frame)); got != f.want {
			t.Errorf("frame %d: %v, want %v", i, got, f.want)
		}
	}
	for i := range recentFrames {
		c.is(at, 1, []byte{byte(i)})
	}
	if c.is(at, 3, []byte("a")) {
		t.Error("more frames are remembered than recentFrames")
	}
}
