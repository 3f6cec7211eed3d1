package mr

import "fmt"

// PD is a protection domain: a region can be reached only through a queue pair of the
// same PD. Domains are told apart by pointer; ID is for people.
type PD struct{ ID uint32 }

// Limits on the regions of a table that may be registered at one time.
const (
	DefaultMaxRegions = 1 << 19
	MaxRegions        = 1 << 23
)

// Table hands out the keys of memory regions and resolves them.
type Table struct {
	keys    keySequence
	byIndex map[uint32]*Region
	max     int
}

// NewTable returns an empty table for at most max regions at a time: 1 to [MaxRegions];
// a larger max is lowered to it, and 0 or less stands for [DefaultMaxRegions]. The seed
// decides the order of the keys; give a random one where peers are not trusted.
func NewTable(seed uint64, max int) *Table {
	if max <= 0 {
		max = DefaultMaxRegions
	}
	return &Table{
		keys:    newKeySequence(seed),
		byIndex: make(map[uint32]*Region),
		max:     min(max, MaxRegions),
	}
}

// Len is the number of registered regions.
func (t *Table) Len() int { return len(t.byIndex) }

// Register makes the first length bytes of mem reachable under a new key, at the
// addresses from iova on. It refuses access flags that verbs refuses, such as remote
// write without local write, a range that does not fit mem or the 64-bit address space,
// and a region beyond the table's limit.
func (t *Table) Register(pd *PD, mem Memory, iova, length uint64, access Access) (*Region, error) {
	if pd == nil {
		return nil, fmt.Errorf("mr: register: no protection domain given")
	}
	if mem == nil {
		return nil, fmt.Errorf("mr: register: no memory given")
	}
	if err := access.validate(); err != nil {
		return nil, err
	}
	if size := mem.Size(); length > size {
		return nil, fmt.Errorf("mr: register: length %d is more than the memory's %d bytes", length, size)
	}
	if length > 0 && iova+(length-1) < iova {
		return nil, fmt.Errorf("mr: register: %d bytes from %#x go past the end of the address space", length, iova)
	}
	if access&ZeroBased != 0 && iova != 0 {
		return nil, fmt.Errorf("mr: register: ZERO_BASED with address %#x; it must be 0", iova)
	}
	if len(t.byIndex) >= t.max {
		return nil, fmt.Errorf("mr: register: all %d regions are in use; deregister one", t.max)
	}
	r := &Region{pd: pd, mem: mem, iova: iova, length: length, access: access}
	if a, ok := mem.(Addressable); ok {
		b := a.Bytes()
		if uint64(len(b)) < length {
			return nil, fmt.Errorf("mr: register: memory of size %d has only %d bytes", mem.Size(), len(b))
		}
		r.bytes = b[:length:length]
		r.addressable = true
	}
	r.key = t.newKey()
	r.valid = true
	t.byIndex[r.key>>variantBits] = r
	return r, nil
}

// newKey takes keys from the sequence until one's index is free. At most half of all
// indexes are in use, so one is near.
func (t *Table) newKey() uint32 {
	for {
		key := t.keys.key()
		if _, used := t.byIndex[key>>variantBits]; !used && key != 0 {
			return key
		}
	}
}

// Deregister ends the region: its key resolves no more and every access through a
// pointer kept from before is refused as [Gone]. It refuses a region that is not
// registered in this table, or no longer.
func (t *Table) Deregister(r *Region) error {
	if r == nil {
		return fmt.Errorf("mr: deregister: no region given")
	}
	if t.byIndex[r.key>>variantBits] != r {
		return fmt.Errorf("mr: deregister: key %#08x is not registered here, or no longer", r.key)
	}
	delete(t.byIndex, r.key>>variantBits)
	r.end()
	return nil
}

// Lookup returns the region that has the key now, or nil. A stale key gives nil: its
// index comes back only after all others, with another variant.
func (t *Table) Lookup(key uint32) *Region {
	if r := t.byIndex[key>>variantBits]; r != nil && r.key == key {
		return r
	}
	return nil
}
