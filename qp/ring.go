package qp

import "math/bits"

// ring holds the items of a queue, numbered by counters that wrap at 2^32: head is the oldest
// item, tail the next item to add. It grows with the number of items.
type ring[T any] struct {
	slots      []T // length is a power of two, or 0 before first use
	head, tail uint32
}

// firstSlots is the initial number of slots.
const firstSlots = 4

func (r *ring[T]) len() int { return int(r.tail - r.head) }

// at returns the slot of item i. The ring must have slots.
func (r *ring[T]) at(i uint32) *T { return &r.slots[i&uint32(len(r.slots)-1)] }

// full reports whether there is no free slot.
func (r *ring[T]) full() bool { return r.len() == len(r.slots) }

// free returns the number of free slots, which start at tail.
func (r *ring[T]) free() int { return len(r.slots) - r.len() }

// grow adds slots for at least one more item. depth is the depth of the queue.
func (r *ring[T]) grow(depth int) {
	if n := len(r.slots); n > 0 {
		r.move(2 * n)
	} else {
		r.move(min(firstSlots, ceilPow2(depth)))
	}
}

// shrink reduces the slots to those that depth items need, and reports whether it did. depth
// must not be less than len.
func (r *ring[T]) shrink(depth int) bool {
	slots := ceilPow2(depth)
	if slots >= len(r.slots) {
		return false
	}
	r.move(slots)
	return true
}

// move moves the items to a new array of slots, a power of two.
func (r *ring[T]) move(slots int) {
	moved := ring[T]{make([]T, slots), r.head, r.tail}
	for i := r.head; i != r.tail; i++ {
		*moved.at(i) = *r.at(i)
	}
	*r = moved
}

func ceilPow2(n int) int { return 1 << bits.Len(uint(n-1)) }
