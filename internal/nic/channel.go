package nic

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/nic/signal"
)

// CompChannel is a completion channel: it tells which of its CQs got a completion that
// somebody asked to be told of.
//
// It is a list of the CQs with events, each with their number, so it takes no memory that
// grows and adding to it allocates nothing. A reader parks on token as a waiter of a CQ does.
type CompChannel struct {
	dev *Device

	mu         sync.Mutex
	head, tail *CQ  // guarded by mu: CQs with events, linked by CQ.nextEvent
	cqs        int  // guarded by mu: CQs made on the channel
	closed     bool // guarded by mu

	token signal.Signal
	done  chan struct{} // closed with the channel
}

// CreateCompChannel makes a completion channel.
func (d *Device) CreateCompChannel() *CompChannel {
	return &CompChannel{dev: d, token: signal.New(), done: make(chan struct{})}
}

// CreateCQ makes a CQ that tells of completions on the channel.
func (ch *CompChannel) CreateCQ(depth int) (*CQ, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.closed {
		return nil, fmt.Errorf("completion channel: %w", ErrClosed)
	}
	c := newCQ(ch.dev, depth)
	c.channel, c.notify = ch, func() { ch.add(c) }
	if err := ch.dev.enter(c); err != nil {
		return nil, err
	}
	ch.cqs++
	return c, nil
}

// add enters an event of c. The lock of c is not held: this one is taken alone or under a
// shard's.
func (ch *CompChannel) add(c *CQ) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if c.events++; c.events == 1 {
		ch.push(c)
	}
	ch.token.Wake()
}

func (ch *CompChannel) push(c *CQ) {
	if ch.head == nil {
		ch.head = c
	} else {
		ch.tail.nextEvent = c
	}
	ch.tail = c
}

// pop takes one event of the CQ that has waited longest, nil if there is none.
func (ch *CompChannel) pop() (c *CQ, over bool) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	c = ch.head
	if c == nil {
		return nil, ch.closed
	}
	ch.head, c.nextEvent = c.nextEvent, nil
	if c.events--; c.events > 0 {
		ch.push(c)
	}
	if ch.head != nil {
		ch.token.Wake()
	}
	return c, false
}

// drop forgets c, which is closed, with its events.
func (ch *CompChannel) drop(c *CQ) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.cqs--
	if c.events == 0 {
		return
	}
	var before *CQ
	for at := ch.head; at != c; at = at.nextEvent {
		before = at
	}
	if before == nil {
		ch.head = c.nextEvent
	} else {
		before.nextEvent = c.nextEvent
	}
	if ch.tail == c {
		ch.tail = before
	}
	c.events, c.nextEvent = 0, nil
}

// Wait returns the CQ of the next event. Without one it returns the cause of ctx, or
// [ErrClosed] once the channel or the device is closed.
func (ch *CompChannel) Wait(ctx context.Context) (*CQ, error) {
	for {
		c, over := ch.pop()
		if c != nil {
			return c, nil
		}
		select {
		case <-ch.dev.done:
			over = true
		default:
		}
		switch {
		case over:
			return nil, ErrClosed
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		select {
		case <-ch.token:
		case <-ctx.Done():
		case <-ch.done:
		case <-ch.dev.done:
		}
	}
}

// Close ends every Wait. It refuses while CQs are on the channel. Closing again does nothing.
func (ch *CompChannel) Close() error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	switch {
	case ch.closed:
		return nil
	case ch.cqs > 0:
		return fmt.Errorf("the completion channel is in use: close its completion queues first (it serves %d)", ch.cqs)
	}
	ch.closed = true
	close(ch.done)
	return nil
}

// errNoChannel is that of a request to be told where nobody can be.
var errNoChannel = errors.New("the completion queue was made without a completion channel: there is nowhere to tell; make it on one, or use Wait")

// ReqNotify asks for one event on the channel when the next completion is added, or with
// solicitedOnly the next that is a receive whose sender asked for it or that is in error.
// Completions that are in the queue already do not count: poll after asking. A request for
// any completion is not made less by one for solicited ones.
func (c *CQ) ReqNotify(solicitedOnly bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.channel == nil:
		return errNoChannel
	case c.store.Overflowed():
		return ErrCQOverflow
	}
	c.queue.Arm(solicitedOnly)
	return nil
}
