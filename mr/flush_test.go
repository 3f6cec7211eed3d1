package mr_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

// durable is memory by offset that records the flushes.
type durable struct {
	remote
	flushed []flushed
}

type flushed struct {
	off, n  uint64
	persist bool
}

func (m *durable) Flush(off, n uint64, persist bool) error {
	m.flushed = append(m.flushed, flushed{off, n, persist})
	return m.broken
}

func TestFlushTellsTheMemory(t *testing.T) {
	m := &durable{remote: remote{b: make([]byte, 256)}}
	tab, pd, r := register(t, m, 0x1000, 256, bindable)
	w := windowOf(t, tab, pd, mr.WindowType2)
	if err := tab.Bind(pd, 7, part(w, r, mr.ZeroBased)); err != nil {
		t.Fatal(err)
	}
	p := tab.Lookup(w.RKey())
	for _, err := range []error{r.Flush(0x1010, 5, false), r.Flush(0x1010, 0, true), r.FlushAll(true),
		p.Flush(2, 3, true), p.FlushAll(false)} {
		if err != nil {
			t.Error(err)
		}
	}
	if want := []flushed{{16, 5, false}, {0, 256, true}, {0x42, 3, true},
		{0, 256, false}}; !slices.Equal(m.flushed, want) {
		t.Errorf("flushed %v, want %v", m.flushed, want)
	}
	m.broken = errors.New("broken")
	if err := r.Flush(0x1000, 1, true); !errors.Is(err, m.broken) {
		t.Errorf("the memory's error is lost: %v", err)
	}
}

func TestFlushStaysInsideTheRegion(t *testing.T) {
	tab, _, r := register(t, mr.Bytes(make([]byte, 64)), 0x1000, 64, 0)
	var access *mr.AccessError
	if err := r.Flush(0x1000, 65, false); !errors.As(err, &access) || access.Fault != mr.OutOfBounds {
		t.Errorf("past the end: %v", err)
	}
	if err := r.Flush(0x1000, 64, true); err != nil {
		t.Errorf("a slice needs nothing: %v", err)
	}
	if err := tab.Deregister(r); err != nil {
		t.Fatal(err)
	}
	if err := r.FlushAll(false); !errors.As(err, &access) || access.Fault != mr.Gone {
		t.Errorf("of what is gone: %v", err)
	}
}

func TestAtomicWriteStoresTheBytesAsTheyAre(t *testing.T) {
	for name, mem := range map[string]mr.Memory{
		"aligned": mr.Bytes(make([]byte, 16)), "unaligned": mr.Bytes(make([]byte, 24)[3:]),
		"by offset": &remote{b: make([]byte, 16)},
	} {
		_, _, r := register(t, mem, 0x1000, 16, mr.LocalWrite)
		want := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
		var got [8]byte
		if err := errors.Join(r.WriteAtomic(0x1008, &want), r.Read(got[:], 0x1008)); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		var access *mr.AccessError
		if err := r.WriteAtomic(0x1009, &want); !errors.As(err, &access) || access.Fault != mr.OutOfBounds {
			t.Errorf("%s, past the end: %v", name, err)
		}
	}
}
