package rxelab

import (
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// queue distributes cells to lanes. The next machine runs the cells that a lost machine left.
type queue struct {
	mu    sync.Mutex
	cells []cell.Cell
	port  int
}

func (q *queue) next() (cell.Cell, int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.cells) == 0 {
		return cell.Cell{}, 0, false
	}
	c := q.cells[0]
	q.cells = q.cells[1:]
	q.port++
	return c, cell.Port(q.port), true
}

// add appends a cell.
func (q *queue) add(c cell.Cell) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cells = append(q.cells, c)
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.cells) == 0
}
