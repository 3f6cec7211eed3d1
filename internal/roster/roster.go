// Package roster keeps things in the order in which they came, so that whoever looks through
// many of them may stop anywhere and go on later: what stayed all the while is met once.
package roster

import "slices"

// List holds items by number. The zero List is empty. It has no lock.
type List[T any] struct {
	seats []seat[T] // in ascending order of their numbers
	last  uint64
	empty int // seats whose items have left
}

type seat[T any] struct {
	number uint64
	taken  bool
	item   T
}

// fewSeats are not worth tidying up.
const fewSeats = 32

// Add appends item and returns its number: 1 for the first, and no number comes twice.
func (l *List[T]) Add(item T) (number uint64) {
	l.Put(l.last+1, item)
	return l.last
}

// Put appends item under a number of the caller's, above all that there were.
func (l *List[T]) Put(number uint64, item T) {
	l.last = number
	l.seats = append(l.seats, seat[T]{number, true, item})
}

// Remove takes out the item with a number; where there is none it does nothing. It costs
// the logarithm of how many there are, and once in a while as much as all of them.
func (l *List[T]) Remove(number uint64) {
	i, ok := l.find(number)
	if !ok || !l.seats[i].taken {
		return
	}
	l.seats[i] = seat[T]{number: number}
	l.empty++
	if len(l.seats) <= fewSeats || l.empty <= len(l.seats)/2 {
		return
	}
	kept := make([]seat[T], 0, len(l.seats)-l.empty)
	for _, s := range l.seats {
		if s.taken {
			kept = append(kept, s)
		}
	}
	l.seats, l.empty = kept, 0
}

func (l *List[T]) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(l.seats, number, func(s seat[T], n uint64) int {
		switch {
		case s.number < n:
			return -1
		case s.number > n:
			return 1
		}
		return 0
	})
}

// Len is how many items there are.
func (l *List[T]) Len() int { return len(l.seats) - l.empty }

// After calls f with the items whose numbers are above number, in order, until f is false.
// f must not change the list.
func (l *List[T]) After(number uint64, f func(number uint64, item T) bool) {
	i, found := l.find(number)
	if found {
		i++
	}
	for ; i < len(l.seats); i++ {
		if s := &l.seats[i]; s.taken && !f(s.number, s.item) {
			return
		}
	}
}
