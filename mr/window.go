package mr

import "fmt"

// WindowType is the type of a memory window. The values are those of ibv_mw_type.
type WindowType uint8

const (
	// WindowType1 windows are accessible through every queue pair of their protection domain. A
	// new binding replaces the previous one, and a binding of length 0 unbinds the window. They
	// cannot be invalidated.
	WindowType1 WindowType = 1
	// WindowType2 is type 2B of IBA 10.6.7.2: accessible through the queue pair that it was
	// bound on until it is invalidated. It can be bound again only after that.
	WindowType2 WindowType = 2
)

// MaxWindows is the maximum number of memory windows of a table.
const MaxWindows = 1 << 19

// windowAccess are the access rights that a window can be bound with.
const windowAccess = RemoteWrite | RemoteRead | RemoteAtomic | ZeroBased | FlushGlobal |
	FlushPersistent | optionalAccess

// Window is a memory window: a key for a part of a region. [Table.AllocWindow] creates one.
type Window struct {
	typ    WindowType
	pd     *PD
	key    uint32
	qpn    uint32  // queue pair that a window of type 2 is bound on
	region *Region // bound part of a region, nil while unbound

	// Neighbours in the list of windows of type 2 that are bound on qpn.
	prev, next *Window
}

// Type returns the type of the window.
func (w *Window) Type() WindowType { return w.typ }

// PD returns the protection domain of the window.
func (w *Window) PD() *PD { return w.pd }

// RKey returns the key of the window. Each binding may change the low byte.
func (w *Window) RKey() uint32 { return w.key }

// Bound reports whether the window is bound to memory.
func (w *Window) Bound() bool { return w.region != nil }

// Bind is a work request that binds a memory window.
type Bind struct {
	Key    uint32 // current key of the window
	NewKey uint32 // key after the binding; see [IncRKey]
	LKey   uint32 // key of the region; ignored if Length is 0
	Addr   uint64 // address of the first byte in the region
	Length uint64 // 0 unbinds a window of type 1
	Access Access // remote access rights, and ZeroBased for addresses from 0 on
}

// IncRKey returns key with its low byte incremented, as ibv_inc_rkey. The owner of the window
// selects the low byte.
func IncRKey(key uint32) uint32 { return key&^(1<<variantBits-1) | uint32(uint8(key)+1) }

// AllocWindow creates an unbound memory window.
func (t *Table) AllocWindow(pd *PD, typ WindowType) (*Window, error) {
	if pd == nil {
		return nil, fmt.Errorf("mr: window: no protection domain given")
	}
	if typ != WindowType1 && typ != WindowType2 {
		return nil, fmt.Errorf("mr: window: type %d is not known; use 1 or 2", uint8(typ))
	}
	if t.windows >= MaxWindows {
		return nil, fmt.Errorf("mr: window: all %d windows are in use; deallocate one", MaxWindows)
	}
	if err := pd.Hold(); err != nil {
		return nil, err
	}
	w := &Window{typ: typ, pd: pd, key: t.newKey()}
	t.insert(w.key, entry{window: w})
	t.windows++
	return w, nil
}

// DeallocWindow deallocates a window, bound or not.
func (t *Table) DeallocWindow(w *Window) error {
	if w == nil {
		return fmt.Errorf("mr: window: no window given")
	}
	if t.entry(w.key).window != w {
		return fmt.Errorf("mr: window: key %#08x is not a window of this table", w.key)
	}
	t.unbind(w)
	t.remove(w.key)
	t.windows--
	w.pd.Release()
	return nil
}

// Bind binds a window on queue pair qpn of domain pd to a part of a region. The rules are those
// of IBA 10.6.7.2, as Linux rxe applies them:
//
//   - Window, region and queue pair belong to the same domain.
//   - The region has MW_BIND, contains the whole range and is not zero-based. It has LOCAL_WRITE
//     if the window permits remote writes or atomics, and all FLUSH rights of the window.
//   - A window of type 2 is not bound yet; a window of type 1 is not zero-based.
//
// After an error nothing has changed.
func (t *Table) Bind(pd *PD, qpn uint32, b *Bind) error {
	w := t.entry(b.Key).window
	if w == nil || w.key != b.Key {
		return fmt.Errorf("mr: bind: no memory window has key %#08x", b.Key)
	}
	if b.NewKey>>variantBits != b.Key>>variantBits {
		return fmt.Errorf("mr: bind: window %#08x cannot change its key to %#08x; only the low byte may change",
			b.Key, b.NewKey)
	}
	if w.pd != pd {
		return fmt.Errorf("mr: bind: window %#08x is not in the protection domain of the queue pair", b.Key)
	}
	if err := w.checkBind(b); err != nil {
		return err
	}
	var r *Region
	if b.Length > 0 {
		parent := t.Lookup(b.LKey)
		if err := parent.checkBindTarget(pd, b); err != nil {
			return err
		}
		r = parent.boundRegion(w, b)
		parent.windows++
	}
	t.unbind(w)
	w.key = b.NewKey
	w.region = r
	if w.typ == WindowType2 {
		w.qpn = qpn
		t.link(w)
	}
	t.replace(w.key, entry{region: r, window: w})
	return nil
}

