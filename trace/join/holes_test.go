package join

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// A capture in which nearly all packets are missing makes few events, and does not take hours.
func TestHolesOfAllPacketsTogetherAreLimited(t *testing.T) {
	j := &joiner{window: newWindow(), pairs: map[pairKey]*pair{}, report: &Report{}, wait: int64(time.Second),
		directions: map[directionKey]*direction{}, events: events{byKey: map[eventKey]*event{}}, holes: 2000}
	j.distance = func(*entry) int64 { return 0 }
	j.sides[0] = side{analyzer: trace.NewAnalyzer(trace.Options{NoMeaning: true}), now: 1}
	addr := netip.MustParseAddrPort("10.0.0.1:50000")
	const packets = 100
	for i := range packets {
		p := &trace.Packet{Src: addr, Dst: addr, Len: bth.BTHLen + bth.ICRCLen, Number: i + 1,
			Bytes: make([]byte, bth.BTHLen+bth.ICRCLen), BTH: bth.Packet{DestQP: 0x21,
				PSN: bth.PSN(i * 1000), Opcode: bth.RCSendOnly}}
		j.packet(0, p)
	}
	if got := len(j.events.queue); got == 0 || got > 2000+packets*holePerPacket {
		t.Errorf("%d events", got)
	}
	j.finish()
}
