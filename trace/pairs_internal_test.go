package trace

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// A search that exceeds the limit on examined directions finds nothing; each packet allows more.
func TestSearchesForTheOtherDirectionAreLimited(t *testing.T) {
	a := NewAnalyzer(Options{})
	from, to := netip.MustParseAddrPort("10.0.0.1:50000"), netip.MustParseAddrPort("10.0.0.2:50001")
	add := func(op bth.Opcode, psn bth.PSN) *Flow {
		p := &Packet{Src: from, Dst: to, Len: bth.BTHLen + bth.ICRCLen,
			BTH: bth.Packet{Opcode: op, DestQP: 0x21, PSN: psn, AckReq: true}}
		if op == bth.RCAck {
			p.Src, p.Dst, p.BTH.DestQP, p.BTH.AETH.Syndrome = to, from, 0x11, 0x1f
			p.Len += 4
		}
		a.Add(p)
		return p.Flow
	}
	const packets = 4
	a.searches = -packets * searchPerPacket
	for psn := range bth.PSN(packets / 2) {
		if x, y := add(bth.RCSendOnly, psn), add(bth.RCAck, psn); x == y {
			t.Fatalf("the directions are paired at PSN %d", psn)
		}
	}
	if x, y := add(bth.RCSendOnly, packets), add(bth.RCAck, packets); x.Current() != y.Current() {
		t.Error("the directions are not paired")
	}
}
