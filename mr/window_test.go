package mr_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

const bindable = mr.LocalWrite | mr.MWBind

// windowOf creates a window in the protection domain of a region.
func windowOf(t *testing.T, tab *mr.Table, pd *mr.PD, typ mr.WindowType) *mr.Window {
	t.Helper()
	w, err := tab.AllocWindow(pd, typ)
	if err != nil {
		t.Fatal(err)
	}
	if w.Type() != typ || w.PD() != pd || w.Bound() || tab.Lookup(w.RKey()) != nil {
		t.Fatalf("a new window: %+v", w)
	}
	return w
}

// part is a request that binds w to 64 bytes at 0x1040 of r.
func part(w *mr.Window, r *mr.Region, access mr.Access) *mr.Bind {
	return &mr.Bind{Key: w.RKey(), NewKey: mr.IncRKey(w.RKey()), LKey: r.LKey(), Addr: 0x1040, Length: 64,
		Access: access}
}

func mustError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestIncRKeyChangesTheLowByteOnly(t *testing.T) {
	for key, want := range map[uint32]uint32{0x12345600: 0x12345601, 0x123456ff: 0x12345600, 0xffffffff: 0xffffff00} {
		if got := mr.IncRKey(key); got != want {
			t.Errorf("%#x becomes %#x, want %#x", key, got, want)
		}
	}
}

