package mr_test

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
)

// guard is a lock that counts, and memory that records which of its locks is held during a
// call.
type guard struct {
	held  bool
	locks int
}

func (g *guard) Lock()   { g.held = true; g.locks++ }
func (g *guard) Unlock() { g.held = false }

// guarded is memory by offset.
type guarded struct {
	quiet
	guard *guard
	under []int // per call, 0 without the lock
	fails bool
}

func (m *guarded) note() {
	if m.fails {
		panic("the memory fails")
	}
	n := 0
	if m.guard.held {
		n = m.guard.locks
	}
	m.under = append(m.under, n)
}

func (m *guarded) ReadAt(p []byte, off uint64) error  { m.note(); return m.quiet.ReadAt(p, off) }
func (m *guarded) WriteAt(p []byte, off uint64) error { m.note(); return m.quiet.WriteAt(p, off) }

// guardedRegion returns a region over mem with the lock, created in one of the possible ways.
func guardedRegion(t *testing.T, way string, g *guard, mem mr.Memory) *mr.Region {
	t.Helper()
	tab, pd := mr.NewTable([32]byte{1}, 4), &mr.PD{}
	tab.GuardAtomics(g)
	const access = mr.LocalWrite | mr.RemoteAtomic | mr.MWBind
	r, err := tab.Register(pd, mem, 0x1000, 64, access)
	if err != nil {
		t.Fatal(err)
	}
	switch way {
	case "window":
		w := windowOf(t, tab, pd, mr.WindowType1)
		b := &mr.Bind{Key: w.RKey(), NewKey: w.RKey(), LKey: r.LKey(), Addr: 0x1000, Length: 64,
			Access: mr.RemoteAtomic}
		if err := tab.Bind(pd, 1, b); err != nil {
			t.Fatal(err)
		}
		r = tab.Lookup(w.RKey())
	case "fast-registration memory region":
		f, err := tab.AllocFast(pd, 64)
		if err != nil {
			t.Fatal(err)
		}
		q := &mr.FastReg{Key: f.Key(), NewKey: f.Key(), Memory: mem, IOVA: 0x1000, Length: 64, Access: access}
		if err := tab.RegisterFast(pd, q); err != nil {
			t.Fatal(err)
		}
		r = tab.Lookup(f.Key())
	case "registered anew":
		if r, err = tab.Reregister(r, &mr.Rereg{Change: mr.ChangeAccess, Access: access}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

var ways = []string{"region", "window", "fast-registration memory region", "registered anew"}

func TestOneLockSpansBothCallsOfAnAtomic(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			g := &guard{}
			m := &guarded{quiet: quiet{make([]byte, 64)}, guard: g}
			r := guardedRegion(t, way, g, m)
			for i, f := range []func() error{
				func() error { _, err := r.FetchAdd(0x1008, 1); return err },
				func() error { _, err := r.CompareSwap(0x1008, 1, 2); return err },
				func() error { _, err := r.CompareSwap(0x1008, 9, 2); return err },
				func() error { return r.WriteAtomic(0x1008, new([8]byte)) },
			} {
				m.under = nil
				if err := f(); err != nil {
					t.Fatal(err)
				}
				for _, n := range m.under {
					if n != i+1 {
						t.Errorf("call %d came to the memory under locks %v, want %d alone", i, m.under, i+1)
					}
				}
				if len(m.under) == 0 || g.held {
					t.Errorf("call %d: %d calls of the memory, lock held %v", i, len(m.under), g.held)
				}
			}
			// Accesses that are not atomics do not wait for one.
			m.under = nil
			if err := r.WriteFinal(0x1000, make([]byte, 32)); err != nil {
				t.Fatal(err)
			}
			if g.locks != 4 {
				t.Error("a write took the lock of the atomics")
			}
		})
	}
}

func TestAtomicsOnSlicesLockOnlyWhereTheyAreNotAligned(t *testing.T) {
	for _, way := range ways {
		for off, locks := range map[int]int{0: 0, 8: 0, 3: 2, 4: 2} {
			g := &guard{}
			r := guardedRegion(t, way, g, mr.Bytes(make([]byte, 80)[off:]))
			if _, err := r.FetchAdd(0x1008, 1); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteAtomic(0x1008, new([8]byte)); err != nil {
				t.Fatal(err)
			}
			if g.locks != locks || g.held {
				t.Errorf("%s, slice at offset %d: %d locks, held %v, want %d", way, off, g.locks, g.held, locks)
			}
		}
	}
}

func TestMemoryThatPanicsLeavesTheLockOpen(t *testing.T) {
	g := &guard{}
	m := &guarded{quiet: quiet{make([]byte, 64)}, guard: g, fails: true}
	r := guardedRegion(t, "region", g, m)
	for i, f := range []func(){
		func() { _, _ = r.FetchAdd(0x1008, 1) },
		func() { _ = r.WriteAtomic(0x1008, new([8]byte)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("call %d: the panic was lost", i)
				}
			}()
			f()
		}()
		if g.locks != i+1 || g.held {
			t.Errorf("call %d: %d locks, held %v", i, g.locks, g.held)
		}
	}
}
