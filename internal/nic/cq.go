package nic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/nic/signal"

	"github.com/gorxe/gorxe/internal/ordered"
	"github.com/gorxe/gorxe/qp"
)

// Errors of [CQ.Wait].
var (
	ErrClosed     = errors.New("the device or queue is closed")
	ErrCQOverflow = errors.New(
		"the completion queue overflowed: completions were lost; create it deeper or poll it more often")
)

// CQ is a completion queue. It is safe for concurrent use. Machines complete into it with their
// shard's lock held, pollers take only the CQ's own lock: the order is shard before CQ, and a
// goroutine that holds a CQ's lock takes no other lock.
//
// A waiter, a goroutine in Wait, blocks on token. A completion sends the token only if there is a
// waiter. Invariant: if the queue is not empty and there is a waiter, the token is available, or a
// waiter has received it and has not polled yet.
type CQ struct {
	Owner any // for the caller; set before the first event

	mu      sync.Mutex
	store   qp.CompletionStore // guarded by mu
	queue   *qp.CQ             // store, or nil if another process takes the completions from it
	waiting int                // guarded by mu: waiters that found nothing and have not polled again yet
	notify  func()             // called when store requires a notification of the program, with no lock of c held

	users  int  // guarded by mu: send and receive queues that complete here
	closed bool // guarded by mu

	number    uint64 // key in Device.cqs
	dev       *Device
	channel   *CompChannel // nil: created without one
	errRaised atomic.Bool  // CQ_ERR was raised

	events    int // unread events on channel; guarded by channel.mu
	nextEvent *CQ // next in the list of channel; guarded by channel.mu

	poller poller

	token signal.Signal
	done  chan struct{} // closed with the CQ
}

func newCQ(d *Device, depth int) *CQ {
	queue := qp.NewCQ(depth)
	return &CQ{dev: d, store: queue, queue: queue, notify: func() {}, token: signal.New(), done: make(chan struct{})}
}

// Complete adds a completion. Machines call it with their shard's lock held.
func (c *CQ) Complete(wc *qp.WC) {
	if wc.Status != qp.WCSuccess && wc.Status != qp.WCWRFlushErr {
		c.dev.completesInError(wc.QPN, wc.Status)
	}
	c.mu.Lock()
	tell := c.store.Push(wc)
	wake, lost := c.waiting > 0, c.store.Overflowed()
	c.mu.Unlock()
	if wake {
		c.token.Wake()
	}
	if tell {
		c.notify()
	}
	if lost {
		c.dev.lostCompletion(c)
	}
}

// Resize changes the capacity of the queue, to no less than the number of completions in it. A
// queue that overflowed stays in error.
func (c *CQ) Resize(depth int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.store.Overflowed():
		return ErrCQOverflow
	}
	return c.store.Resize(depth)
}

// Depth returns the capacity of the queue in completions.
func (c *CQ) Depth() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.Depth()
}

// Poll moves up to len(dst) completions to dst and returns their number, which is always 0 for a CQ
// whose completions another process takes. It does not wait. If there are no completions, it
// receives and processes a batch of packets, if one has arrived (Device.drive), and looks again.
// The caller must hold no lock of the device.
func (c *CQ) Poll(dst []qp.WC) int {
	n := c.poll(dst)
	if n > 0 || len(dst) == 0 {
		return n
	}
	in := c.dev.drive(&c.poller)
	if in == nil {
		return 0
	}
	if n = c.poll(dst); n > 0 {
		c.poller.lastActive.Store(in)
	}
	return n
}

func (c *CQ) poll(dst []qp.WC) int {
	if c.queue == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.Poll(dst)
}

// Wait waits, without busy-polling, until there is at least one completion, moves up to len(dst)
// completions to dst and returns their number. If ctx ends first, it returns the cause of ctx; once
// the CQ has overflowed, [ErrCQOverflow]; once the CQ is closed, [ErrClosed].
func (c *CQ) Wait(ctx context.Context, dst []qp.WC) (int, error) {
	if len(dst) == 0 {
		return 0, errors.New("waiting for completions needs room for at least one")
	}
	if c.queue == nil {
		return 0, errors.New("another process takes the completions of this queue: there is nothing to wait for")
	}
	n, err := c.take(dst, false, false)
	if n > 0 || err != nil {
		return n, err
	}
	// The methods of ctx are the program's code. They are called without the lock, and not between
	// the calls of take that add this waiter to the count and remove it: if one panics, the queue
	// is unchanged.
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	done := ctx.Done()
	for waited := false; ; waited = true {
		if n, err = c.take(dst, waited, true); n > 0 || err != nil {
			return n, err
		}
		select {
		case <-c.token:
		case <-c.done:
		case <-done:
			if n, err = c.take(dst, true, false); n > 0 || err != nil {
				return n, err
			}
			return 0, context.Cause(ctx)
		}
	}
}

