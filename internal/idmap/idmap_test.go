package idmap

import (
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// Numbers whose probes collide: few numbers, with equal low bits, with equal high bits, and the
// largest.
func TestAMapHoldsWhatAGoMapDoes(t *testing.T) {
	numbers := rapid.OneOf(
		rapid.Uint32Range(0, 40),
		rapid.Map(rapid.Uint32Range(0, 40), func(n uint32) uint32 { return n << 20 }),
		rapid.Map(rapid.Uint32Range(0, 40), func(n uint32) uint32 { return 1<<32 - 2 - n }),
	)
	rapid.Check(t, func(t *rapid.T) {
		var m Map[uint32, int]
		want := map[uint32]int{}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id, v := numbers.Draw(t, "id"), rapid.Int().Draw(t, "value")
				m.Put(id, v)
				want[id] = v
			},
			"delete": func(t *rapid.T) {
				id := numbers.Draw(t, "id")
				m.Delete(id)
				delete(want, id)
			},
			"": func(t *rapid.T) {
				if m.Len() != len(want) {
					t.Fatalf("Len is %d, want %d", m.Len(), len(want))
				}
				if got := maps.Collect(m.All); !maps.Equal(got, want) {
					t.Fatalf("All is %v, want %v", got, want)
				}
				id := numbers.Draw(t, "looked up")
				if v, there := want[id]; m.Get(id) != v || m.Has(id) != there {
					t.Fatalf("Get(%d) is %d and Has %v, want %d and %v", id, m.Get(id), m.Has(id), v, there)
				}
			},
		})
	})
}

// While the map grows, a reader finds every value that was stored before the reader learned of
// it.
func TestAReaderFindsWhatIsPutMeanwhile(t *testing.T) {
	var m Map[uint32, int]
	var last atomic.Uint32
	const n = 1 << 14
	number := func(i uint32) uint32 { return i * 2654435761 & (1<<24 - 1) } // each once
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for upTo := uint32(0); upTo < n; {
				upTo = last.Load()
				for i := uint32(1); i <= upTo; i = 2*i + 1 {
					if v := m.Get(number(i)); v != int(i) {
						t.Errorf("Get(%d) is %d of %d", i, v, upTo)
						return
					}
				}
				if m.Has(number(n + 1)) {
					t.Error("it has what was never put")
					return
				}
			}
		})
	}
	for i := uint32(1); i <= n; i++ {
		m.Put(number(i), int(i))
		last.Store(i)
	}
	readers.Wait()
}

// A probe ends at the first free slot, so its time depends on the length of the runs of used
// slots.
func TestRandomNumbersLieNearTheirHomes(t *testing.T) {
	for _, numbers := range []struct {
		name string
		draw func() uint32
	}{
		{"any", func() uint32 { return rand.Uint32() >> 8 }},
		{"of one shard of 16", func() uint32 { return rand.Uint32() >> 8 &^ 15 }},
	} {
		var m Map[uint32, struct{}]
		for m.Len() < 3<<14 { // three quarters of 2^16
			m.Put(numbers.draw(), struct{}{})
		}
		steps := 0
		table := m.table.Load()
		for i := range table.slots {
			if tag := table.slots[i].tag.Load(); tag != 0 {
				steps += int((uint32(i) - table.home(tag-1)) & uint32(len(table.slots)-1))
			}
		}
		if mean := float64(steps) / float64(m.Len()); mean > 3 {
			t.Errorf("%s: values lie %.1f slots behind their homes on average, want 3 at most", numbers.name, mean)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1, 1000, 1 << 17} {
		var m Map[uint32, *int]
		reference := map[uint32]*int{}
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = rand.Uint32() >> 8
			m.Put(ids[i], new(int))
			reference[ids[i]] = new(int)
		}
		name := map[int]string{1: "1", 1000: "1,000", 1 << 17: "131,072"}[n]
		b.Run(name+"/Map", func(b *testing.B) {
			for i := 0; b.Loop(); i = (i + 1) % n {
				if m.Get(ids[i]) == nil {
					b.Fatal("a value is missing")
				}
			}
		})
		b.Run(name+"/Go's", func(b *testing.B) {
			for i := 0; b.Loop(); i = (i + 1) % n {
				if reference[ids[i]] == nil {
					b.Fatal("a value is missing")
				}
			}
		})
	}
}
