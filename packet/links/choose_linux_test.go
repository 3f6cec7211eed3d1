package links

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/host/xsk"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
)

// A veth pair has no zero-copy. Choosing the best kind attaches no program there, not even
// temporarily, so that another owner's program causes no conflict.
func TestChooseOnAVethPair(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 9000, Left: []string{"198.18.44.1/24"}})
	testnet.OnInterface(t, hosts.Left, func(i netlink.Link) error {
		f, err := xsk.FeaturesOf(i.Attrs().Index)
		if err != nil {
			t.Skipf("%v", err)
		}
		if !f.Native || f.ZeroCopy {
			t.Errorf("a veth pair has %+v", f)
		}
		l, choices, err := Choose(netip.MustParseAddr("198.18.44.1"))
		if err != nil {
			return err
		}
		defer l.Close()
		if got := l.Caps().Name; got != "raw" {
			t.Errorf("chosen is %s, want raw", got)
		}
		if len(choices) != 3 ||
			choices[0].String() != "xdp: not chosen: the driver of veth0 does not support zero-copy" ||
			choices[1].String() != "raw: chosen" ||
			choices[2].String() !=
				"udp: not chosen: raw is better: it sees IP headers, so it checks every ICRC in full" {
			t.Errorf("choices: %v", choices)
		}
		return nil
	})
}
