package hostmem

import (
	"bytes"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

var _ interface {
	mr.AtomicMemory
	mr.Flusher
	mr.ReadOnly
} = (*Memory)(nil)

// kinds opens each kind of memory that this system supports.
var kinds = map[string]func(testing.TB, uint64) *Memory{"anonymous": anonymous}

func anonymous(t testing.TB, size uint64) *Memory {
	t.Helper()
	m, err := Anonymous(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// operations returns all operations on memory, for n bytes or a word at off.
func operations(m *Memory, off, n uint64) (reads, writes map[string]func() error) {
	p := make([]byte, n)
	reads = map[string]func() error{
		"read":      func() error { return m.ReadAt(p, off) },
		"load byte": func() error { _, err := m.LoadByteAt(off); return err },
		"load word": func() error { _, err := m.LoadUint64At(off); return err },
		"flush":     func() error { return m.Flush(off, n, false) },
		"persist":   func() error { return m.Flush(off, n, true) },
	}
	writes = map[string]func() error{
		"write":       func() error { return m.WriteAt(p, off) },
		"write final": func() error { return m.WriteFinalAt(p, off) },
		"swap":        func() error { _, err := m.CompareSwapAt(off, 0, 1); return err },
		"add":         func() error { _, err := m.FetchAddAt(off, 1); return err },
		"store":       func() error { return m.StoreUint64At(off, 1) },
	}
	return reads, writes
}

// each calls check with the result of every operation on n bytes at off.
func each(m *Memory, off, n uint64, check func(name string, writes bool, err error)) {
	reads, writes := operations(m, off, n)
	for name, f := range reads {
		check(name, false, f())
	}
	for name, f := range writes {
		check(name, true, f())
	}
}

func TestAnonymousMemoryIsZerosThatCanBeWritten(t *testing.T) {
	m := anonymous(t, 10_001)
	if m.Size() != 10_001 || m.ReadOnly() {
		t.Errorf("size %d, read only %v", m.Size(), m.ReadOnly())
	}
	got := make([]byte, 10_001)
	if err := m.ReadAt(got, 0); err != nil || !bytes.Equal(got, make([]byte, 10_001)) {
		t.Errorf("it does not begin as zeros: %v", err)
	}
	each(m, 9_992, 9, func(name string, _ bool, err error) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	want := []byte("the end of a message")
	if err := errors.Join(m.WriteFinalAt(want, 10_001-20), m.ReadAt(got[:20], 10_001-20)); err != nil ||
		!bytes.Equal(got[:20], want) {
		t.Errorf("read %q back, %v", got[:20], err)
	}
	if err := m.Err(); err != nil {
		t.Errorf("an error is kept and none happened: %v", err)
	}
}

func TestWordsAreThoseOfTheHost(t *testing.T) {
	m := anonymous(t, 64)
	if err := m.StoreUint64At(8, 7); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		want uint64
		call func() (uint64, error)
	}{
		{7, func() (uint64, error) { return m.FetchAddAt(8, 5) }},
		{12, func() (uint64, error) { return m.CompareSwapAt(8, 11, 1) }},
		{12, func() (uint64, error) { return m.CompareSwapAt(8, 12, 1<<63) }},
		{1 << 63, func() (uint64, error) { return m.LoadUint64At(8) }},
		{0, func() (uint64, error) { return m.LoadUint64At(16) }},
	} {
		if got, err := step.call(); got != step.want || err != nil {
			t.Errorf("step %d: %d, %v, want %d", i, got, err, step.want)
		}
	}
}

func TestSizesThatCannotBe(t *testing.T) {
	for _, size := range []uint64{0, math.MaxInt - 1, math.MaxInt + 1, math.MaxUint64} {
		if m, err := Anonymous(size); err == nil {
			t.Errorf("%d bytes: %v", size, m.Close())
		} else if !strings.Contains(err.Error(), "size") && !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%d bytes: the error does not say what is wrong: %v", size, err)
		}
	}
}

func TestNothingOutsideIsTouched(t *testing.T) {
	m := anonymous(t, 100)
	for _, at := range []struct{ off, n uint64 }{{93, 8}, {100, 8}, {101, 8}, {math.MaxUint64 - 3, 8}, {1 << 63, 8}} {
		each(m, at.off, at.n, func(name string, _ bool, err error) {
			if name == "load byte" && at.off < 100 {
				return
			}
			if err == nil || errors.Is(err, ErrLost) {
				t.Errorf("%s of %d at %d: %v", name, at.n, at.off, err)
			}
		})
	}
}

func TestAccessAllocatesNothing(t *testing.T) {
	for name, open := range kinds {
		m := open(t, 8192)
		reads, writes := operations(m, 16, 4096)
		for _, all := range []map[string]func() error{reads, writes} {
			for op, f := range all {
				if n := testing.AllocsPerRun(50, func() { _ = f() }); n != 0 {
					t.Errorf("%s: %s allocates %v times", name, op, n)
				}
			}
		}
	}
}

func TestWhatIsClosedIsRefused(t *testing.T) {
	for name, open := range kinds {
		m := open(t, 4096)
		for range 2 {
			if err := m.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		each(m, 0, 8, func(op string, _ bool, err error) {
			if !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: %s: %v", name, op, err)
			}
		})
	}
}

// The mapping remains until running accesses have ended, so none of them faults.
func TestCloseWaitsForNobodyAndHurtsNobody(t *testing.T) {
	for range 50 {
		m := anonymous(t, 1<<16)
		var wg sync.WaitGroup
		begun := make(chan struct{}, 2)
		for range 2 {
			wg.Go(func() {
				p := make([]byte, 1<<16)
				for i := 0; ; i++ {
					err := m.ReadAt(p, 0)
					if i == 0 {
						begun <- struct{}{}
					}
					runtime.Gosched()
					if errors.Is(err, os.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		<-begun
		<-begun
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
