package cm

import "testing"

// What waits in a queue that is never empty keeps its order, and what was taken keeps no memory.
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
