package verbs

import (
	"net/netip"
	"testing"
)

// The REQ names the hop limit that the packets of the queue pair carry.
func TestTheREQHasTheHopLimitOfTheQueuePair(t *testing.T) {
	local, remote := netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.2:2")
	for got, want := range map[uint8]uint8{0: 64, 1: 64, 2: 2, 63: 63, 64: 64, 255: 255} {
		param := &CommParam{}
		param.HopLimit = got
		r, err := newREQ(gidOf(local.Addr()), local, remote, param)
		if err != nil {
			t.Fatal(err)
		}
		if r.Primary.HopLimit != want {
			t.Errorf("hop limit %d: the REQ has %d, want %d", got, r.Primary.HopLimit, want)
		}
	}
}
