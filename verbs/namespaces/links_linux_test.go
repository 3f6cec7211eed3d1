package namespaces_test

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// Both ends of the cable, over both versions of IP, with devices of the same kind and of two
// kinds.
func TestExchangeOverEveryKindOfLink(t *testing.T) {
	for _, kinds := range [][2]string{
		{"raw", "raw"}, {"raw", "udp"}, {"udp", "raw"},
		{"xdp", "xdp"}, {"xdp", "udp"}, {"udp", "xdp"}, {"xdp", "raw"}, {"raw", "xdp"},
	} {
		for _, ends := range [][2]string{{"198.18.57.1", "198.18.57.2"}, {"fd00:57::1", "fd00:57::2"}} {
			t.Run(kinds[0]+" to "+kinds[1]+" from "+ends[0], func(t *testing.T) {
				hosts := testnet.Connect(t, followCable)
				// Not every kind has a queue per shard.
				a, b := followBy(t, hosts.Left, ends[0], kinds[0], 4), followBy(t, hosts.Right, ends[1], kinds[1], 3)
				a.Until("the address", a.Has(ends[0]))
				b.Until("the address", b.Has(ends[1]))
				for i, n := range []*verbstest.Node{a, b} {
					if got := n.Device.GIDs()[0].Link; got != kinds[i] {
						t.Errorf("a link of kind %q, want %q", got, kinds[i])
					}
				}
				connectOver(t, a, b, ends[0], ends[1])
				verbstest.Exchange(t, a, b)
			})
		}
	}
}

// As over UDP: the interface of established connections is deleted and created again.
func TestTrafficInFramesGoesOnWhenTheInterfaceIsMadeAgain(t *testing.T) {
	for _, kind := range []string{"raw", "xdp"} {
		t.Run(kind, func(t *testing.T) {
			hosts := testnet.Connect(t, followCable)
			a, b := followBy(t, hosts.Left, testnet.Interface, kind, 2),
				followBy(t, hosts.Right, "198.18.57.2", kind, 1)
			for _, n := range []*verbstest.Node{a, b} {
				n.Until("the port", n.Port("PORT_ACTIVE"))
			}
			connectOver(t, a, b, "198.18.57.1", "198.18.57.2")
			a.PostWrite(b, 1)
			a.WaitWrite(b)
			hosts.Cut(t)
			for _, n := range []*verbstest.Node{a, b} {
				n.Until("the end of the interface", func() bool { return len(n.Device.GIDs()) == 0 })
			}
			a.PostWrite(b, 2)
			hosts.Plug(t)
			for _, n := range []*verbstest.Node{a, b} {
				n.Until("the port", n.Port("PORT_ACTIVE"))
			}
			a.WaitWrite(b)
		})
	}
}

func TestALinkOfNoKindIsRefused(t *testing.T) {
	for _, follow := range []bool{false, true} {
		_, err := verbs.Open(verbs.Config{Device: "127.0.0.1", Link: "wire", Follow: follow})
		if err == nil || !strings.Contains(err.Error(), `"wire": choose udp, raw, xdp or auto`) {
			t.Errorf("Open: %v", err)
		}
	}
}
