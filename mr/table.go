package mr

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/idmap"
	"github.com/gorxe/gorxe/internal/ordered"
)

// Limits on the number of registered regions of a table.
const (
	DefaultMaxRegions = 1 << 19
	MaxRegions        = 1 << 23
)

// Table allocates the keys of memory regions and windows and resolves them.
type Table struct {
	keys    keySequence
	byIndex idmap.Map[uint32, *entry]
	order   ordered.List[uint32] // indexes in use, in order of allocation
	regions int
	windows int
	max     int                // maximum number of regions
	bound   map[uint32]*Window // by QPN, head of the list of bound windows of type 2
	atomics Locker             // nil if only one goroutine uses the table
}

// entry is what an index resolves to. An unbound window and an unregistered fast-registration
// memory region have an index without a region.
type entry struct {
	region *Region
	window *Window
	fast   *FastRegion
	number uint64 // number of the index in Table.order
}

// insert stores e under the index of key, which must be free.
func (t *Table) insert(key uint32, e entry) {
	e.number = t.order.Add(key >> variantBits)
	t.byIndex.Put(key>>variantBits, &e)
}

// entry returns the entry of the index of key, the zero entry if the index is free.
func (t *Table) entry(key uint32) entry {
	if e := t.byIndex.Get(key >> variantBits); e != nil {
		return *e
	}
	return entry{}
}

// replace changes the entry of the index of key, which must be in use.
func (t *Table) replace(key uint32, e entry) {
	at := t.byIndex.Get(key >> variantBits)
	e.number = at.number
	*at = e
}

// remove frees the index of key. It clears the entry, because a [Finder] may still hold it.
func (t *Table) remove(key uint32) {
	e := t.byIndex.Get(key >> variantBits)
	t.order.Remove(e.number)
	*e = entry{}
	t.byIndex.Delete(key >> variantBits)
}

// NewTable returns an empty table for at most max regions: 1 to [MaxRegions]; a larger max is
// lowered to MaxRegions, and 0 or less means [DefaultMaxRegions]. The secret determines all
// keys: take it from crypto/rand if peers must not guess them.
func NewTable(secret [32]byte, max int) *Table {
	if max <= 0 {
		max = DefaultMaxRegions
	}
	return &Table{
		keys:  newKeySequence(secret),
		max:   min(max, MaxRegions),
		bound: make(map[uint32]*Window),
	}
}

// Len returns the number of regions, including unregistered fast-registration memory regions.
func (t *Table) Len() int { return t.regions }

// Register registers the first length bytes of mem under a new key, at the addresses from iova
// on. It fails for access flags that verbs reject, such as remote write without local write,
// for a range outside mem or the 64-bit address space, and if the table is full.
func (t *Table) Register(pd *PD, mem Memory, iova, length uint64, access Access) (*Region, error) {
	r, err := t.newRegion("register", pd, mem, iova, length, access)
	if err != nil {
		return nil, err
	}
	if t.regions >= t.max {
		return nil, t.fullError("register")
	}
	if err := pd.Hold(); err != nil {
		return nil, err
	}
	r.key = t.newKey()
	t.insert(r.key, entry{region: r})
	t.regions++
	return r, nil
}

func (t *Table) fullError(op string) error {
	return fmt.Errorf("mr: %s: all %d regions are in use; deregister one", op, t.max)
}

