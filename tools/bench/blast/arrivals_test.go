package blast

import (
	"math"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestArrivalsBehindAGapAreKept(t *testing.T) {
	for _, tt := range []struct {
		name     string
		begin    bth.PSN
		arrive   []uint32 // relative to begin
		want     []arrival
		expected uint32
		early    uint32
	}{
		{"in order", 0, []uint32{0, 1, 2}, []arrival{inOrder, inOrder, inOrder}, 3, 0},
		{"one gap", 0, []uint32{0, 2, 3, 1, 4}, []arrival{inOrder, early, early, filling, inOrder}, 5, 0},
		{"two gaps", 0, []uint32{1, 3, 0, 2}, []arrival{early, early, filling, filling}, 4, 0},
		{"the second gap remains", 0, []uint32{1, 3, 0}, []arrival{early, early, filling}, 2, 1},
		{"duplicates", 0, []uint32{0, 2, 0, 2, 1, 1},
			[]arrival{inOrder, early, duplicate, duplicate, filling, duplicate}, 3, 0},
		{"PSNs wrap", bth.MaxPSN, []uint32{1, 2, 0, 3}, []arrival{early, early, filling, inOrder}, 4, 0},
		{"end of the ring", 100, []uint32{127, 128, 1}, []arrival{early, outside, early}, 0, 2},
	} {
		a := newArrivals(100)
		a.expected = tt.begin
		var got []arrival
		for _, n := range tt.arrive {
			got = append(got, a.take(tt.begin.Add(n)))
		}
		if !slices.Equal(got, tt.want) || a.expected != tt.begin.Add(tt.expected) || a.early != tt.early {
			t.Errorf("%s: %v, expected %d, %d early; want %v", tt.name, got, a.expected, a.early, tt.want)
		}
	}
}

func TestLossesAreAPartAndTheSameInEveryRun(t *testing.T) {
	const n = 100_000
	for _, part := range []float64{0, 0.01, 0.5, math.Nextafter(1, 0)} {
		l, other := newLosses(part, 1), newLosses(part, 1)
		lost := 0
		for range n {
			gone := l.next()
			if gone {
				lost++
			}
			if other.next() != gone {
				t.Fatalf("%v: two runs lose different packets", part)
			}
		}
		// Five standard deviations.
		if off := math.Abs(float64(lost) - part*n); off > 5*math.Sqrt(part*(1-part)*n)+1e-6 {
			t.Errorf("%v: %d of %d packets are lost", part, lost, n)
		}
	}
}