func TestWindowOpensItsPartOfARegionOnly(t *testing.T) {
	for name, mem := range map[string]mr.Memory{"addressable": mr.Bytes(make([]byte, 256)),
		"by offset": &remote{b: make([]byte, 256)}} {
		t.Run(name, func(t *testing.T) {
			tab, pd, r := register(t, mem, 0x1000, 256, bindable)
			w := windowOf(t, tab, pd, mr.WindowType1)
			old, b := w.RKey(), part(w, r, mr.RemoteWrite)
			if err := tab.Bind(pd, 7, b); err != nil {
				t.Fatal(err)
			}
			if w.RKey() != b.NewKey || !w.Bound() || tab.Lookup(old) != nil {
				t.Fatalf("key %#x after binding with %#x", w.RKey(), b.NewKey)
			}
			p := tab.Lookup(w.RKey())
			for _, c := range []struct {
				pd        *mr.PD
				addr, len uint64
				need      mr.Access
				want      mr.Fault
			}{
				{pd, 0x1040, 64, mr.RemoteWrite, mr.OK},
				{pd, 0x103f, 2, mr.RemoteWrite, mr.OutOfBounds},
				{pd, 0x107f, 2, mr.RemoteWrite, mr.OutOfBounds},
				{pd, 0x1040, 1, mr.RemoteRead, mr.NoAccess},
				{&mr.PD{}, 0x1040, 1, mr.RemoteWrite, mr.WrongPD},
			} {
				if got := p.CheckRemote(c.pd, 99, c.addr, c.len, c.need); got != c.want {
					t.Errorf("%d bytes at %#x for %v: %v, want %v", c.len, c.addr, c.need, got, c.want)
				}
			}
			if got := p.Check(pd, 0x1040, 1, 0); got != mr.WindowKey {
				t.Errorf("local access by a window's key: %v", got)
			}
			if err := p.Write(0x1042, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			var got [5]byte
			if err := r.Read(got[:], 0x1042); err != nil || string(got[:]) != "hello" {
				t.Errorf("the region has %q, %v", got, err)
			}
		})
	}
}

func TestZeroBasedWindowCountsFromZero(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
	w := windowOf(t, tab, pd, mr.WindowType2)
	if err := tab.Bind(pd, 7, part(w, r, mr.RemoteWrite|mr.ZeroBased)); err != nil {
		t.Fatal(err)
	}
	p := tab.Lookup(w.RKey())
	if p.CheckRemote(pd, 7, 0, 64, mr.RemoteWrite) != mr.OK ||
		p.CheckRemote(pd, 7, 1, 64, mr.RemoteWrite) != mr.OutOfBounds {
		t.Error("the window does not reach from 0 to 64")
	}
	if err := p.WriteFinal(0, []byte{42}); err != nil || r.LoadByte(0x1040) != 42 {
		t.Errorf("address 0 is not the first byte of the range: %v", err)
	}
}

func TestWindowOfType2IsOpenToItsQueuePairOnly(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
	w := windowOf(t, tab, pd, mr.WindowType2)
	if err := tab.Bind(pd, 7, part(w, r, mr.RemoteRead)); err != nil {
		t.Fatal(err)
	}
	p := tab.Lookup(w.RKey())
	if f := p.CheckRemote(pd, 8, 0x1040, 1, mr.RemoteRead); f != mr.WrongQP {
		t.Errorf("on another queue pair: %v", f)
	}
	if f := p.CheckRemote(pd, 7, 0x1040, 1, mr.RemoteRead); f != mr.OK {
		t.Errorf("on its queue pair: %v", f)
	}
	mustError(t, tab.InvalidateRemote(pd, 8, w.RKey()), "is bound on queue pair 0x000007")
	tab.UnbindQP(8)
	if !w.Bound() {
		t.Error("another queue pair's end unbound the window")
	}
	tab.UnbindQP(7)
	if w.Bound() || p.Valid() || tab.Lookup(w.RKey()) != nil {
		t.Error("the window outlives its queue pair")
	}
	if err := tab.Deregister(r); err != nil {
		t.Errorf("the region is still in use: %v", err)
	}
}

// Whatever ends a binding, the key becomes invalid, a stale pointer is rejected, and the region
// can be deregistered.
func TestEndOfABinding(t *testing.T) {
	for name, c := range map[string]struct {
		typ mr.WindowType
		end func(*mr.Table, *mr.PD, *mr.Window) error
	}{
		"type 1 bound to nothing": {mr.WindowType1, func(tab *mr.Table, pd *mr.PD, w *mr.Window) error {
			return tab.Bind(pd, 7, &mr.Bind{Key: w.RKey(), NewKey: mr.IncRKey(w.RKey())})
		}},
		"type 2 invalidated": {mr.WindowType2,
			func(tab *mr.Table, pd *mr.PD, w *mr.Window) error { return tab.Invalidate(pd, w.RKey()) }},
		"type 2 invalidated by peer": {mr.WindowType2,
			func(tab *mr.Table, pd *mr.PD, w *mr.Window) error { return tab.InvalidateRemote(pd, 7, w.RKey()) }},
		"deallocated": {mr.WindowType2,
			func(tab *mr.Table, pd *mr.PD, w *mr.Window) error { return tab.DeallocWindow(w) }},
	} {
		t.Run(name, func(t *testing.T) {
			tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
			w := windowOf(t, tab, pd, c.typ)
			if err := tab.Bind(pd, 7, part(w, r, mr.RemoteWrite)); err != nil {
				t.Fatal(err)
			}
			p, key := tab.Lookup(w.RKey()), w.RKey()
			mustError(t, tab.Deregister(r), "1 memory windows are bound to the region")
			_, err := tab.Reregister(r, &mr.Rereg{Change: mr.ChangeAccess})
			mustError(t, err, "1 memory windows are bound to the region")
			if err := c.end(tab, pd, w); err != nil {
				t.Fatal(err)
			}
			if tab.Lookup(key) != nil || p.Valid() || p.CheckRemote(pd, 7, 0x1040, 1, mr.RemoteWrite) != mr.Gone {
				t.Error("the key or a pointer still opens memory")
			}
			var access *mr.AccessError
			if err := p.Write(0x1040, []byte{1}); !errors.As(err, &access) || access.Fault != mr.Gone {
				t.Errorf("a write through a kept pointer: %v", err)
			}
			if err := tab.Deregister(r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBindingAgain(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
	one, two := windowOf(t, tab, pd, mr.WindowType1), windowOf(t, tab, pd, mr.WindowType2)
	for _, w := range []*mr.Window{one, two} {
		if err := tab.Bind(pd, 7, part(w, r, mr.RemoteWrite)); err != nil {
			t.Fatal(err)
		}
	}
	p := tab.Lookup(one.RKey())
	if err := tab.Bind(pd, 7, part(one, r, mr.RemoteRead)); err != nil || p.Valid() {
		t.Errorf("a window of type 1 bound again: %v, former binding valid: %v", err, p.Valid())
	}
	mustError(t, tab.Bind(pd, 7, part(two, r, mr.RemoteRead)), "of type 2 is bound; invalidate it first")
	mustError(t, tab.Deregister(r), "2 memory windows")
}

func TestBindRefuses(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
	other := &mr.PD{}
	add := func(pd *mr.PD, iova uint64, access mr.Access) *mr.Region {
		r, err := tab.Register(pd, mr.Bytes(make([]byte, 256)), iova, 256, access)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	noBind, readOnly, zero := add(pd, 0x1000, mr.LocalWrite), add(pd, 0x1000, mr.MWBind),
		add(pd, 0, bindable|mr.ZeroBased)
	foreign := add(other, 0x1000, bindable)
	one, two := windowOf(t, tab, pd, mr.WindowType1), windowOf(t, tab, pd, mr.WindowType2)
	bound := windowOf(t, tab, pd, mr.WindowType1)
	if err := tab.Bind(pd, 7, part(bound, r, mr.RemoteRead)); err != nil {
		t.Fatal(err)
	}
	edit := func(b *mr.Bind, f func(*mr.Bind)) *mr.Bind { f(b); return b }
	for _, c := range []struct {
		pd   *mr.PD
		b    *mr.Bind
		want string
	}{
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.Key++ }), "no memory window has key"},
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.Key = r.RKey() }), "no memory window has key"},
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.NewKey += 0x100 }), "only the low byte may change"},
		{other, part(one, r, 0), "not in the protection domain of the queue pair"},
		{pd, part(one, foreign, 0), "not in the protection domain of the queue pair"},
		{pd, part(one, r, mr.LocalWrite), "cannot be bound with access LOCAL_WRITE"},
		{pd, part(one, r, mr.ZeroBased), "type 1 and cannot be zero-based"},
		{pd, edit(part(two, r, 0), func(b *mr.Bind) { b.Length = 0 }), "not by length 0"},
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.LKey++ }), "no memory region has key"},
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.LKey = bound.RKey() }), "no memory region has key"},
		{pd, part(one, noBind, 0), "registered without MW_BIND"},
		{pd, part(one, zero, 0), "is zero-based"},
		{pd, part(one, readOnly, mr.RemoteWrite), "lacks LOCAL_WRITE, which a window with REMOTE_WRITE requires"},
		{pd, part(one, readOnly, mr.RemoteAtomic), "lacks LOCAL_WRITE, which a window with REMOTE_ATOMIC requires"},
		{pd, part(one, r, mr.FlushGlobal), "lacks FLUSH_GLOBAL, which the window requests"},
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.Addr = 0x10c1 }), "are not inside region"},
		{pd, edit(part(one, r, 0), func(b *mr.Bind) { b.Addr = 1<<64 - 1 }), "are not inside region"},
	} {
		keys := []uint32{one.RKey(), two.RKey()}
		mustError(t, tab.Bind(c.pd, 7, c.b), c.want)
		if one.Bound() || two.Bound() || !slices.Equal(keys, []uint32{one.RKey(), two.RKey()}) {
			t.Errorf("%s: the refused request changed a window", c.want)
		}
	}
	if err := tab.Bind(pd, 7, part(one, readOnly, mr.RemoteRead)); err != nil {
		t.Errorf("reading needs no right on the region: %v", err)
	}
}

