package verbs

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/internal/nic"
)

// Errors for errors.Is.
var (
	// ErrClosed is the error of calls on a closed device, queue pair or completion queue.
	ErrClosed = nic.ErrClosed
	// ErrCQOverflow means that a completion queue was full and completions were lost.
	ErrCQOverflow = nic.ErrCQOverflow
)

// CQ is a completion queue.
type CQ struct {
	owned
	cq *nic.CQ
}

// A CQOption is an option of [Context.CreateCQ].
type CQOption func(*cqOptions)

type cqOptions struct{ channel *CompChannel }

// OnChannel attaches the queue to ch, on which it raises events when [CQ.ReqNotify] requests
// them. With a nil ch, the queue has no channel.
func OnChannel(ch *CompChannel) CQOption {
	return func(o *cqOptions) { o.channel = ch }
}

// CreateCQ creates a queue for up to depth completions, 1 to 2^20. Its memory grows as it fills,
// so a depth that covers all outstanding work costs nothing.
//
// A completion that finds the queue full is lost, and the queue is in error: it raises
// [EventCQErr], and every queue pair that completes into it moves to ERR with [EventQPFatal].
//
// The queue belongs to the device's own context.
func (d *Device) CreateCQ(depth int, opts ...CQOption) (*CQ, error) {
	return d.ctx.CreateCQ(depth, opts...)
}

// CreateCQ creates a completion queue of the context; see [Device.CreateCQ].
func (c *Context) CreateCQ(depth int, opts ...CQOption) (*CQ, error) {
	if depth < 1 || depth > maxCQE {
		return nil, fmt.Errorf("completion queue depth %d: must be 1 to %d", depth, maxCQE)
	}
	var o cqOptions
	if err := apply(&o, opts); err != nil {
		return nil, fmt.Errorf("completion queue: %w", err)
	}
	create := c.dev.nic.CreateCQ
	if ch := o.channel; ch != nil {
		if ch.ctx != c {
			return nil, errors.New("a completion queue on a completion channel of another device or context")
		}
		create = ch.ch.CreateCQ
	}
	out := &CQ{}
	err := c.add(objectCQ, &out.owned, out.Close, func() error {
		cq, err := create(depth)
		if err != nil {
			return err
		}
		out.cq, cq.Owner = cq, out
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("completion queue: %w", err)
	}
	return out, nil
}

// Poll moves the oldest completions to wc, as many as fit, and returns their number. It does not
// block. If the queue is empty, it also receives: it takes packets that have arrived from the
// link and processes them in the caller's goroutine, so a polling program gets its completions
// sooner and with less work than one that waits. Responses are sent as by [QP.PostSend].
func (c *CQ) Poll(wc []WC) int { return c.cq.Poll(wc) }

// Wait is Poll that blocks until there is at least one completion. If ctx ends first, it returns
// the cause of ctx; if the queue has overflowed, [ErrCQOverflow]; if it is closed, [ErrClosed].
func (c *CQ) Wait(ctx context.Context, wc []WC) (int, error) {
	if err := checkContext(ctx); err != nil {
		return 0, fmt.Errorf("wait for completions: %w", err)
	}
	return c.cq.Wait(ctx, wc)
}

// Resize changes the depth of the queue: 1 to 2^20, and at least the number of completions in it.
func (c *CQ) Resize(depth int) error { return c.cq.Resize(depth) }

// Depth returns the number of completions that the queue can hold.
func (c *CQ) Depth() int { return c.cq.Depth() }

// ReqNotify requests one event on the queue's completion channel, as ibv_req_notify_cq: for the
// next completion, or with solicitedOnly for the next receive whose sender set [Solicited] or
// completion with an error. Completions already in the queue raise no event, so poll again after
// the request. [CQ.Wait] needs no ReqNotify.
func (c *CQ) ReqNotify(solicitedOnly bool) error { return c.cq.ReqNotify(solicitedOnly) }

// Close destroys the queue and ends every Wait. It fails while queue pairs use the queue.
func (c *CQ) Close() error { return c.deregisterUnless(c.cq.Close()) }

// CompChannel is a completion channel, as ibv_comp_channel: one goroutine waits on it for many
// completion queues. A program with one goroutine per queue needs no channel: [CQ.Wait] does the
// same in one call.
type CompChannel struct {
	owned
	ch *nic.CompChannel
}

// CreateCompChannel creates a completion channel of the device's own context. [OnChannel]
// attaches queues to it.
func (d *Device) CreateCompChannel() *CompChannel {
	// The device's own context is never closed and has no limits.
	ch, _ := d.ctx.CreateCompChannel()
	return ch
}

// CreateCompChannel creates a completion channel of the context. [OnChannel] attaches queues to
// it.
func (c *Context) CreateCompChannel() (*CompChannel, error) {
	ch := &CompChannel{}
	err := c.add(objectChannel, &ch.owned, ch.Close, func() error {
		ch.ch = c.dev.nic.CreateCompChannel()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("completion channel: %w", err)
	}
	return ch, nil
}

// Wait returns the queue of the next event, oldest first, as ibv_get_cq_event. There is one event
// for each [CQ.ReqNotify] whose condition occurred. If ctx ends first, Wait returns the cause of
// ctx; if the channel or the device is closed, [ErrClosed]. Events need no acknowledgement: a queue
// can be closed at any time, which removes its events.
func (ch *CompChannel) Wait(ctx context.Context) (*CQ, error) {
	if err := checkContext(ctx); err != nil {
		return nil, fmt.Errorf("wait on the completion channel: %w", err)
	}
	c, err := ch.ch.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return c.Owner.(*CQ), nil
}

// Close ends every Wait. It fails while queues are attached to the channel.
func (ch *CompChannel) Close() error { return ch.deregisterUnless(ch.ch.Close()) }

// CreateCQOver creates a completion queue that delivers its completions to store, from which
// another process takes them: [CQ.Poll] finds nothing. The device calls notify when the store
// reports that the process has requested a notification. notify must not block and must not call
// the device.
func (c *Context) CreateCQOver(store CompletionStore, notify func()) (*CQ, error) {
	if store == nil || notify == nil {
		return nil, errors.New("completion queue: the store and the function that notifies must not be nil")
	}
	out := &CQ{}
	err := c.add(objectCQ, &out.owned, out.Close, func() error {
		cq, err := c.dev.nic.CreateCQOver(store, notify)
		if err != nil {
			return err
		}
		out.cq, cq.Owner = cq, out
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("completion queue: %w", err)
	}
	return out, nil
}
