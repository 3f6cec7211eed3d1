package nic

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/nic/signal"
)

// CompChannel is a completion channel: it reports which of its CQs have got a completion for which
// a notification was requested.
//
// It has a list of the CQs with events, and each CQ has the number of its events. So its memory
// does not grow and adding an event does not allocate. A reader blocks on token, like a waiter of a
// CQ.
type CompChannel struct {
	dev *Device

	mu         sync.Mutex
	head, tail *CQ  // guarded by mu: CQs with events, linked by CQ.nextEvent
	cqs        int  // guarded by mu: CQs created on the channel
	closed     bool // guarded by mu

	token signal.Signal
	done  chan struct{} // closed with the channel
}

// CreateCompChannel creates a completion channel.
func (d *Device) CreateCompChannel() *CompChannel {
	return &CompChannel{dev: d, token: signal.New(), done: make(chan struct{})}
}

// CreateCQ creates a CQ that reports completions on the channel.
func (ch *CompChannel) CreateCQ(depth int) (*CQ, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.closed {
		return nil, fmt.Errorf("completion channel: %w", ErrClosed)
	}
	c := newCQ(ch.dev, depth)
	c.channel, c.notify = ch, func() { ch.add(c) }
	if err := ch.dev.addCQ(c); err != nil {
		return nil, err
	}
	ch.cqs++
	return c, nil
}

// add adds an event of c. The caller does not hold the lock of c; it may hold a shard's lock.
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

// pop removes one event of the CQ that has waited longest and returns this CQ, nil if there is no
// event. over is true if the channel is closed and no event is left.
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

// drop removes the events of c, a CQ of the channel that is closed, and no longer counts c as in
// use.
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

// Wait waits for the next event and returns its CQ. If ctx ends first, it returns the cause of ctx;
// once the channel or the device is closed, [ErrClosed].
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

// Close ends every Wait. It returns an error while CQs are on the channel. Closing again does
// nothing.
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

// errNoChannel is the error of a request for a notification of a CQ without a channel.
var errNoChannel = errors.New(
	"the completion queue was made without a completion channel: there is nowhere to tell; make it on one, or use Wait")

// ReqNotify requests one event on the channel for the next completion that is added or, with
// solicitedOnly, for the next one that is in error or is a receive whose sender requested the
// event. Completions that are already in the queue do not count: poll after the request. A request
// for solicited completions does not replace a pending request for any completion.
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
