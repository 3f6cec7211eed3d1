package cm

// A queue is a FIFO. It reuses its memory once it is empty, up to maxSpare items.
type queue[T any] struct {
	items []T
	head  int
}

// maxSpare is the maximum capacity that an empty queue retains, in items.
const maxSpare = 64

func (q *queue[T]) put(v T) {
	if q.head >= maxSpare && q.head > len(q.items)/2 {
		// A queue that never becomes empty uses at most twice the memory of its items.
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

func (q *queue[T]) take(v *T) bool {
	if q.head == len(q.items) {
		return false
	}
	*v = q.items[q.head]
	var zero T
	q.items[q.head] = zero
	if q.head++; q.head == len(q.items) {
		q.head = 0
		if q.items = q.items[:0]; cap(q.items) > maxSpare {
			q.items = nil
		}
	}
	return true
}
