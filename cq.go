package gorxe

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/internal/engine"
)

// Errors for errors.Is.
var (
	// ErrClosed is what calls on a closed device, queue pair or completion queue return.
	ErrClosed = engine.ErrClosed
	// ErrCQOverflow says that a completion queue was full and completions were lost.
	ErrCQOverflow = engine.ErrCQOverflow
)

// CQ is a completion queue.
type CQ struct {
	dev *Device
	cq  *engine.CQ
}

// CreateCQ makes a queue for up to depth completions, 1 to 2^20. Memory is taken as it
// fills, so a depth that is large enough for all outstanding work costs nothing.
func (d *Device) CreateCQ(depth int) (*CQ, error) {
	if depth < 1 || depth > maxCQE {
		return nil, fmt.Errorf("a completion queue of depth %d: it must be 1 to %d", depth, maxCQE)
	}
	cq, err := d.engine.CreateCQ(depth)
	if err != nil {
		return nil, fmt.Errorf("completion queue: %w", err)
	}
	out := &CQ{dev: d, cq: cq}
	cq.Owner = out
	return out, nil
}

// Poll moves the oldest completions to wc, as many as fit, and returns how many. It never
// waits.
func (c *CQ) Poll(wc []WC) int { return c.cq.Poll(wc) }

// Wait is Poll that sleeps until there is at least one completion. With none it returns
// the cause of ctx, [ErrCQOverflow], or [ErrClosed].
func (c *CQ) Wait(ctx context.Context, wc []WC) (int, error) { return c.cq.Wait(ctx, wc) }

// Close destroys the queue and ends every Wait. It refuses while queue pairs use it.
func (c *CQ) Close() error {
	return c.cq.Close()
}
