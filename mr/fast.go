package mr

import "fmt"

// FastRegion is a key whose memory is given and taken by work requests: REG_MR makes it a
// region, LOCAL_INV or a peer's SEND with invalidate ends that, and so on for as often as
// one likes. It is made by [Table.AllocFast] (IBA 10.6.4, fast register).
type FastRegion struct {
	pd     *PD
	max    uint64
	key    uint32
	region *Region // nil while invalid
}

// PD is the protection domain the region belongs to.
func (f *FastRegion) PD() *PD { return f.pd }

// Key is the region's L_Key and R_Key, which are the same number. Each registration may
// change its low byte.
func (f *FastRegion) Key() uint32 { return f.key }

// MaxLength is how many bytes the region can be registered with.
func (f *FastRegion) MaxLength() uint64 { return f.max }

// Registered is true while the key leads to memory.
func (f *FastRegion) Registered() bool { return f.region != nil }

// FastReg is a work request that registers a fast region.
type FastReg struct {
	Key    uint32 // of the fast region
	NewKey uint32 // of the region once it is registered; see [IncRKey]
	Memory Memory
	IOVA   uint64 // address of the first byte
	Length uint64 // bytes from the start of Memory
	Access Access
}

// AllocFast makes a fast region of at most max bytes that is not registered. It counts as
// a region of the table.
func (t *Table) AllocFast(pd *PD, max uint64) (*FastRegion, error) {
	if pd == nil {
		return nil, fmt.Errorf("mr: fast region: no protection domain given")
	}
	if t.regions >= t.max {
		return nil, t.fullError("fast region")
	}
	if err := pd.Hold(); err != nil {
		return nil, err
	}
	f := &FastRegion{pd: pd, max: max, key: t.newKey()}
	t.enter(f.key, entry{fast: f})
	t.regions++
	return f, nil
}

// FreeFast ends a fast region, registered or not. It refuses one that memory windows are
// bound to.
func (t *Table) FreeFast(f *FastRegion) error {
	if f == nil {
		return fmt.Errorf("mr: fast region: no region given")
	}
	if t.entry(f.key).fast != f {
		return fmt.Errorf("mr: fast region: key %#08x is not registered here, or no longer", f.key)
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

// RegisterFast executes a REG_MR on a queue pair of domain pd. Besides the rules of
// [Table.Register] it demands that the region is invalid now, of the same domain, and made
// for that many bytes. After an error nothing is changed.
func (t *Table) RegisterFast(pd *PD, q *FastReg) error {
	f := t.entry(q.Key).fast
	switch {
	case f == nil || f.key != q.Key:
		return fmt.Errorf("mr: fast register: no fast region has key %#08x", q.Key)
	case q.NewKey>>variantBits != q.Key>>variantBits:
		return fmt.Errorf("mr: fast register: region %#08x cannot get key %#08x; only the low byte may change", q.Key, q.NewKey)
	case f.pd != pd:
		return fmt.Errorf("mr: fast register: region %#08x is in another protection domain than the queue pair", q.Key)
	case f.Registered():
		return fmt.Errorf("mr: fast register: region %#08x is registered; invalidate it first", q.Key)
	case q.Length > f.max:
		return fmt.Errorf("mr: fast register: %d bytes, region %#08x was made for %d", q.Length, q.Key, f.max)
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

// invalidateFast takes the memory from a fast region.
func (t *Table) invalidateFast(f *FastRegion) {
	if f.region == nil {
		return
	}
	f.region.end()
	f.region = nil
	t.replace(f.key, entry{fast: f})
}
