// Package idmap is a hash table with open addressing for numbers that this host draws at random: queue
// pair numbers and the indexes of memory keys. Each packet needs one or two look-ups, which take a
// third of the time of a look-up in a Go map. The hash has no secret, so an attacker that chooses the
// numbers can make every look-up long: numbers that a peer chooses belong in a Go map.
package idmap

import "math/bits"

// Map holds values by number, 0 to 2^32-2. The zero Map is empty. It has no lock.
type Map[K ~uint32, V any] struct {
	slots []slot[V] // a power of two, at least a quarter of them free; nil at first
	shift uint32    // of a product of 32 bits that becomes an index of slots
	len   int
}

// slot is a place for a value. Values whose place is taken are in the next free one behind it.
type slot[V any] struct {
	tag   uint32 // the number plus 1, 0 where the slot is free
	value V
}

// fewest is how many slots there are at least.
const fewest = 8

// spread is 2^32 divided by the golden ratio: products with numbers that share their low bits, as
// those of one shard may, differ in the high ones.
const spread = 0x9e3779b1

// Len returns how many values there are.
func (m *Map[K, V]) Len() int { return m.len }

// Get returns the value of a number, the zero value if it has none.
func (m *Map[K, V]) Get(id K) V {
	// Most are at home, and this much is inlined.
	if i := uint32(id) * spread >> m.shift; i < uint32(len(m.slots)) && m.slots[i].tag == uint32(id)+1 {
		return m.slots[i].value
	}
	return m.away(id)
}

func (m *Map[K, V]) away(id K) (v V) {
	if s := m.find(id); s != nil {
		return s.value
	}
	return v
}

// Has reports whether a number has a value.
func (m *Map[K, V]) Has(id K) bool { return m.find(id) != nil }

func (m *Map[K, V]) find(id K) *slot[V] {
	if m.len == 0 {
		return nil
	}
	mask := uint32(len(m.slots) - 1)
	for i := m.home(id); ; i++ {
		switch s := &m.slots[i&mask]; s.tag {
		case uint32(id) + 1:
			return s
		case 0:
			return nil
		}
	}
}

// home returns the index of the slot where a number belongs.
func (m *Map[K, V]) home(id K) uint32 { return uint32(id) * spread >> m.shift }

// Put gives a number a value, in place of the one that it may have had.
func (m *Map[K, V]) Put(id K, v V) {
	if s := m.find(id); s != nil {
		s.value = v
		return
	}
	if 4*(m.len+1) > 3*len(m.slots) {
		m.grow()
	}
	m.add(slot[V]{uint32(id) + 1, v})
	m.len++
}

func (m *Map[K, V]) grow() {
	old := m.slots
	m.slots = make([]slot[V], max(fewest, 2*len(old)))
	m.shift = uint32(32 - bits.TrailingZeros(uint(len(m.slots))))
	for _, s := range old {
		if s.tag != 0 {
			m.add(s)
		}
	}
}

// add puts s into the first free slot from its home on.
func (m *Map[K, V]) add(s slot[V]) {
	mask := uint32(len(m.slots) - 1)
	i := m.home(K(s.tag-1)) & mask
	for m.slots[i].tag != 0 {
		i = (i + 1) & mask
	}
	m.slots[i] = s
}

// Delete takes away the value of a number; where it has none it does nothing. The room is kept for
// others.
func (m *Map[K, V]) Delete(id K) {
	if !m.Has(id) {
		return
	}
	mask := uint32(len(m.slots) - 1)
	free := m.home(id) & mask
	for m.slots[free].tag != uint32(id)+1 {
		free = (free + 1) & mask
	}
	// What lies behind moves up, as far as its home allows: a free slot ends every search.
	for i := (free + 1) & mask; m.slots[i].tag != 0; i = (i + 1) & mask {
		if away := (i - m.home(K(m.slots[i].tag-1))) & mask; away >= (i-free)&mask {
			m.slots[free], free = m.slots[i], i
		}
	}
	m.slots[free] = slot[V]{}
	m.len--
}

// All calls yield for each number and its value, in no order, until it returns false. No number may be
// added or deleted meanwhile.
func (m *Map[K, V]) All(yield func(id K, v V) bool) {
	for i := range m.slots {
		if s := &m.slots[i]; s.tag != 0 && !yield(K(s.tag-1), s.value) {
			return
		}
	}
}
