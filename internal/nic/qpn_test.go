package nic

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestQPNs(t *testing.T) {
	none := func(bth.QPN) bool { return false }

	t.Run("follow from the secret alone", func(t *testing.T) {
		a, b, c := newQPNs([32]byte{1}), newQPNs([32]byte{1}), newQPNs([32]byte{2})
		same := 0
		for i := range 1000 {
			n, m, o := a.take(none), b.take(none), c.take(none)
			if n != m {
				t.Fatalf("number %d of equal secrets: %#06x and %#06x", i, n, m)
			}
			if n == o {
				same++
			}
		}
		if same > 2 {
			t.Errorf("%d of 1000 numbers are equal for two secrets", same)
		}
	})
	t.Run("are no sequence, and none comes again", func(t *testing.T) {
		a, seen := newQPNs([32]byte{3}), map[bth.QPN]bool{}
		before, near := a.take(none), 0
		for range 20_000 {
			n := a.take(none)
			if seen[n] {
				t.Fatalf("number %#06x came twice", n)
			}
			seen[n] = true
			if d := (n - before) & 0xffffff; d < 256 || d > 1<<24-256 {
				near++
			}
			before = n
		}
		if near > 10 { // 0.6 by chance
			t.Errorf("%d of 20000 numbers lie within 256 of the one before", near)
		}
	})
	t.Run("are neither reserved nor multicast", func(t *testing.T) {
		// The steps of this walk that lead to numbers that are in use.
		for step, reserved := range map[uint64]bth.QPN{16195447: 0, 4634417: 1, 12853839: 15, 7043512: 0xffffff} {
			a := newQPNs([32]byte{4})
			a.next = step
			if n, _ := a.walk.At(step); bth.QPN(n) != reserved {
				t.Errorf("step %d leads to %#06x, want %#06x", step, n, reserved)
			}
			if n := a.take(none); n < firstQPN || n > lastQPN {
				t.Errorf("number %#06x was handed out", n)
			}
		}
	})
	t.Run("skip those in use", func(t *testing.T) {
		a, used := newQPNs([32]byte{5}), map[bth.QPN]bool{}
		for range 4 {
			used[a.take(none)] = true
		}
		want := a.take(none)
		a.next = 0
		if n := a.take(func(n bth.QPN) bool { return used[n] }); n != want {
			t.Errorf("number %#06x, want %#06x", n, want)
		}
	})
}
