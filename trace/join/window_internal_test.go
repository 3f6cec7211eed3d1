package join

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/trace"
)

// However many packets are equal and whichever leave, find returns the latest that is left.
func TestEqualPacketsLeaveInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow()
		left := map[uint64][]int32{} // by key, in order of add
		for frame := range rapid.IntRange(1, 60).Draw(t, "packets") {
			key := rapid.Uint64Range(1, 3).Draw(t, "key")
			w.add(&entry{key: key, frame: frame})
			left[key] = append(left[key], w.last)
			if all := left[key]; rapid.Bool().Draw(t, "one leaves") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				w.remove(all[i])
				left[key] = append(all[:i:i], all[i+1:]...)
			}
		}
		n := 0
		for key := uint64(1); key <= 3; key++ {
			want := int32(none)
			n += len(left[key])
			if all := left[key]; len(all) > 0 {
				want = all[len(all)-1]
			}
			got := int32(none)
			if i, ok := w.byKey[key]; ok {
				got = i
			}
			if got != want {
				t.Fatalf("the latest entry of key %d is %d, want %d", key, got, want)
			}
			seen := 0
			for i := got; i != none; i = w.all[i].same {
				seen++
			}
			if seen != len(left[key]) {
				t.Fatalf("key %d has %d entries, want %d", key, seen, len(left[key]))
			}
			p := &trace.Packet{}
			if e := w.find(p, key, 1, func(*entry) int64 { return 0 }); (e == none) != (want == none) {
				t.Fatalf("find returns %d, the latest is %d", e, want)
			}
		}
		if w.n != n {
			t.Fatalf("%d entries, want %d", w.n, n)
		}
	})
}
