package mr_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

// All positions and lengths around word boundaries, in regions that themselves start and end
// anywhere in a word: the result equals that of a copy, and no other byte changes.
func TestWriteFinalStoresWhatCopyStores(t *testing.T) {
	src := make([]byte, 24)
	for i := range src {
		src[i] = byte(0x40 + i)
	}
	for start := range 8 {
		for size := 1; size <= 26; size++ {
			for off := range size {
				for n := 0; n <= min(size-off, len(src)); n++ {
					outer := bytes.Repeat([]byte{0xee}, 48)
					want := bytes.Clone(outer)
					copy(want[start+off:], src[:n])
					_, _, r := register(t, mr.Bytes(outer[start:start+size]), 0x1000, uint64(size), mr.LocalWrite)
					if err := r.WriteFinal(0x1000+uint64(off), src[:n]); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(outer, want) {
						t.Fatalf("region of %d at %d, write of %d at %d:\ngot  %x\nwant %x", size, start, n,
							off, outer, want)
					}
					for i := range size {
						if got := r.LoadByte(0x1000 + uint64(i)); got != want[start+i] {
							t.Fatalf("LoadByte(%d) = %#x, want %#x", i, got, want[start+i])
						}
					}
				}
			}
		}
	}
}

func TestLoadUint64ReadsTheHostsByteOrder(t *testing.T) {
	b := make([]byte, 40)
	for i := range b {
		b[i] = byte(i * 7)
	}
	for name, mem := range map[string]mr.Memory{"addressable": mr.Bytes(b), "by offset": &remote{b: b}} {
		_, _, r := register(t, mem, 0, 40, 0)
		for off := range uint64(33) {
			if got, want := r.LoadUint64(off), binary.NativeEndian.Uint64(b[off:]); got != want {
				t.Errorf("%s: LoadUint64(%d) = %#x, want %#x", name, off, got, want)
			}
		}
		if got := r.LoadUint64(33); got != 0 {
			t.Errorf("%s: LoadUint64 over the end = %#x, want 0", name, got)
		}
		if got := r.LoadByte(40); got != 0 {
			t.Errorf("%s: LoadByte behind the end = %#x, want 0", name, got)
		}
		if got := r.LoadByte(39); got != b[39] {
			t.Errorf("%s: LoadByte(39) = %#x, want %#x", name, got, b[39])
		}
	}
}

func TestWriteFinalByOffsetWritesTheEndLast(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []span
	}{
		{1, []span{{5, 1}}},
		{8, []span{{5, 8}}},
		{9, []span{{5, 1}, {6, 8}}},
		{100, []span{{5, 92}, {97, 8}}},
	} {
		t.Run(fmt.Sprintf("%d bytes", c.n), func(t *testing.T) {
			mem := &remote{b: make([]byte, 256)}
			_, _, r := register(t, mem, 0, 256, mr.LocalWrite)
			if err := r.WriteFinal(5, bytes.Repeat([]byte{1}, c.n)); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(mem.writes) != fmt.Sprint(c.want) {
				t.Errorf("writes %v, want %v", mem.writes, c.want)
			}
			if got := bytes.Count(mem.b, []byte{1}); got != c.n {
				t.Errorf("%d bytes written, want %d", got, c.n)
			}
		})
	}
}

// A goroutine polls the last byte of a message and then reads the whole message plainly. The
// race detector checks it; without it, the content shows whether the end became visible last.
func TestPollerSeesTheWholeMessageOnceItSeesTheEnd(t *testing.T) {
	for _, off := range []uint64{0, 1, 3, 4, 7, 8} {
		for _, n := range []uint64{1, 2, 7, 8, 9, 13, 16, 64, 1000} {
			t.Run(fmt.Sprintf("off=%d/n=%d", off, n), func(t *testing.T) {
				const rounds = 200
				buf := make([]byte, 1024)
				_, _, r := register(t, mr.Bytes(buf), 0, 1024, mr.LocalWrite)
				taken := make(chan struct{})
				var wg sync.WaitGroup
				wg.Go(func() {
					msg := make([]byte, n)
					for i := 1; i <= rounds; i++ {
						for j := range msg {
							msg[j] = byte(i)
						}
						if err := r.WriteFinal(off, msg); err != nil {
							t.Error(err)
						}
						<-taken
					}
				})
				for i := 1; i <= rounds; i++ {
					for r.LoadByte(off+n-1) != byte(i) {
						runtime.Gosched()
					}
					for j, b := range buf[off : off+n] {
						if b != byte(i) {
							t.Errorf("round %d: byte %d is %d when the last one is there", i, j, b)
						}
					}
					taken <- struct{}{}
				}
				wg.Wait()
			})
		}
	}
}

// An aligned 8-byte counter is never seen half written, and concurrent stores to its neighbours
// are not lost.
func TestCounterIsSeenWhole(t *testing.T) {
	const rounds = 20_000
	buf := make([]byte, 64)
	_, _, r := register(t, mr.Bytes(buf), 0, 64, mr.LocalWrite)
	var wg sync.WaitGroup
	wg.Go(func() {
		var b [8]byte
		for i := uint64(1); i <= rounds; i++ {
			binary.NativeEndian.PutUint64(b[:], i<<32|i)
			if err := r.WriteFinal(8, b[:]); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
		}
	})
	for last := uint64(0); last < rounds; runtime.Gosched() {
		v := r.LoadUint64(8)
		if v>>32 != v&0xffffffff || v&0xffffffff < last {
			t.Errorf("saw %#x after %d", v, last)
			break
		}
		last = v & 0xffffffff
	}
	wg.Wait()
}

// Two writers of one word preserve each other's bytes.
func TestPartsOfAWordAreMerged(t *testing.T) {
	const rounds = 5_000
	buf := make([]byte, 8)
	_, _, r := register(t, mr.Bytes(buf), 0, 8, mr.LocalWrite)
	var wg sync.WaitGroup
	for part := range uint64(2) {
		wg.Go(func() {
			for i := range rounds {
				b := bytes.Repeat([]byte{byte(i)}, 4)
				if err := r.WriteFinal(4*part, b); err != nil {
					t.Error(err)
				}
				if got := r.LoadByte(4*part + 1); got != byte(i) {
					t.Errorf("part %d: wrote %d, the word holds %d", part, byte(i), got)
					return
				}
			}
		})
	}
	wg.Wait()
}
