package join

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// framesIn returns the frames of a capture file.
func framesIn(t *testing.T, path string) (all []capture.Frame) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		c := *f
		c.Data = slices.Clone(f.Data)
		all = append(all, c)
	}
	return all
}

// copyOf returns the frames of a capture behind a path of 15 µs, by a clock that is a minute ahead,
// without the packets for which remove is true.
func copyOf(a []capture.Frame, remove func(i int) bool) (b []capture.Frame, packets, removed int) {
	var d trace.Decoder
	var first trace.Packet
	for i, f := range a {
		shift := 15 * time.Microsecond
		roce := false
		d.Decode(&f, func(p *trace.Packet) {
			if packets++; packets == 1 {
				first = *p
			}
			if roce = true; p.Src.Addr() != first.Src.Addr() {
				shift = -shift
			}
		})
		if roce && remove(i) {
			removed++
			continue
		}
		f.Number, f.Time = len(b)+1, f.Time.Add(time.Minute+shift)
		b = append(b, f)
	}
	return b, packets, removed
}

// Captures of Linux rxe, and copies of them with some packets removed: what the copy lacks is all
// that the report says, as lost between the points or missing in B, beside the losses at other
// places that the report of an exact copy has.
func TestACopyOfARealCapture(t *testing.T) {
	for _, path := range rxetraffic.Unpack(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			a := framesIn(t, path)
			exact, _, _ := copyOf(a, func(int) bool { return false })
			own, err := Join(t.Context(), &frames{a}, &frames{exact}, Options{Offset: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(5, uint64(len(a))))
			b, packets, removed := copyOf(a, func(i int) bool {
				return i > 10 && i < len(a)-10 &&
					random.IntN(20) == 0
			})
			r, err := Join(t.Context(), &frames{a}, &frames{b}, Options{Offset: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			var seen, before [6]int
			for _, l := range own.Losses {
				before[l.Where]++
			}
			for _, l := range r.Losses {
				seen[l.Where]++
				if l.Frames[0] == 0 && l.Where == Between || l.Where == MissedByA {
					t.Errorf("%+v", l)
				}
			}
			t.Logf("exact copy: %v; %d of %d packets removed: %v", before, removed, packets, seen)
			if before[Between]+before[MissedByA]+before[MissedByB] > 0 {
				t.Errorf("the exact copy has %v", before)
			}
			got := seen[Between] + seen[Somewhere] + seen[MissedByB] + int(r.Total.Outside)
			if got != removed || int(r.Total.Both) != packets-removed {
				t.Errorf("%d in both, %d outside", r.Total.Both, r.Total.Outside)
			}
			if seen[Before] > before[Before] || seen[Behind] > before[Behind] {
				t.Errorf("losses at other places that did not happen")
				for _, l := range r.Losses {
					t.Logf("%+v", l)
				}
			}
		})
	}
}
