package rxelab

import (
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

func TestEveryPortIsUsedOnce(t *testing.T) {
	q := &queue{cells: make([]cell.Cell, 500)}
	seen := map[int]bool{}
	for {
		_, port, ok := q.next()
		if !ok {
			break
		}
		if seen[port] || port < 20000 || port >= 32000 {
			t.Fatalf("port %d", port)
		}
		seen[port] = true
	}
	if len(seen) != 500 || !q.empty() {
		t.Errorf("%d ports, empty %v", len(seen), q.empty())
	}
}
