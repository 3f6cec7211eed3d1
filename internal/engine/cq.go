package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/qp"
)

// Errors of [CQ.Wait].
var (
	ErrClosed     = errors.New("the device or queue is closed")
	ErrCQOverflow = errors.New("the completion queue overflowed: completions were lost; create it deeper or poll it more often")
)

// CQ is a completion queue that many goroutines may use. Machines complete into it
// with their shard's lock held, pollers take only the CQ's own lock: the order is
// shard before CQ, and nothing that holds a CQ takes another lock.
//
// A waiter parks on token, a channel with room for one. The rule that loses no wake-up:
// whenever the queue is not empty and someone waits, there is a token in the channel,
// or a waiter took it and has not polled yet; a waiter that leaves completions behind
// passes the token on.
type CQ struct {
	Owner any // for the caller's use, set before the first event

	mu      sync.Mutex
	queue   *qp.CQ // guarded by mu
	waiting int    // guarded by mu: waiters that found nothing and did not poll again yet

	users  int  // guarded by mu: send and receive queues that complete here
	closed bool // guarded by mu

	dev   *Device
	token chan struct{}
	done  chan struct{} // closed with the CQ
}

func newCQ(d *Device, depth int) *CQ {
	return &CQ{dev: d, queue: qp.NewCQ(depth), token: make(chan struct{}, 1), done: make(chan struct{})}
}

// Complete adds a completion. Machines call it with their shard's lock held.
func (c *CQ) Complete(wc *qp.WC) {
	c.mu.Lock()
	c.queue.Complete(wc)
	wake := c.waiting > 0
	c.mu.Unlock()
	if wake {
		c.wake()
	}
}

func (c *CQ) wake() {
	select {
	case c.token <- struct{}{}:
	default:
	}
}

// Poll moves up to len(dst) completions to dst and returns how many. It never waits.
func (c *CQ) Poll(dst []qp.WC) int {
	c.mu.Lock()
	n := c.queue.Poll(dst)
	c.mu.Unlock()
	return n
}

// Wait is Poll that waits, without using the processor, until there is at least one
// completion. With none it returns the cause of ctx, [ErrCQOverflow], or [ErrClosed]
// once the CQ is closed.
func (c *CQ) Wait(ctx context.Context, dst []qp.WC) (int, error) {
	if len(dst) == 0 {
		return 0, errors.New("waiting for completions needs room for at least one")
	}
	for waited := false; ; waited = true {
		c.mu.Lock()
		if waited {
			c.waiting--
		}
		n := c.queue.Poll(dst)
		passOn := c.waiting > 0 && c.queue.Len() > 0
		lost := n == 0 && c.queue.Overflowed()
		var over error
		if n == 0 && !lost {
			if over = c.over(ctx); over == nil {
				c.waiting++
			}
		}
		c.mu.Unlock()
		if passOn {
			c.wake()
		}
		switch {
		case n > 0:
			return n, nil
		case lost:
			return 0, ErrCQOverflow
		case over != nil:
			return 0, over
		}
		select {
		case <-c.token:
		case <-ctx.Done():
		case <-c.done:
		}
	}
}

// over says why waiting has come to its end, nil while it goes on. The lock is held.
func (c *CQ) over(ctx context.Context) error {
	if c.closed {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// hold counts a queue pair that completes into c.
func (c *CQ) hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.users++
	return nil
}

func (c *CQ) release() {
	c.mu.Lock()
	c.users--
	c.mu.Unlock()
}

// Close ends every Wait. It refuses while a queue pair completes into the queue.
// Completions that are in it can still be polled. Closing again does nothing.
func (c *CQ) Close() error {
	c.mu.Lock()
	if c.users > 0 {
		defer c.mu.Unlock()
		return fmt.Errorf("the completion queue is in use: close its queue pairs first (it serves %d send or receive queues)", c.users)
	}
	c.end()
	c.mu.Unlock()
	c.dev.forget(c)
	return nil
}

// end closes c, whose lock is held.
func (c *CQ) end() {
	if !c.closed {
		c.closed = true
		close(c.done)
	}
}

// CreateCQ makes a queue that holds up to depth completions.
func (d *Device) CreateCQ(depth int) (*CQ, error) {
	c := newCQ(d, depth)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cqs == nil {
		return nil, ErrClosed
	}
	if len(d.cqs) >= d.maxCQ {
		return nil, fmt.Errorf("all %d completion queues of the device are in use: close one", d.maxCQ)
	}
	d.cqs[c] = struct{}{}
	return c, nil
}

func (d *Device) forget(c *CQ) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.cqs, c)
}

func (d *Device) closeCQs() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.cqs {
		c.mu.Lock()
		c.end()
		c.mu.Unlock()
	}
	d.cqs = nil
}
