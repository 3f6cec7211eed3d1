package engine

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestQPNs(t *testing.T) {
	none := func(bth.QPN) bool { return false }

	t.Run("ascend from a start that the seed decides", func(t *testing.T) {
		a, b := newQPNs(12345), newQPNs(54321)
		first := a.take(none)
		if second := a.take(none); second != first+1 {
			t.Errorf("%#x after %#x, want the next", second, first)
		}
		if other := b.take(none); other == first {
			t.Errorf("two seeds start at the same number %#x", first)
		}
	})
	t.Run("are neither reserved nor multicast", func(t *testing.T) {
		a := newQPNs(0)
		a.next = lastQPN
		if n := a.take(none); n != 0xfffffe {
			t.Errorf("last number %#x, want 0xfffffe", n)
		}
		if n := a.take(none); n != 16 {
			t.Errorf("number after the last %#x, want 16", n)
		}
	})
	t.Run("skip those in use", func(t *testing.T) {
		a := newQPNs(0)
		used := map[bth.QPN]bool{16: true, 17: true, 19: true}
		for _, want := range []bth.QPN{18, 20, 21} {
			if n := a.take(func(n bth.QPN) bool { return used[n] }); n != want {
				t.Errorf("number %d, want %d", n, want)
			}
		}
	})
	t.Run("every seed gives a valid start", func(t *testing.T) {
		for _, seed := range []uint64{0, 1, uint64(lastQPN), uint64(lastQPN - firstQPN), 1<<64 - 1} {
			a := newQPNs(seed)
			if n := a.take(none); n < firstQPN || n > lastQPN {
				t.Errorf("seed %d starts at %#x", seed, n)
			}
		}
	})
}
