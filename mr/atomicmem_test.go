package mr_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

// words is memory by offset that records the calls of AtomicMemory's methods.
type words struct {
	remote
	calls []string
}

func (m *words) note(format string, args ...any) {
	m.calls = append(m.calls, fmt.Sprintf(format, args...))
}

func (m *words) WriteFinalAt(p []byte, off uint64) error {
	m.note("final %d+%d", off, len(p))
	return m.broken
}

func (m *words) CompareSwapAt(off, compare, swap uint64) (uint64, error) {
	m.note("swap %d: %d, %d", off, compare, swap)
	return 1, m.broken
}

func (m *words) FetchAddAt(off, add uint64) (uint64, error) {
	m.note("add %d: %d", off, add)
	return 2, m.broken
}

func (m *words) StoreUint64At(off, v uint64) error {
	m.note("store %d: %d", off, v)
	return m.broken
}

func (m *words) LoadByteAt(off uint64) (byte, error) {
	m.note("byte %d", off)
	return 3, m.broken
}

func (m *words) LoadUint64At(off uint64) (uint64, error) {
	m.note("word %d", off)
	return 4, m.broken
}

// useWords calls all methods of r that an AtomicMemory implements, at address at, and returns the
// values and errors.
func useWords(r *mr.Region, at uint64) (values []uint64, errs []error) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 9)
	swapped, err1 := r.CompareSwap(at+8, 5, 6)
	added, err2 := r.FetchAdd(at+8, 7)
	return []uint64{swapped, added, uint64(r.LoadByte(at + 3)), r.LoadUint64(at + 16)},
		[]error{r.WriteFinal(at, make([]byte, 20)), err1, err2, r.WriteAtomic(at+8, &b)}
}

func TestAtomicMemoryKeepsThePromisesItself(t *testing.T) {
	m := &words{remote: remote{b: make([]byte, 256)}}
	tab, pd, r := register(t, m, 0x1000, 256, bindable)
	w := windowOf(t, tab, pd, mr.WindowType2)
	b := part(w, r, mr.RemoteWrite)
	if err := tab.Bind(pd, 7, b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		r    *mr.Region
		at   uint64
		base uint64
	}{
		{"a region", r, 0x1000, 0},
		{"a window", tab.Lookup(w.RKey()), b.Addr, b.Addr - 0x1000},
	} {
		m.calls = nil
		values, errs := useWords(c.r, c.at)
		if want := []uint64{1, 2, 3, 4}; !slices.Equal(values, want) || errors.Join(errs...) != nil {
			t.Errorf("%s: %v, %v, want %v", c.name, values, errs, want)
		}
		want := []string{
			fmt.Sprintf("swap %d: 5, 6", c.base+8), fmt.Sprintf("add %d: 7", c.base+8),
			fmt.Sprintf("byte %d", c.base+3), fmt.Sprintf("word %d", c.base+16),
			fmt.Sprintf("final %d+20", c.base), fmt.Sprintf("store %d: 9", c.base+8),
		}
		if !slices.Equal(m.calls, want) {
			t.Errorf("%s: it was asked for\n%q, want\n%q", c.name, m.calls, want)
		}
	}
	if m.writes != nil {
		t.Errorf("it was written behind its back: %v", m.writes)
	}
}

func TestAtomicMemoryIsAskedOnlyForWhatIsInside(t *testing.T) {
	m := &words{remote: remote{b: make([]byte, 256)}}
	tab, _, r := register(t, m, 0x1000, 24, mr.LocalWrite)
	check := func(rule string, at uint64, want mr.Fault) {
		values, errs := useWords(r, at)
		for _, err := range errs {
			var access *mr.AccessError
			if !errors.As(err, &access) || access.Fault != want {
				t.Errorf("%s: %v, want %v", rule, err, want)
			}
		}
		if slices.ContainsFunc(values, func(v uint64) bool { return v != 0 }) || m.calls != nil {
			t.Errorf("%s: the memory was asked for %q", rule, m.calls)
		}
	}
	check("behind the end", 0x1018, mr.OutOfBounds)
	check("before the start", 0xfe0, mr.OutOfBounds)
	if err := tab.Deregister(r); err != nil {
		t.Fatal(err)
	}
	check("of what is gone", 0x1000, mr.Gone)
}

func TestErrorsOfAtomicMemoryArrive(t *testing.T) {
	m := &words{remote: remote{b: make([]byte, 24), broken: errors.New("broken")}}
	_, _, r := register(t, m, 0, 24, mr.LocalWrite)
	values, errs := useWords(r, 0)
	for i, err := range errs {
		if !errors.Is(err, m.broken) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if values[2] != 0 || values[3] != 0 {
		t.Errorf("loads that failed gave %v, want 0", values[2:])
	}
}

// readOnly is memory that can be read-only.
type readOnly struct {
	remote
	is bool
}

func (m *readOnly) ReadOnly() bool { return m.is }

func TestMemoryThatCanOnlyBeReadIsRegisteredWithoutWriting(t *testing.T) {
	for _, c := range []struct {
		readOnly bool
		access   mr.Access
		ok       bool
	}{
		{true, 0, true},
		{true, mr.RemoteRead, true},
		{true, mr.RemoteRead | mr.MWBind, true},
		{true, mr.LocalWrite, false},
		{true, mr.LocalWrite | mr.RemoteWrite, false},
		{true, mr.LocalWrite | mr.RemoteAtomic, false},
		{false, mr.LocalWrite | mr.RemoteWrite, true},
	} {
		m := &readOnly{remote{b: make([]byte, 64)}, c.readOnly}
		tab, pd := mr.NewTable([32]byte{1}, 2), &mr.PD{}
		if _, err := tab.Register(pd, m, 0, 64, c.access); (err == nil) != c.ok {
			t.Errorf("read only %v, access %v: %v", c.readOnly, c.access, err)
		}
		r, err := tab.Register(pd, m, 0, 64, mr.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tab.Reregister(r, &mr.Rereg{Change: mr.ChangeAccess, Access: c.access}); (err == nil) != c.ok {
			t.Errorf("read only %v, changed to %v: %v", c.readOnly, c.access, err)
		}
	}
}
