package mr

import "fmt"

// FastRegion is a fast-registration memory region (IBA 10.6.4). [Table.AllocFast] creates one.
// REG_MR registers memory under its key; LOCAL_INV, or a SEND with invalidate of the peer, ends the
// registration. The key can be registered and invalidated any number of times.
type FastRegion struct {
	pd     *PD
	max    uint64 // maximum length in bytes
	key    uint32
	region *Region // nil while not registered
}

// PD returns the protection domain of the region.
func (f *FastRegion) PD() *PD { return f.pd }

// Key returns the L_Key and R_Key of the region, which are the same number. Each registration
// may change the low byte.
func (f *FastRegion) Key() uint32 { return f.key }

// MaxLength returns the maximum length of the region in bytes.
func (f *FastRegion) MaxLength() uint64 { return f.max }

// Registered reports whether the key resolves to memory.
func (f *FastRegion) Registered() bool { return f.region != nil }

// FastReg is a work request (REG_MR) that registers a fast-registration memory region.
type FastReg struct {
	Key    uint32 // current key of the fast-registration memory region
	NewKey uint32 // key after the registration; see [IncRKey]
	Memory Memory
	IOVA   uint64 // address of the first byte
	Length uint64 // bytes from the start of Memory
	Access Access
}

// AllocFast creates a fast-registration memory region of at most max bytes that is not registered
// yet. It counts towards the limit of regions of the table.
func (t *Table) AllocFast(pd *PD, max uint64) (*FastRegion, error) {
	if pd == nil {
		return nil, fmt.Errorf("mr: fast-registration memory region: no protection domain given")
	}
	if t.regions >= t.max {
		return nil, t.fullError("fast-registration memory region")
	}
	if err := pd.Hold(); err != nil {
		return nil, err
	}
	f := &FastRegion{pd: pd, max: max, key: t.newKey()}
	t.insert(f.key, entry{fast: f})
	t.regions++
	return f, nil
}

// FreeFast deallocates a fast-registration memory region, registered or not. It fails if memory
// windows are bound to the region.
func (t *Table) FreeFast(f *FastRegion) error {
	if f == nil {
		return fmt.Errorf("mr: fast-registration memory region: no region given")
	}
	if t.entry(f.key).fast != f {
		return fmt.Errorf("mr: fast-registration memory region: key %#08x is not registered in this table", f.key)
	}
	if err := f.mayInvalidate(f.pd); err != nil {
		return err
	}
	t.invalidateFast(f)
	t.remove(f.key)
	t.regions--
	f.pd.Release()
	return nil
}

// RegisterFast executes a REG_MR on a queue pair of domain pd. In addition to the rules of
// [Table.Register], the region must not be registered, must belong to pd, and its maximum length
// must be at least q.Length. After an error nothing has changed.
func (t *Table) RegisterFast(pd *PD, q *FastReg) error {
	f := t.entry(q.Key).fast
	switch {
	case f == nil || f.key != q.Key:
		return fmt.Errorf("mr: fast register: no fast-registration memory region has key %#08x", q.Key)
	case q.NewKey>>variantBits != q.Key>>variantBits:
		return fmt.Errorf(
			"mr: fast register: region %#08x cannot change its key to %#08x; only the low byte may change",
			q.Key, q.NewKey)
	case f.pd != pd:
		return fmt.Errorf("mr: fast register: region %#08x is not in the protection domain of the queue pair", q.Key)
	case f.Registered():
		return fmt.Errorf("mr: fast register: region %#08x is registered; invalidate it first", q.Key)
	case q.Length > f.max:
		return fmt.Errorf("mr: fast register: %d bytes exceed the maximum of region %#08x, %d", q.Length, q.Key, f.max)
	}
	r, err := t.newRegion("fast register", pd, q.Memory, q.IOVA, q.Length, q.Access)
	if err != nil {
		return err
	}
	r.key = q.NewKey
	f.key, f.region = q.NewKey, r
	t.replace(f.key, entry{region: r, fast: f})
	return nil
}

// invalidateFast ends the registration of f, if there is one.
func (t *Table) invalidateFast(f *FastRegion) {
	if f.region == nil {
		return
	}
	f.region.invalidate()
	f.region = nil
	t.replace(f.key, entry{fast: f})
}
