package respond

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/mr"
)

// countedMemory counts the bytes read and written.
type countedMemory struct {
	mr.Memory
	read, written int
}

func (m *countedMemory) ReadAt(p []byte, off uint64) error {
	m.read += len(p)
	return m.Memory.ReadAt(p, off)
}

func (m *countedMemory) WriteAt(p []byte, off uint64) error {
	m.written += len(p)
	return m.Memory.WriteAt(p, off)
}

// countedCheck returns a check of 8.5 chunks with counted memory.
func countedCheck() (*check, *countedMemory) {
	limits := Limits{Memory: 8*chunk + chunk/2, QPs: 1, Payload: []byte(eight)}
	mem := &countedMemory{Memory: mr.Bytes(make([]byte, limits.Memory))}
	return newPattern(&limits).newCheck(&counters{}, mem), mem
}

// The first 16 bytes of a client must not cost the whole memory of a session, neither at the
// start nor at the end.
func TestAClientThatWritesNothingTakesNoMemory(t *testing.T) {
	limits := Limits{Memory: 4 * pieceSize, TotalMemory: 16 * pieceSize, Payload: []byte(eight)}
	counted, _ := responding(t, limits, both, func(r *rig) {
		for name, items := range map[string][]say{
			"a version":     {{perftest.AppendVersion(nil, "6.06"), perftest.VersionLen}},
			"keys":          append(opening(), key(1), key(2)),
			"the same keys": append(opening(), key(1), key(1)),
		} {
			conn := r.call("192.0.2.2", deviceAddr)
			if _, err := converse(conn, items...); err != nil {
				r.Errorf("%s: %v", name, err)
			}
			if n := r.r.memory.inUse(); n != 0 {
				r.Errorf("%s: the session takes %d bytes", name, n)
			}
			conn.Close()
			r.ended()
		}
	})
	if counted["hung_up"] != 3 {
		t.Errorf("%v", counted)
	}

	c, mem := countedCheck()
	if err := c.checkWritten(); err != nil || mem.read != 0 || mem.written != 0 {
		t.Errorf("%v: %d bytes were read and %d written for a session in which nothing came", err,
			mem.read, mem.written)
	}
}

func TestWritingFillsAndComparesOnlyTheChunksItTouches(t *testing.T) {
	for _, w := range []struct {
		name   string
		off, n int
		chunks []int // chunks that are touched
	}{
		{"a byte", 3 * chunk, 1, []int{3}},
		{"the same chunk to its end", 4*chunk - 8, 8, []int{3}},
		{"over an edge", 4*chunk - 8, 16, []int{3, 4}},
		{"three chunks", chunk - 8, chunk + 16, []int{0, 1, 2}},
		{"the last one, which is short", 9*chunk - chunk/2 - 8, 8, []int{8}},
		{"nothing", chunk, 0, nil},
	} {
		touched := 0
		for _, i := range w.chunks {
			touched += min(chunk, 8*chunk+chunk/2-i*chunk)
		}
		c, mem := countedCheck()
		for range 2 { // the second time nothing is filled
			put(t, c, w.off, w.n)
		}
		if want := touched + 2*w.n; mem.written != want {
			t.Errorf("%s: %d bytes were written, want %d", w.name, mem.written, want)
		}
		if err := c.checkWritten(); err != nil || c.right != uint64(w.n) {
			t.Errorf("%s: %v, %d bytes are right, want %d", w.name, err, c.right, w.n)
		}
		if mem.read != touched {
			t.Errorf("%s: %d bytes were read at the end, want %d", w.name, mem.read, touched)
		}
	}
}

// After any writes, memory reads as if all of it had been made blank at the start.
func TestUnwrittenMemoryReadsAsBlank(t *testing.T) {
	c, mem := countedCheck()
	size := int(c.mem.Size())
	want := bytes.Repeat(c.blank[:8], size/8)
	for _, w := range []struct{ off, n int }{{0, 0}, {5*chunk + 100, 3000}, {2*chunk - 1, 2}, {size - 1, 1}} {
		p := bytes.Repeat([]byte{0xee}, w.n)
		copy(want[w.off:], p)
		if err := c.mem.WriteAt(p, uint64(w.off)); err != nil {
			t.Fatal(err)
		}
		written := mem.written
		for _, r := range []struct{ off, n int }{{0, size}, {1, 10}, {5*chunk + 90, 20}, {chunk - 3, 2*chunk + 6},
			{size - 5, 5}, {size, 0}} {
			got := make([]byte, r.n)
			if err := c.mem.ReadAt(got, uint64(r.off)); err != nil || !bytes.Equal(got, want[r.off:r.off+r.n]) {
				t.Errorf("after %d bytes at %d: %d bytes at %d are wrong: %v", w.n, w.off, r.n, r.off, err)
			}
		}
		if mem.written != written {
			t.Errorf("reading wrote %d bytes", mem.written-written)
		}
	}
}

