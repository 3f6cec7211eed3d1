package filter_test

import (
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/filter"
	"github.com/gorxe/gorxe/trace/tunnel"
)

func TestFieldsOfTunnelsAndOtherNetworks(t *testing.T) {
	plain := &trace.Packet{IP: trace.IP{Version: 4}}
	vxlan := &trace.Packet{IP: trace.IP{Version: 4}, Outer: []tunnel.Layer{{Kind: tunnel.MPLS, ID: 5, HasID: true},
		{Kind: tunnel.VXLAN, ID: 100, HasID: true}}}
	one := &trace.Packet{IP: trace.IP{Version: 6}, Fabric: fabric.RoCEv1, GRH: &fabric.GRH{}}
	ib := &trace.Packet{Fabric: fabric.InfiniBand, LRH: &fabric.LRH{SLID: 5, DLID: 9}}
	for _, tt := range []struct {
		text string
		want [4]bool // plain, vxlan, one, ib
	}{
		{"tunnel", [4]bool{false, true, false, false}},
		{"tunnel vxlan", [4]bool{false, true, false, false}},
		{"tunnel MPLS", [4]bool{false, true, false, false}},
		{`tunnel "ERSPAN II"`, [4]bool{}},
		{"vni 100", [4]bool{false, true, false, false}},
		{"vni 5", [4]bool{}},
		{"fabric RoCEv1", [4]bool{false, false, true, false}},
		{"fabric rocev2", [4]bool{true, true, false, false}},
		{"lid 9", [4]bool{false, false, false, true}},
		{"lid in {1..5}", [4]bool{false, false, false, true}},
		{"udp", [4]bool{true, true, false, false}},
		{"udp.dstport == 0", [4]bool{true, true, false, false}},
		{"ip", [4]bool{true, true, false, false}},
		{"ipv6", [4]bool{}},
		{"ipv6.hlim == 0", [4]bool{}},
	} {
		f, err := filter.Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		for i, p := range []*trace.Packet{plain, vxlan, one, ib} {
			if got := f.Match(p); got != tt.want[i] {
				t.Errorf("%s, packet %d: %v", tt.text, i, got)
			}
		}
	}
}