// newRegion checks the rules of registration and returns a region without a key. op names the
// operation in errors.
func (t *Table) newRegion(op string, pd *PD, mem Memory, iova, length uint64, access Access) (*Region, error) {
	if pd == nil {
		return nil, fmt.Errorf("mr: %s: no protection domain given", op)
	}
	if mem == nil {
		return nil, fmt.Errorf("mr: %s: no memory given", op)
	}
	if err := access.validate(); err != nil {
		return nil, err
	}
	if size := mem.Size(); length > size {
		return nil, fmt.Errorf("mr: %s: length %d is more than the memory's %d bytes", op, length, size)
	}
	if length > 0 && iova+(length-1) < iova {
		return nil, fmt.Errorf("mr: %s: %d bytes from %#x go past the end of the address space", op, length, iova)
	}
	if access&ZeroBased != 0 && iova != 0 {
		return nil, fmt.Errorf("mr: %s: ZERO_BASED with address %#x; it must be 0", op, iova)
	}
	r := &Region{pd: pd, mem: mem, iova: iova, length: length, access: access, valid: true, atomics: t.atomics}
	if m, ok := mem.(ReadOnly); ok && m.ReadOnly() && access&LocalWrite != 0 {
		return nil, fmt.Errorf(
			"mr: %s: access %v on read-only memory; clear LOCAL_WRITE and the rights that require it",
			op, access)
	}
	if a, ok := mem.(Addressable); ok {
		b := a.Bytes()
		if uint64(len(b)) < length {
			return nil, fmt.Errorf("mr: %s: memory of size %d has only %d bytes", op, mem.Size(), len(b))
		}
		r.bytes = b[:length:length]
		r.addressable = true
	} else {
		r.atomicMem, _ = mem.(AtomicMemory)
		r.vectored, _ = mem.(Vectored)
	}
	return r, nil
}

// newKey takes keys from the sequence until it finds one with a free index. At most a little
// more than half of the indexes are in use, so few attempts suffice. Index 0 is never used, so
// that no key is 0, whatever variant its owner selects.
func (t *Table) newKey() uint32 {
	for {
		key := t.keys.key()
		if !t.byIndex.Has(key>>variantBits) && key>>variantBits != 0 {
			return key
		}
	}
}

// Deregister deregisters a region: its key no longer resolves, and accesses through stale
// pointers fail with [Gone]. It fails if r is not, or no longer, registered in this table, or
// if memory windows are bound to it.
func (t *Table) Deregister(r *Region) error {
	if err := t.checkOwned("deregister", r); err != nil {
		return err
	}
	t.remove(r.key)
	t.regions--
	r.invalidate()
	r.pd.Release()
	return nil
}

// checkOwned returns an error if r is not a region of this table that may be changed or
// deregistered.
func (t *Table) checkOwned(op string, r *Region) error {
	if r == nil {
		return fmt.Errorf("mr: %s: no region given", op)
	}
	e := t.entry(r.key)
	switch {
	case e.region != r:
		return fmt.Errorf("mr: %s: key %#08x is not registered in this table", op, r.key)
	case e.window != nil:
		return fmt.Errorf("mr: %s: key %#08x is that of a memory window; unbind or deallocate the window", op, r.key)
	case e.fast != nil:
		return fmt.Errorf(
			"mr: %s: key %#08x is that of a fast-registration memory region; invalidate or free it", op, r.key)
	}
	return r.checkNoWindows(op)
}

// checkNoWindows returns an error if memory windows are bound to the region.
func (r *Region) checkNoWindows(op string) error {
	if r.windows > 0 {
		return fmt.Errorf("mr: %s: %d memory windows are bound to the region of key %#08x; unbind them first",
			op, r.windows, r.key)
	}
	return nil
}

// Lookup returns the region with this key, or nil. A stale key gives nil: its index is reused only
// after 15/16 of the other indexes, and with another variant. The key of a bound window resolves to
// the window's part of its region.
func (t *Table) Lookup(key uint32) *Region {
	if e := t.find(key); e != nil {
		return e.region
	}
	return nil
}

// find returns the entry whose region has this key, or nil.
func (t *Table) find(key uint32) *entry {
	if e := t.byIndex.Get(key >> variantBits); e != nil && e.hasKey(key) {
		return e
	}
	return nil
}

// hasKey reports whether the region of the entry has this key.
func (e *entry) hasKey(key uint32) bool { return e.region != nil && e.region.key == key }
