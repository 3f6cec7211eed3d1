package overlay

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/trace/tunnel"
)

var (
	x = netip.MustParseAddr("10.0.0.1")
	y = netip.MustParseAddr("10.0.0.2")

	forth, back = Path{x, y}, Path{y, x}
)

func TestTheNetworkOfAPacketIsThatOfItsVNIs(t *testing.T) {
	vxlan := func(vni uint32) tunnel.Layer { return tunnel.Layer{Kind: tunnel.VXLAN, ID: vni, HasID: true} }
	gre := tunnel.Layer{Kind: tunnel.GRE, ID: 5, HasID: true}
	seen := map[Network]int{}
	for i, outer := range [][]tunnel.Layer{nil, {vxlan(0)}, {vxlan(7)}, {vxlan(8)}, {vxlan(7), vxlan(8)},
		{vxlan(8), vxlan(7)}} {
		n := Of(outer)
		if was, ok := seen[n]; ok || i == 0 != (n == 0) {
			t.Errorf("%d and %d have the network %d", was, i, n)
		}
		seen[n] = i
		if with := append([]tunnel.Layer{gre}, outer...); Of(with) != n {
			t.Errorf("a key of GRE changes %d", i)
		}
		vni, ok := VNI(outer)
		if ok != (i > 0) || ok && vni != outer[len(outer)-1].ID {
			t.Errorf("%d: VNI %d, %v", i, vni, ok)
		}
	}
}

func TestTheNetworkOfAFlow(t *testing.T) {
	type step struct {
		path Path
		own  Network
		want Network
	}
	for _, tt := range []struct {
		rule    string
		earlier []Path
		steps   []step
	}{
		{"symmetric", nil, []step{{forth, 7, 7}, {back, 7, 7}, {forth, 8, 8}, {back, 8, 8}, {forth, 7, 7}}},
		{"asymmetric", nil, []step{{forth, 7, 7}, {back, 8, 7}, {forth, 7, 7}, {back, 8, 7}}},
		{"one direction inside of the tunnel", []Path{forth}, []step{{back, 7, 0}, {forth, 0, 0}}},
		{"a tenant beside untunnelled traffic", []Path{forth, back}, []step{{forth, 7, 7}, {back, 7, 7}, {back, 0, 0}}},
		{"two networks before any answer", nil, []step{{forth, 7, 7}, {forth, 8, 8}, {back, 8, 8}, {back, 7, 7}}},
		{"a second tenant that was taken for the first", nil,
			[]step{{forth, 7, 7}, {back, 8, 7}, {forth, 8, 8}, {back, 8, 8}, {back, 7, 7}}},
		{"a first tenant whose answers come later", nil,
			[]step{{forth, 7, 7}, {back, 8, 7}, {back, 7, 7}, {back, 8, 8}}},
	} {
		var tr Tracker
		tr.Begin(func(yield func(Path) bool) {
			for _, w := range tt.earlier {
				if !yield(w) {
					return
				}
			}
		})
		for i, s := range tt.steps {
			if got := tr.Network(s.path, s.own); got != s.want {
				t.Errorf("%s, step %d: network %d, want %d", tt.rule, i, got, s.want)
			}
		}
	}
}

func TestACopyChangesNothing(t *testing.T) {
	var tr Tracker
	tr.Begin(func(func(Path) bool) {})
	if n := tr.OfCopy(forth, 7); n != 7 {
		t.Errorf("unknown: %d", n)
	}
	tr.Network(forth, 0)
	if n := tr.OfCopy(forth, 7); n != 0 {
		t.Errorf("after the original: %d", n)
	}
	if n := tr.Network(back, 7); n != 0 {
		t.Errorf("the answer: %d", n)
	}
}

func TestStateIsBounded(t *testing.T) {
	var tr Tracker
	tr.Begin(func(func(Path) bool) {})
	for i := range 2 * maxPathSights {
		if n := tr.Network(forth, Network(i+1)); n != Network(i+1) {
			t.Fatalf("network %d of %d", n, i+1)
		}
	}
	if n := len(tr.paths[forth]); n != maxPathSights {
		t.Errorf("%d networks of a path", n)
	}
	for i := range 2 * maxSights {
		w := Path{x, netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(i))))}
		if n := tr.Network(w, 9); n != 9 {
			t.Fatalf("network %d", n)
		}
	}
	if n := len(tr.paths); n > maxSights || tr.sights != maxSights {
		t.Errorf("%d paths, %d networks", n, tr.sights)
	}
}
