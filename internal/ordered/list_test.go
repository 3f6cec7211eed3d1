package ordered

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func numbers[T any](l *List[T], after uint64) []uint64 {
	var out []uint64
	l.After(after, func(n uint64, _ T) bool { out = append(out, n); return true })
	return out
}

// After any sequence of operations, the list holds the items of a reference map, in order of
// arrival, from any number on.
func TestListHoldsWhatCameAndDidNotGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List[int]
		have := map[uint64]int{}
		last := uint64(0)
		for i := range rapid.IntRange(0, 300).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "act") < 5 {
				n := l.Add(i)
				if n != last+1 {
					t.Fatalf("number %d after %d", n, last)
				}
				last, have[n] = n, i
				continue
			}
			n := rapid.Uint64Range(0, last+1).Draw(t, "number")
			l.Remove(n)
			delete(have, n)
		}
		if l.Len() != len(have) {
			t.Fatalf("holds %d, want %d", l.Len(), len(have))
		}
		from := rapid.Uint64Range(0, last+1).Draw(t, "from")
		want := slices.DeleteFunc(slices.Sorted(maps.Keys(have)), func(n uint64) bool { return n <= from })
		if diff := cmp.Diff(want, numbers(&l, from),
			cmp.Transformer("len", func(s []uint64) []uint64 { return append([]uint64{}, s...) })); diff != "" {
			t.Fatalf("from %d on: %s", from, diff)
		}
		l.After(0, func(n uint64, item int) bool {
			if have[n] != item {
				t.Fatalf("number %d is %d, want %d", n, item, have[n])
			}
			return true
		})
	})
}

func TestALookEndsWhenTheLookerHasEnough(t *testing.T) {
	var l List[string]
	for range 3 {
		l.Add("x")
	}
	calls := 0
	l.After(1, func(uint64, string) bool { calls++; return false })
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// After millions of additions, a list has at most a few more entries than twice its items.
func TestSeatsOfThoseWhoLeftAreGivenUp(t *testing.T) {
	var l List[*int]
	for i := range 100_000 {
		n := l.Add(new(int))
		if i >= 100 {
			l.Remove(n - 100)
		}
		if len(l.entries) > 2*l.Len()+minCompact {
			t.Fatalf("%d entries for %d items", len(l.entries), l.Len())
		}
	}
	if l.Len() != 100 {
		t.Errorf("%d items, want 100", l.Len())
	}
}
