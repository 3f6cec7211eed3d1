package procmem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

func TestWordsAreThoseOfTheHost(t *testing.T) {
	p, _, r := memoryOf(t, page)
	for _, off := range []uint64{8, 13} { // aligned or not
		for i, step := range []struct {
			want uint64
			call func() (uint64, error)
		}{
			{0, func() (uint64, error) { return r.LoadUint64At(off) }},
			{0, func() (uint64, error) { return 0, r.StoreUint64At(off, 7) }},
			{7, func() (uint64, error) { return r.FetchAddAt(off, 5) }},
			{12, func() (uint64, error) { return r.CompareSwapAt(off, 11, 1) }},
			{12, func() (uint64, error) { return r.CompareSwapAt(off, 12, 1<<63) }},
			{1 << 63, func() (uint64, error) { return r.FetchAddAt(off, 1<<63+2) }},
			{2, func() (uint64, error) { return r.LoadUint64At(off) }},
		} {
			if got, err := step.call(); got != step.want || err != nil {
				t.Errorf("step %d at %d: %d, %v, want %d", i, off, got, err, step.want)
			}
		}
		want := string(binary.NativeEndian.AppendUint64(nil, 2))
		if got := p.peek(r.Addr()+off, 8); got != want {
			t.Errorf("the program has %q, want %q", got, want)
		}
		if err := r.StoreUint64At(off, 0); err != nil {
			t.Fatal(err)
		}
	}
	p.poke(r.Addr()+3, []byte{5})
	if got, err := r.LoadByteAt(3); got != 5 || err != nil {
		t.Errorf("byte %d, %v", got, err)
	}
}

// Atomics of regions with common pages, also at other offsets, are atomic with respect to each
// other.
func TestAtomicsOfAllRegionsAreAtomicTowardsEachOther(t *testing.T) {
	p, s, r := memoryOf(t, page)
	second := register(t, s, r.Addr()+64, page-64, allFlag)
	const each, off = 300, 128
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				var err error
				switch i {
				case 0:
					_, err = r.FetchAddAt(off, 1)
				case 1:
					_, err = second.FetchAddAt(off-64, 1)
				default: // a lock-free increment of a peer
					at, m := uint64(off), r
					if i == 3 {
						at, m = off-64, second
					}
					for old := uint64(0); ; {
						found, e := m.CompareSwapAt(at, old, old+1)
						if err = e; err != nil || found == old {
							break
						}
						old = found
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	if got := binary.NativeEndian.Uint64([]byte(p.peek(r.Addr()+off, 8))); got != 4*each {
		t.Errorf("the sum is %d, want %d", got, 4*each)
	}
}

// The program polls the last byte. When it has changed, the whole message is complete.
func TestEndOfAMessageBecomesVisibleLast(t *testing.T) {
	p, _, r := memoryOf(t, 4*page)
	for i, c := range []struct{ off, size uint64 }{
		{0, 8}, {0, 64}, {3, 5}, {7, 1}, {8, 13}, {page - 4, 8}, {page - 1, 2 * page}, {0, 3 * page}, {5, 2*page + 6},
	} {
		for round := range 20 {
			value := byte(1 + (20*i+round)%255)
			if _, err := fmt.Fprintf(p.in, "watch %d %d %d\n", r.Addr()+c.off, c.size, value); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteFinalAt(bytes.Repeat([]byte{value}, int(c.size)), c.off); err != nil {
				t.Fatal(err)
			}
			p.expect("ok")
		}
	}
}

// Accesses while regions are closed and the program ends are complete or fail, and affect no
// other memory.
func TestAccessesWhileTheProgramEnds(t *testing.T) {
	for _, how := range []string{"unmap", "exit", "exec", "close"} {
		p, s, r := memoryOf(t, 16*page)
		regions := []*Region{r, register(t, s, r.Addr()+page, 8*page, allFlag)}
		started, errs := make(chan struct{}, 4), make(chan error, 4)
		for i := range 4 {
			go func() {
				m, buf := regions[i%2], make([]byte, 3*page)
				for n := 0; ; n++ {
					err := errors.Join(m.WriteFinalAt(buf, page), m.ReadAt(buf, page))
					if _, e := m.FetchAddAt(8*page-8, 1); e != nil {
						err = errors.Join(err, e)
					}
					if n == 0 {
						started <- struct{}{}
					}
					if err != nil {
						errs <- err
						return
					}
					runtime.Gosched()
				}
			}()
		}
		for range 4 {
			<-started
		}
		want := Gone
		switch how {
		case "unmap":
			p.unmap(r.Addr(), 16*page)
			want = Inaccessible
		case "exit":
			p.end()
		case "exec":
			if got := p.do("exec"); got != "ready" {
				t.Fatal(got)
			}
		case "close":
			want = Closed
			for _, m := range regions {
				m.Close()
			}
			s.Close()
		}
		for range 4 {
			if err := <-errs; !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", how, err, want)
			}
		}
	}
}

func TestRegionsOfPackageMRUseIt(t *testing.T) {
	p, _, m := memoryOf(t, 2*page)
	table := mr.NewTable([32]byte{}, 1)
	r, err := table.Register(&mr.PD{}, m, m.Addr(), m.Size(), allFlag)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Vectored() || r.View(m.Addr(), 8) != nil {
		t.Error("the region is not vectored, or addressable")
	}
	if err := errors.Join(r.WriteFinal(m.Addr()+page-2, []byte("a message over a border")),
		r.WriteAtomic(m.Addr()+64, &[8]byte{1, 2, 3})); err != nil {
		t.Fatal(err)
	}
	if got := p.peek(m.Addr()+page-2, 23); got != "a message over a border" {
		t.Errorf("the program has %q", got)
	}
	if got := r.LoadByte(m.Addr() + 66); got != 3 {
		t.Errorf("byte %d", got)
	}
}