// take moves up to len(dst) completions to dst and returns their number. waited says that the
// caller is counted as a waiter: take removes it from the count. wait says that the caller is going
// to wait: take adds it to the count if there is neither a completion nor an error. The error is
// [ErrCQOverflow], or [ErrClosed] once the CQ is closed.
func (c *CQ) take(dst []qp.WC, waited, wait bool) (n int, err error) {
	c.mu.Lock()
	if waited {
		c.waiting--
	}
	n = c.queue.Poll(dst)
	passOn := c.waiting > 0 && c.queue.Len() > 0
	switch {
	case n > 0:
	case c.queue.Overflowed():
		err = ErrCQOverflow
	case c.closed:
		err = ErrClosed
	case wait:
		c.waiting++
	}
	c.mu.Unlock()
	if passOn {
		c.token.Wake()
	}
	return n, err
}

// hold counts a send or receive queue that completes into c as a user of c.
func (c *CQ) hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.store.Overflowed():
		return ErrCQOverflow
	}
	c.users++
	return nil
}

func (c *CQ) release() {
	c.mu.Lock()
	c.users--
	c.mu.Unlock()
}

// Close ends every Wait. It returns an error while a queue pair completes into the queue.
// Completions that are in it can still be polled. Closing again does nothing.
func (c *CQ) Close() error {
	c.mu.Lock()
	if c.users > 0 {
		defer c.mu.Unlock()
		return fmt.Errorf(
			"the completion queue is in use: close its queue pairs first (it serves %d send or receive queues)",
			c.users)
	}
	first := c.end()
	c.mu.Unlock()
	if first {
		c.dev.forget(c)
	}
	return nil
}

// end closes c, whose lock is held, and reports whether it was open.
func (c *CQ) end() bool {
	if c.closed {
		return false
	}
	c.closed = true
	close(c.done)
	return true
}

// CreateCQ creates a queue that holds up to depth completions.
func (d *Device) CreateCQ(depth int) (*CQ, error) {
	c := newCQ(d, depth)
	if err := d.addCQ(c); err != nil {
		return nil, err
	}
	return c, nil
}

// CreateCQOver creates a queue whose completions go to a store from which another process takes
// them. notify is called after a completion if the store reports that the process has requested a
// notification. It is called with the lock of a shard held, so it must not block or call the
// device.
func (d *Device) CreateCQOver(store qp.CompletionStore, notify func()) (*CQ, error) {
	c := newCQ(d, 1)
	c.store, c.queue, c.notify = store, nil, notify
	if err := d.addCQ(c); err != nil {
		return nil, err
	}
	return c, nil
}

// addCQ adds c to the CQs of the device.
func (d *Device) addCQ(c *CQ) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cqOver {
		return ErrClosed
	}
	if d.cqs.Len() >= d.maxCQ {
		return fmt.Errorf("all %d completion queues of the device are in use: close one", d.maxCQ)
	}
	c.number = d.cqs.Add(c)
	return nil
}

func (d *Device) forget(c *CQ) {
	d.mu.Lock()
	d.cqs.Remove(c.number)
	d.mu.Unlock()
	if c.channel != nil {
		c.channel.drop(c)
	}
	d.events.forget(c)
}

func (d *Device) closeCQs() {
	var ended []*CQ
	d.mu.Lock()
	d.cqs.After(0, func(_ uint64, c *CQ) bool {
		c.mu.Lock()
		if c.end() {
			ended = append(ended, c)
		}
		c.mu.Unlock()
		return true
	})
	d.cqs, d.cqOver = ordered.List[*CQ]{}, true
	d.mu.Unlock()
	// A channel's lock is taken before the device's.
	for _, c := range ended {
		if c.channel != nil {
			c.channel.drop(c)
		}
	}
}
