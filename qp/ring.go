package qp

import "math/bits"

// ring holds the items of a queue by numbers that count up from 0 and wrap at 2^32: head is the oldest
// item, tail the number of the next one. Its memory grows with what is in it.
type ring[T any] struct {
	slots      []T // a power of two; none at first
	head, tail uint32
}

// firstSlots is the size of a ring that is used for the first time.
const firstSlots = 4

func (r *ring[T]) len() int { return int(r.tail - r.head) }

// at returns the slot of number i. There must be slots.
func (r *ring[T]) at(i uint32) *T { return &r.slots[i&uint32(len(r.slots)-1)] }

// full is true where the next item finds no slot.
func (r *ring[T]) full() bool { return r.len() == len(r.slots) }

// free returns how many slots have no item; they begin at tail.
func (r *ring[T]) free() int { return len(r.slots) - r.len() }

// grow makes slots for one more item at least, of a queue for depth items.
func (r *ring[T]) grow(depth int) {
	if n := len(r.slots); n > 0 {
		r.move(2 * n)
	} else {
		r.move(min(firstSlots, ceilPow2(depth)))
	}
}

// shrink gives back slots beyond those for depth items, which is not below len, and reports whether
// there were any.
func (r *ring[T]) shrink(depth int) bool {
	slots := ceilPow2(depth)
	if slots >= len(r.slots) {
		return false
	}
	r.move(slots)
	return true
}

func (r *ring[T]) move(slots int) {
	moved := ring[T]{make([]T, slots), r.head, r.tail}
	for i := r.head; i != r.tail; i++ {
		*moved.at(i) = *r.at(i)
	}
	*r = moved
}

func ceilPow2(n int) int { return 1 << bits.Len(uint(n-1)) }