// checkBind checks the request against the type of the window.
func (w *Window) checkBind(b *Bind) error {
	if bad := b.Access &^ windowAccess; bad != 0 {
		return fmt.Errorf("mr: bind: a memory window cannot be bound with access %v", bad)
	}
	if w.typ == WindowType1 {
		if b.Access&ZeroBased != 0 {
			return fmt.Errorf("mr: bind: window %#08x is of type 1 and cannot be zero-based", b.Key)
		}
		return nil
	}
	if w.Bound() {
		return fmt.Errorf("mr: bind: window %#08x of type 2 is bound; invalidate it first", b.Key)
	}
	if b.Length == 0 {
		return fmt.Errorf("mr: bind: window %#08x is of type 2: it is unbound by invalidating it, not by length 0",
			b.Key)
	}
	return nil
}

// checkBindTarget returns an error if the window cannot be bound to the region.
func (r *Region) checkBindTarget(pd *PD, b *Bind) error {
	if r == nil || r.window != nil {
		return fmt.Errorf("mr: bind: no memory region has key %#08x", b.LKey)
	}
	writes := b.Access & (RemoteWrite | RemoteAtomic)
	flushes := b.Access & (FlushGlobal | FlushPersistent)
	switch {
	case r.pd != pd:
		return fmt.Errorf("mr: bind: region %#08x is not in the protection domain of the queue pair", b.LKey)
	case r.access&MWBind == 0:
		return fmt.Errorf("mr: bind: region %#08x was registered without MW_BIND", b.LKey)
	case r.access&ZeroBased != 0:
		return fmt.Errorf("mr: bind: region %#08x is zero-based: memory windows cannot be bound to it", b.LKey)
	case writes != 0 && r.access&LocalWrite == 0:
		return fmt.Errorf("mr: bind: region %#08x lacks LOCAL_WRITE, which a window with %v requires",
			b.LKey, writes)
	case r.access&flushes != flushes:
		return fmt.Errorf("mr: bind: region %#08x lacks %v, which the window requests",
			b.LKey, flushes)
	case !r.contains(b.Addr, b.Length):
		return fmt.Errorf("mr: bind: %d bytes at %#x are not inside region %#08x of %d bytes from %#x",
			b.Length, b.Addr, b.LKey, r.length, r.iova)
	}
	return nil
}

// boundRegion returns a new region for the part of r that b binds window w to. The table resolves
// the key of the window to the new region.
func (r *Region) boundRegion(w *Window, b *Bind) *Region {
	off := b.Addr - r.iova
	p := &Region{
		iova: b.Addr, length: b.Length, pd: r.pd, access: b.Access, key: b.NewKey,
		window: w, parent: r, start: b.Addr, base: off, valid: true, addressable: r.addressable,
		mem: r.mem, atomicMem: r.atomicMem, vectored: r.vectored, atomics: r.atomics,
	}
	if b.Access&ZeroBased != 0 {
		p.iova = 0
	}
	if r.addressable {
		p.bytes = r.bytes[off : off+b.Length : off+b.Length]
	}
	return p
}

// unbind unbinds the window, if it is bound.
func (t *Table) unbind(w *Window) {
	r := w.region
	if r == nil {
		return
	}
	r.parent.windows--
	r.invalidate()
	w.region = nil
	t.replace(w.key, entry{window: w})
	if w.typ == WindowType2 {
		t.unlink(w)
	}
}

// link adds w to the list of windows bound on its queue pair.
func (t *Table) link(w *Window) {
	if first := t.bound[w.qpn]; first != nil {
		first.prev, w.next = w, first
	}
	t.bound[w.qpn] = w
}

// unlink removes w from the list of windows bound on its queue pair.
func (t *Table) unlink(w *Window) {
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		t.bound[w.qpn] = w.next
	default:
		delete(t.bound, w.qpn)
	}
	w.prev, w.next = nil, nil
}

// HasBound reports whether windows of type 2 are bound on queue pair qpn.
func (t *Table) HasBound(qpn uint32) bool { return t.bound[qpn] != nil }

// UnbindQP unbinds the windows of type 2 that are bound on a destroyed queue pair, whose number
// may be reused. It takes time proportional to the number of those windows, not to that of all
// keys.
func (t *Table) UnbindQP(qpn uint32) {
	for w := t.bound[qpn]; w != nil; w = t.bound[qpn] {
		t.unbind(w)
	}
}
