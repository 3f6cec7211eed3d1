package cm

// A queue is what waits to be taken, oldest first. Taking the last gives its memory to the
// next that come, as much as is usual.
type queue[T any] struct {
	items []T
	head  int
}

// keep is how many items' memory an empty queue holds on to.
const keep = 64

func (q *queue[T]) put(v T) {
	if q.head >= keep && q.head > len(q.items)/2 {
		// A queue that never gets empty takes no more memory than twice what waits.
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
		if q.items = q.items[:0]; cap(q.items) > keep {
			q.items = nil
		}
	}
	return true
}