func TestAccessOutsideOfBlankMemoryIsRefused(t *testing.T) {
	c, _ := countedCheck()
	size := c.mem.Size()
	for _, a := range []struct{ off, n uint64 }{{size, 1}, {size - 1, 2}, {size + 1, 0}, {1<<64 - 4, 8}} {
		p := make([]byte, a.n)
		if c.mem.ReadAt(p, a.off) == nil || c.mem.WriteAt(p, a.off) == nil {
			t.Errorf("%d bytes at %d are accepted", a.n, a.off)
		}
	}
	if err := c.mem.eachFilled(func(uint64, uint64) error { return errFull }); err != nil {
		t.Error("a refused write filled a chunk")
	}
}

// fullMemory fails the first writes.
type fullMemory struct {
	mr.Memory
	refuse int
}

var errFull = errors.New("no room")

func (m *fullMemory) WriteAt(p []byte, off uint64) error {
	if m.refuse--; m.refuse >= 0 {
		return errFull
	}
	return m.Memory.WriteAt(p, off)
}

func TestAChunkThatCouldNotBeFilledIsBlankStill(t *testing.T) {
	limits := Limits{Memory: 2 * chunk, QPs: 1, Payload: []byte(eight)}
	c := newPattern(&limits).newCheck(&counters{}, &fullMemory{mr.Bytes(make([]byte, limits.Memory)), 1})
	if err := c.mem.WriteAt([]byte{1}, 5); err != errFull {
		t.Errorf("a write for which there is no room: %v", err)
	}
	if err := c.checkWritten(); err != nil || c.right != 0 {
		t.Errorf("%v, %d bytes are right", err, c.right)
	}
	put(t, c, 64, 64)
	if err := c.checkWritten(); err != nil || c.right != 64 {
		t.Errorf("%v, %d bytes are right", err, c.right)
	}
}

// slowMemory counts filled chunks, and fills them so slowly that other shards must wait.
type slowMemory struct {
	mr.Memory
	fills atomic.Int64
}

func (m *slowMemory) WriteAt(p []byte, off uint64) error {
	if len(p) == chunk {
		m.fills.Add(1)
		time.Sleep(100 * time.Microsecond)
	}
	return m.Memory.WriteAt(p, off)
}

// Shards write to one chunk concurrently: one does not overwrite another's data with the
// complement.
func TestFirstWritesOfSeveralShardsToAChunkAreAllKept(t *testing.T) {
	const shards, chunks, step = 8, 16, 64
	limits := Limits{Memory: chunks * chunk, QPs: 1, Payload: []byte(eight)}
	mem := &slowMemory{Memory: mr.Bytes(make([]byte, limits.Memory))}
	c := newPattern(&limits).newCheck(&counters{}, mem)
	var start, done sync.WaitGroup
	start.Add(shards)
	for shard := range shards {
		done.Go(func() {
			start.Done()
			start.Wait()
			for i := range chunks {
				if err := c.mem.WriteAt(c.payload[:step], uint64(i*chunk+shard*step)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if err := c.checkWritten(); err != nil || c.right != chunks*shards*step {
		t.Errorf("%v, %d bytes are right, want %d", err, c.right, chunks*shards*step)
	}
	if n := mem.fills.Load(); n != chunks {
		t.Errorf("%d chunks were filled, and there are %d", n, chunks)
	}
}

func TestAccessToBlankMemoryAllocatesNothing(t *testing.T) {
	c, _ := countedCheck()
	p := make([]byte, 1024)
	at := uint64(0)
	if n := testing.AllocsPerRun(100, func() {
		_ = c.mem.WriteAt(p, at)
		_ = c.mem.ReadAt(p, at+chunk)
		at = (at + chunk/2) % (7 * chunk)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
