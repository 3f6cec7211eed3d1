package xsk

import (
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// loop is a ring of which we own both sides, with indexes that start at start.
type loop struct {
	entries []uint64
	in, out uint32 // the indexes that the sides share
	w       producer
	r       consumer
}

func newLoop(size int, start uint32) *loop {
	l := &loop{entries: make([]uint64, size), in: start, out: start}
	l.w = producer{ours: &l.in, theirs: &l.out, mask: uint32(size - 1), next: start, seen: start}
	l.r = consumer{ours: &l.out, theirs: &l.in, mask: uint32(size - 1), next: start, seen: start}
	return l
}

// TestRingAgainstAQueue compares both sides with a list: published entries are read once, in
// order, and exactly the released entries are free, wherever the indexes are.
func TestRingAgainstAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := 1 << rapid.IntRange(0, 5).Draw(t, "log2 of the size")
		// Just before the indexes wrap, or anywhere.
		start := rapid.OneOf(rapid.Uint32Range(1<<32-100, 1<<32-1), rapid.Uint32()).Draw(t, "start")
		l := newLoop(size, start)
		var staged, published, held []uint64 // put; put and published; read but not released
		n := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				want := rapid.IntRange(0, size+1).Draw(t, "want")
				free := size - len(staged) - len(published) - len(held)
				if got := l.w.room(want); got > free || got < min(want, free) {
					t.Fatalf("room(%d) = %d with %d places free", want, got, free)
				}
				for range min(want, free) {
					n++
					l.entries[l.w.put()] = n
					staged = append(staged, n)
				}
			},
			"publish": func(*rapid.T) {
				l.w.publish()
				published = append(published, staged...)
				staged = nil
			},
			"get": func(t *rapid.T) {
				want := rapid.IntRange(0, size+1).Draw(t, "want")
				got := l.r.ready(want)
				if got > len(published) || got < min(want, len(published)) {
					t.Fatalf("ready(%d) = %d with %d published", want, got, len(published))
				}
				for i := range min(got, want) {
					if v := l.entries[l.r.peek(i)]; v != published[i] {
						t.Fatalf("entry %d after the next is %d, want %d", i, v, published[i])
					}
				}
				for range min(got, want) {
					if v := l.entries[l.r.get()]; v != published[0] {
						t.Fatalf("got %d, want %d", v, published[0])
					}
					held, published = append(held, published[0]), published[1:]
				}
			},
			"release": func(*rapid.T) {
				l.r.release()
				held = nil
			},
			"": func(t *rapid.T) {
				// Entries that were read but not released count as untaken for the writer.
				if got, want := l.w.untaken(), len(published)+len(held); got != want {
					t.Fatalf("untaken is %d, want %d", got, want)
				}
			},
		})
	})
}

func TestRingIndexesWrap(t *testing.T) {
	const size = 4
	for _, start := range []uint32{0, 1<<32 - 1, 1<<32 - 2, 1<<32 - size, 1<<31 - 1} {
		l := newLoop(size, start)
		for round := range uint64(3) {
			if got := l.w.room(size + 1); got != size {
				t.Fatalf("start %#x: room for %d in an empty ring of %d", start, got, size)
			}
			for i := range uint64(size) {
				l.entries[l.w.put()] = 10*round + i
			}
			if got := l.r.ready(1); got != 0 {
				t.Fatalf("start %#x: %d are ready before they are published", start, got)
			}
			l.w.publish()
			if got := l.w.room(1); got != 0 {
				t.Fatalf("start %#x: room for %d in a full ring", start, got)
			}
			if got := l.r.ready(1); got != size {
				t.Fatalf("start %#x: %d of %d are ready", start, got, size)
			}
			for i := range uint64(size) {
				if v := l.entries[l.r.get()]; v != 10*round+i {
					t.Fatalf("start %#x: got %d, want %d", start, v, 10*round+i)
				}
			}
			l.r.release()
		}
		if l.in != start+3*size || l.out != l.in {
			t.Errorf("start %#x: the indexes are %#x and %#x", start, l.in, l.out)
		}
	}
}

// TestRingBetweenGoroutines runs a writer and a reader concurrently: entries that are ready are
// completely written.
func TestRingBetweenGoroutines(t *testing.T) {
	const total = 20_000
	l := newLoop(64, 1<<32-1000)
	var both sync.WaitGroup
	both.Go(func() {
		for n := uint64(0); n < total; {
			for range l.w.room(8) {
				l.entries[l.w.put()] = n
				n++
			}
			l.w.publish()
			runtime.Gosched()
		}
	})
	both.Go(func() {
		for n := uint64(0); n < total; {
			for range l.r.ready(8) {
				if v := l.entries[l.r.get()]; v != n {
					t.Errorf("got %d, want %d", v, n)
					return
				}
				n++
			}
			l.r.release()
			runtime.Gosched()
		}
	})
	both.Wait()
}
