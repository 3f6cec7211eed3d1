package blast

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestPlacesOfARegionFollowOneAnother(t *testing.T) {
	c := Config{Segment: 4112}
	region := c.region()
	if len(region) != regionBytes || c.window() != 256 || c.train() != 15 {
		t.Fatalf("a region of %d bytes, a window of %d packets in trains of %d", len(region), c.window(), c.train())
	}
	for psn, want := range map[bth.PSN]int{0: 0, 1: 4096, 15: 15 * 4096, 16: 0, 0x23: 3 * 4096} {
		if p := c.place(region, psn); &p[0] != &region[want] || len(p) != 4096 {
			t.Errorf("packet %d is not at %d", psn, want)
		}
	}
	long := Config{Segment: MaxSegment}
	if long.places() != 1 || long.window() < uint32(long.train()) {
		t.Errorf("%d places, a window of %d", long.places(), long.window())
	}
}
