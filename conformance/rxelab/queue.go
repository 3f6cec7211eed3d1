package rxelab

import (
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// queue hands out cells to lanes; a cell that a lost machine left undone goes to the next machine.
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

// add puts a cell at the end.
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
