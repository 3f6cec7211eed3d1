// Package ordered keeps items in order of insertion, so that an iteration over many items can
// stop at any item and continue later: it visits each item that stays in the list exactly once.
package ordered

import "slices"

// List holds items by number. The zero List is empty. It has no lock.
type List[T any] struct {
	entries []entry[T] // in ascending order of number
	last    uint64     // number of the last item added
	empty   int        // number of entries whose items were removed
}

type entry[T any] struct {
	number uint64
	taken  bool // the item was not removed
	item   T
}

// minCompact is the length up to which a list is not compacted.
const minCompact = 32

// Add appends item and returns its number, 1 for the first item. Numbers are never reused.
func (l *List[T]) Add(item T) (number uint64) {
	l.Put(l.last+1, item)
	return l.last
}

// Put appends item with a number of the caller's choice, which must be greater than all earlier
// ones.
func (l *List[T]) Put(number uint64, item T) {
	l.last = number
	l.entries = append(l.entries, entry[T]{number, true, item})
}

// Remove removes the item with a number, if there is one. It takes logarithmic time, and
// occasionally linear time to compact the list.
func (l *List[T]) Remove(number uint64) {
	i, ok := l.find(number)
	if !ok || !l.entries[i].taken {
		return
	}
	l.entries[i] = entry[T]{number: number}
	l.empty++
	if len(l.entries) <= minCompact || l.empty <= len(l.entries)/2 {
		return
	}
	kept := make([]entry[T], 0, len(l.entries)-l.empty)
	for _, s := range l.entries {
		if s.taken {
			kept = append(kept, s)
		}
	}
	l.entries, l.empty = kept, 0
}

func (l *List[T]) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(l.entries, number, func(s entry[T], n uint64) int {
		switch {
		case s.number < n:
			return -1
		case s.number > n:
			return 1
		}
		return 0
	})
}

// Len returns the number of items.
func (l *List[T]) Len() int { return len(l.entries) - l.empty }

// After calls f for the items with numbers greater than number, in order, until f returns
// false. f must not change the list.
func (l *List[T]) After(number uint64, f func(number uint64, item T) bool) {
	i, found := l.find(number)
	if found {
		i++
	}
	for ; i < len(l.entries); i++ {
		if s := &l.entries[i]; s.taken && !f(s.number, s.item) {
			return
		}
	}
}