func TestWindowsAreAllocatedAndEndOnce(t *testing.T) {
	tab, other := mr.NewTable([32]byte{1}, 1), mr.NewTable([32]byte{1}, 1)
	pd := &mr.PD{}
	if _, err := tab.AllocWindow(nil, mr.WindowType1); err == nil {
		t.Error("a window without a domain")
	}
	_, err := tab.AllocWindow(pd, 3)
	mustError(t, err, "type 3 is not known")
	w := windowOf(t, tab, pd, mr.WindowType2)
	if tab.Len() != 0 {
		t.Error("a window counts as a region")
	}
	mustError(t, other.DeallocWindow(w), "not a window of this table")
	if err := tab.DeallocWindow(w); err != nil {
		t.Fatal(err)
	}
	mustError(t, tab.DeallocWindow(w), "not a window of this table")
	mustError(t, tab.DeallocWindow(nil), "no window given")
}

func TestInvalidateRefuses(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
	one, two := windowOf(t, tab, pd, mr.WindowType1), windowOf(t, tab, pd, mr.WindowType2)
	if err := tab.Bind(pd, 7, part(one, r, mr.RemoteRead)); err != nil {
		t.Fatal(err)
	}
	mustError(t, tab.Invalidate(pd, two.RKey()), "is not bound")
	if err := tab.Bind(pd, 7, part(two, r, mr.RemoteRead)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[uint32]string{
		r.RKey():       "belongs to a memory region",
		one.RKey():     "is of type 1",
		two.RKey() ^ 1: "no object has key",
		r.RKey() ^ 1:   "no object has key",
	} {
		mustError(t, tab.Invalidate(pd, key), want)
	}
	mustError(t, tab.Invalidate(&mr.PD{}, two.RKey()), "not in the protection domain of the queue pair")
	if !r.Valid() || !one.Bound() || !two.Bound() {
		t.Error("a refused request has an effect")
	}
}

// The part of a region that a window's key resolves to cannot be deregistered.
func TestPartOfAWindowIsNoRegionOfItsOwn(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable)
	w := windowOf(t, tab, pd, mr.WindowType1)
	if err := tab.Bind(pd, 7, part(w, r, mr.RemoteRead)); err != nil {
		t.Fatal(err)
	}
	mustError(t, tab.Deregister(tab.Lookup(w.RKey())), "is that of a memory window")
}
