// Package idmap implements a hash table with open addressing, for numbers that this host draws
// at random: queue pair numbers and the indexes of memory keys. Each packet needs one or two
// look-ups, which take a third of the time of a Go map look-up. The hash is not keyed, so an
// attacker that chooses the numbers can make every look-up slow: use a Go map for numbers that
// a peer chooses.
package idmap

import (
	"math/bits"
	"sync/atomic"
)

// Map maps numbers, 0 to 2^32-2, to values. The zero Map is empty.
//
// Get and Has may run concurrently with one goroutine that calls Put for new numbers. All other
// combinations of calls, including Put for a number that has a value, must not overlap.
type Map[K ~uint32, V any] struct {
	table atomic.Pointer[table[V]] // nil until the first Put
	len   int
}

// table has the slots of a map. Their number is a power of two, and at least a quarter of them is
// free.
type table[V any] struct {
	slots []slot[V]
	shift uint32 // shift that turns a 32-bit product into a slot index
}

// slot holds one value. A value is in its home slot or, if that was occupied, in the next free slot
// (linear probing). Put stores the value before the tag, so that a reader that sees the tag can
// read the value.
type slot[V any] struct {
	tag   atomic.Uint32 // number plus 1; 0 if the slot is free
	value V
}

// minSlots is the minimum number of slots.
const minSlots = 8

// hashMultiplier is 2^32 divided by the golden ratio (Fibonacci hashing): products of numbers with
// equal low bits, such as those of one shard, differ in the high bits.
const hashMultiplier = 0x9e3779b1

// Len returns the number of values.
func (m *Map[K, V]) Len() int { return m.len }

// Get returns the value of id, the zero value if there is none.
func (m *Map[K, V]) Get(id K) (v V) {
	t := m.table.Load()
	if t == nil {
		return v
	}
	// Most values are in their home slot.
	if s := &t.slots[t.home(uint32(id))]; s.tag.Load() == uint32(id)+1 {
		return s.value
	}
	if s := t.find(uint32(id)); s != nil {
		return s.value
	}
	return v
}

// Has reports whether id has a value.
func (m *Map[K, V]) Has(id K) bool { return m.find(id) != nil }

func (m *Map[K, V]) find(id K) *slot[V] {
	if t := m.table.Load(); t != nil {
		return t.find(uint32(id))
	}
	return nil
}

func (t *table[V]) find(id uint32) *slot[V] {
	mask := uint32(len(t.slots) - 1)
	for i := t.home(id); ; i++ {
		switch s := &t.slots[i&mask]; s.tag.Load() {
		case id + 1:
			return s
		case 0:
			return nil
		}
	}
}

// home returns the index of the slot where the probe for id starts.
func (t *table[V]) home(id uint32) uint32 { return id * hashMultiplier >> t.shift }

// Put sets the value of id, replacing any previous one.
func (m *Map[K, V]) Put(id K, v V) {
	if s := m.find(id); s != nil {
		s.value = v
		return
	}
	t := m.table.Load()
	if t == nil || 4*(m.len+1) > 3*len(t.slots) {
		t = t.grown()
		m.table.Store(t)
	}
	t.add(uint32(id)+1, v)
	m.len++
}

// grown returns a table of twice the size with the same values.
func (t *table[V]) grown() *table[V] {
	n := minSlots
	if t != nil {
		n = 2 * len(t.slots)
	}
	out := &table[V]{slots: make([]slot[V], n), shift: uint32(32 - bits.TrailingZeros(uint(n)))}
	if t == nil {
		return out
	}
	for i := range t.slots {
		if s := &t.slots[i]; s.tag.Load() != 0 {
			out.add(s.tag.Load(), s.value)
		}
	}
	return out
}

// add stores a value in the first free slot from its home slot on.
func (t *table[V]) add(tag uint32, v V) {
	mask := uint32(len(t.slots) - 1)
	i := t.home(tag - 1)
	for t.slots[i&mask].tag.Load() != 0 {
		i++
	}
	s := &t.slots[i&mask]
	s.value = v
	s.tag.Store(tag)
}

// Delete removes the value of id, if there is one. The table does not shrink.
func (m *Map[K, V]) Delete(id K) {
	if !m.Has(id) {
		return
	}
	t := m.table.Load()
	mask := uint32(len(t.slots) - 1)
	free := t.home(uint32(id))
	for t.slots[free].tag.Load() != uint32(id)+1 {
		free = (free + 1) & mask
	}
	// A free slot ends every probe, so later values are moved into it unless their home slot comes
	// after it.
	for i := (free + 1) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		tag := s.tag.Load()
		if tag == 0 {
			break
		}
		if away := (i - t.home(tag-1)) & mask; away >= (i-free)&mask {
			t.slots[free].value = s.value
			t.slots[free].tag.Store(tag)
			free = i
		}
	}
	var zero V
	t.slots[free].tag.Store(0)
	t.slots[free].value = zero
	m.len--
}

// All calls yield for each number and its value, in no particular order, until yield returns
// false. No number may be added or deleted meanwhile.
func (m *Map[K, V]) All(yield func(id K, v V) bool) {
	t := m.table.Load()
	if t == nil {
		return
	}
	for i := range t.slots {
		s := &t.slots[i]
		if tag := s.tag.Load(); tag != 0 && !yield(K(tag-1), s.value) {
			return
		}
	}
}
