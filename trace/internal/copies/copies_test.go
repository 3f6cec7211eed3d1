package copies_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/internal/copies"
)

// see is a packet at a capture point: content, interface, time in milliseconds, and the frame that
// it must be a copy of.
type see struct {
	content string
	iface   int
	at      int
	want    int
	any     bool
}

func TestAPacketIsACopyIfAnotherPointSawItMoreOften(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen []see
	}{
		{"each packet at three interfaces", []see{
			{"a", 1, 0, 0, false}, {"a", 2, 0, 1, false}, {"b", 1, 1, 0, false}, {"a", 3, 1, 1, false},
			{"b", 3, 1, 3, false}, {"b", 2, 2, 3, false}}},
		{"a retransmission passes all points again", []see{
			{"a", 1, 0, 0, false}, {"a", 2, 0, 1, false}, {"a", 1, 9, 0, false}, {"a", 2, 9, 3, false}}},
		{"a packet that was duplicated before the first point", []see{
			{"a", 1, 0, 0, false}, {"a", 1, 0, 0, false}, {"a", 2, 0, 2, false}, {"a", 2, 0, 2, false}}},
		{"one point only", []see{{"a", 0, 0, 0, false}, {"a", 0, 1, 0, false}}},
		{"a point that is not told apart", []see{{"a", 0, 0, 0, true}, {"a", 0, 1, 1, true}, {"a", 0, 3, 0, true}}},
		{"the same bytes long after", []see{{"a", 1, 0, 0, false}, {"a", 2, 1001, 0, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var table copies.Table
			for i, s := range tt.seen {
				got := table.Original(&copies.Sighting{
					Point: copies.Point{Interface: s.iface}, Bytes: []byte(s.content), Len: len(s.content),
					Frame: i + 1, Time: time.Unix(1, int64(s.at)*1e6), AnyPoint: s.any,
				})
				if got != s.want {
					t.Errorf("packet %d is a copy of %d, want %d", i+1, got, s.want)
				}
			}
		})
	}
}

func TestTruncatedPacketsOfOtherHostsAreNoCopies(t *testing.T) {
	var table copies.Table
	for i, src := range []string{"10.0.0.1", "10.0.0.2"} {
		if got := table.Original(&copies.Sighting{
			Point: copies.Point{Interface: i}, Src: netip.MustParseAddr(src), Bytes: []byte("same"), Len: 100,
			Frame: i + 1,
		}); got != 0 {
			t.Errorf("packet %d is a copy of %d", i+1, got)
		}
	}
}

func TestRepetitionsAtOnePointAreCounted(t *testing.T) {
	var table copies.Table
	for i := range 5 {
		table.Original(&copies.Sighting{Bytes: []byte("a"), Len: 1, Frame: i + 1})
	}
	if table.Repeated != 4 {
		t.Error(table.Repeated)
	}
}

func BenchmarkOriginal(b *testing.B) {
	var table copies.Table
	s := copies.Sighting{Bytes: make([]byte, 1040), Len: 1040}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Bytes[9], s.Bytes[10], s.Frame = byte(i), byte(i>>8), i+1
		table.Original(&s)
	}
}
