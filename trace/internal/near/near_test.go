package near_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/internal/near"
)

type value struct {
	place near.Place
	port  uint16
	psns  []bth.PSN
	in    bool
}

func (v *value) Place() *near.Place { return &v.place }

// However values come, go and send, Find returns every one with the port, and every one with one of
// its latest PSNs within 1024 of that of the packet.
func TestFindReturnsAllWithThePortOrAPSNThatIsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set near.Set[*value]
		values := make([]*value, 40)
		for i := range values {
			values[i] = &value{}
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			v := values[rapid.IntRange(0, len(values)-1).Draw(t, "value")]
			if v.in && rapid.IntRange(0, 9).Draw(t, "leaves") == 0 {
				set.Remove(v)
				*v = value{}
				continue
			}
			if !v.in {
				set.Add(v)
				v.in = true
			}
			v.port = rapid.Uint16Range(1, 4).Draw(t, "port")
			psn := bth.PSN(rapid.Uint32Range(0, 1<<24-1).Draw(t, "PSN"))
			set.Note(v, v.port, psn)
			if v.psns = append(v.psns, psn); len(v.psns) > near.MaxBlocks {
				v.psns = v.psns[1:]
			}
		}
		port := rapid.Uint16Range(1, 4).Draw(t, "port of the packet")
		psn := bth.PSN(rapid.Uint32Range(0, 1<<24-1).Draw(t, "PSN of the packet"))
		for _, v := range values {
			if v.in && len(v.psns) > 0 && rapid.Bool().Draw(t, "a PSN near this one") {
				psn = v.psns[0].Add(uint32(rapid.IntRange(-1024, 1024).Draw(t, "distance")))
			}
		}
		same := 0
		for _, v := range values {
			if v.in && v.port == port {
				same++
			}
		}
		if n := set.WithPort(port); n != same {
			t.Fatalf("%d values have the port, WithPort returns %d", same, n)
		}
		found := slices.Collect(set.Find(port, psn))
		for i, v := range values {
			isNear := slices.ContainsFunc(v.psns, func(x bth.PSN) bool {
				d := x.Diff(psn)
				return -1024 <= d && d <= 1024
			})
			if v.in && (v.port == port || isNear) && !slices.Contains(found, v) {
				t.Fatalf("value %d is not found", i)
			}
			if !v.in && slices.Contains(found, v) {
				t.Fatalf("value %d, which was removed, is found", i)
			}
		}
		if set.Len() != len(set.All()) {
			t.Fatal(set.Len(), len(set.All()))
		}
	})
}

// Lists that are too long for Find are not in order; when values leave them, the rest is found.
func TestAllAreFoundWhenALongListBecomesShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set near.Set[*value]
		values := make([]*value, 4*near.MaxPort)
		for i := range values {
			values[i] = &value{port: 1, psns: []bth.PSN{7}}
			set.Add(values[i])
			set.Note(values[i], 1, 7)
		}
		for len(values) > near.MaxPort/2 {
			i := rapid.IntRange(0, len(values)-1).Draw(t, "value")
			v := values[i]
			values = slices.Delete(values, i, i+1)
			if rapid.Bool().Draw(t, "leaves") {
				set.Remove(v)
				set.Remove(v) // is not in the set any more
				continue
			}
			for n := range near.MaxBlocks { // the first block is forgotten
				set.Note(v, 2, bth.PSN(n+3)<<10)
			}
		}
		found := map[*value]int{}
		for v := range set.Find(1, 7) {
			found[v]++
		}
		if len(found) != len(values) {
			t.Fatalf("%d values are found, want %d", len(found), len(values))
		}
		for _, v := range values {
			if found[v] != 2 { // by its port and by its PSN
				t.Fatalf("a value is found %d times", found[v])
			}
		}
	})
}
