package cm

import "testing"

// A queue that is never empty preserves the order, and retains no memory of items that were
// taken.
func TestQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	var q queue[int]
	const waiting = 100
	for i := range waiting {
		q.put(i)
	}
	for i := range 100_000 {
		q.put(waiting + i)
		var v int
		if !q.take(&v) || v != i {
			t.Fatalf("took %d, want %d", v, i)
		}
	}
	if n := cap(q.items); n > 4*waiting {
		t.Errorf("room for %d, with %d that wait", n, waiting)
	}
}

// The waiting items are moved to the front only once those taken are at least maxSpare and more
// than half: fewer items are moved than taken.
func TestAQueueMovesItsItemsOnceMoreThanHalfAndKeepAreTaken(t *testing.T) {
	for _, tt := range []struct {
		put, take int
		moves     bool
	}{
		{maxSpare, maxSpare - 1, false},
		{maxSpare + 1, maxSpare, true},
		{2*maxSpare - 1, maxSpare, true},
		{2 * maxSpare, maxSpare, false},
		{2 * maxSpare, maxSpare + 1, true},
		{4 * maxSpare, 2 * maxSpare, false},
		{4 * maxSpare, 2*maxSpare + 1, true},
	} {
		var q queue[int]
		for i := range tt.put {
			q.put(i)
		}
		var v int
		for range tt.take {
			q.take(&v)
		}
		q.put(tt.put)
		if moved := q.head == 0; moved != tt.moves {
			t.Errorf("%d of %d taken: moved is %t, want %t", tt.take, tt.put, moved, tt.moves)
		}
		for want := tt.take; want <= tt.put; want++ {
			if !q.take(&v) || v != want {
				t.Fatalf("%d of %d taken: the next is %d, want %d", tt.take, tt.put, v, want)
			}
		}
	}
}
