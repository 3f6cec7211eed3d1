package namespaces_test

import (
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// Two hosts and a cable: a datagram to a group from one reaches both members on the other, over
// both families.
func TestMulticastCrossesHosts(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{
		MTU: 1500, Left: []string{"198.18.55.1/24", "fd00:55::1/64"},
		Right: []string{"198.18.55.2/24", "fd00:55::2/64"},
	})
	for _, family := range []struct{ name, left, right, group string }{
		{"IPv4", "198.18.55.1", "198.18.55.2", "239.55.4.9"},
		{"IPv6", "fd00:55::1", "fd00:55::2", "ff0e::55:4:9"},
		{"IPv6, of the link", "fd00:55::1", "fd00:55::2", "ff02::55:4:9"},
	} {
		t.Run(family.name, func(t *testing.T) {
			group := verbstest.MustMulticastGID(t, family.group)
			var a, b, c *verbstest.Node
			testnet.In(t, hosts.Left, func() error {
				a = verbstest.OpenDatagram(t, verbs.Config{Device: family.left}, 8192)
				return nil
			})
			testnet.In(t, hosts.Right, func() (err error) {
				b = verbstest.OpenDatagram(t, verbs.Config{Device: family.right}, 8192)
				b.Join(group, 0)
				second := *b
				c = &second
				if c.CQ, err = b.Device.CreateCQ(16); err != nil {
					return err
				}
				c.QP = c.NewDatagramQP(verbstest.QKey)
				c.Join(group, 4096)
				return nil
			})
			copy(a.Buf, "over the cable")
			a.Fence()
			if err := a.QP.PostSend(a.GroupSend(group, 14)); err != nil {
				t.Fatal(err)
			}
			if err := a.Device.SendError(); err != nil {
				t.Fatal(err)
			}
			b.WaitDatagram(a, 14)
			c.WaitDatagram(a, 14)
			ah, err := b.PD.CreateAHFromWC(&verbs.WC{Flags: verbs.WCGRH}, b.Buf)
			if err != nil {
				t.Fatal(err)
			}
			if gid, _ := a.Device.GID(0); ah.Vector().DGID != gid.GID {
				t.Errorf("the way back leads to %v, not to %v", ah.Vector().DGID, gid.GID)
			}
			if d := b.Device.Counters(); d["drop_bad_icrc"]+d["drop_unknown_qpn"]+d["drop_stranger"] > 0 {
				t.Errorf("drops: %v", d)
			}
		})
	}
}
