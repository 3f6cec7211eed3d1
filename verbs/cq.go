package verbs

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/internal/nic"
)

// Errors for errors.Is.
var (
	// ErrClosed is what calls on a closed device, queue pair or completion queue return.
	ErrClosed = nic.ErrClosed
	// ErrCQOverflow says that a completion queue was full and completions were lost.
	ErrCQOverflow = nic.ErrCQOverflow
)

// CQ is a completion queue.
type CQ struct {
	owned
	cq *nic.CQ
}

// A CQOption changes how [Context.CreateCQ] makes a queue.
type CQOption func(*cqOptions)

type cqOptions struct{ channel *CompChannel }

// OnChannel lets the queue tell of completions on ch, when [CQ.ReqNotify] asks for it. With a nil ch the
// queue has no channel.
func OnChannel(ch *CompChannel) CQOption {
	return func(o *cqOptions) { o.channel = ch }
}

// CreateCQ makes a queue for up to depth completions, 1 to 2^20. Memory is taken as it
// fills, so a depth that is large enough for all outstanding work costs nothing.
//
// A completion that finds the queue full is lost, and the queue is in error: it raises
// [EventCQErr], and every queue pair that completes into it goes to ERR with
// [EventQPFatal].
//
// The queue is of the device's own context.
func (d *Device) CreateCQ(depth int, opts ...CQOption) (*CQ, error) {
	return d.ctx.CreateCQ(depth, opts...)
}

// CreateCQ makes a completion queue of the context; see [Device.CreateCQ].
func (c *Context) CreateCQ(depth int, opts ...CQOption) (*CQ, error) {
	if depth < 1 || depth > maxCQE {
		return nil, fmt.Errorf("a completion queue of depth %d: it must be 1 to %d", depth, maxCQE)
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

// Poll moves the oldest completions to wc, as many as fit, and returns how many. It does not
// wait for one. When there is none it looks whether packets have come, and if so deals with them
// on the spot: a program that polls has its completions sooner and with less work than one that
// waits. What is to be answered is sent as by [QP.PostSend].
func (c *CQ) Poll(wc []WC) int { return c.cq.Poll(wc) }

// Wait is Poll that sleeps until there is at least one completion. With none it returns
// the cause of ctx, [ErrCQOverflow], or [ErrClosed].
func (c *CQ) Wait(ctx context.Context, wc []WC) (int, error) {
	if err := checkContext(ctx); err != nil {
		return 0, fmt.Errorf("wait for completions: %w", err)
	}
	return c.cq.Wait(ctx, wc)
}

// Resize changes how many completions the queue holds: 1 to 2^20, not fewer than are in it.
func (c *CQ) Resize(depth int) error { return c.cq.Resize(depth) }

// Depth returns how many completions the queue holds.
func (c *CQ) Depth() int { return c.cq.Depth() }

// ReqNotify asks for one event on the queue's completion channel, as ibv_req_notify_cq: when
// the next completion is added, or with solicitedOnly the next that is a receive whose
// sender asked for it ([Solicited]) or that is in error. Completions that are in the queue
// already make no event, so poll once more after asking. [CQ.Wait] needs none of this.
func (c *CQ) ReqNotify(solicitedOnly bool) error { return c.cq.ReqNotify(solicitedOnly) }

// Close destroys the queue and ends every Wait. It refuses while queue pairs use it.
func (c *CQ) Close() error { return c.ended(c.cq.Close()) }

// CompChannel is a completion channel, as ibv_comp_channel: one goroutine waits on it for
// many completion queues. A program with one queue for each waiter needs none: [CQ.Wait]
// does the same in one call.
type CompChannel struct {
	owned
	ch *nic.CompChannel
}

// CreateCompChannel makes a completion channel of the device's own context. Queues get on it by
// [OnChannel].
func (d *Device) CreateCompChannel() *CompChannel {
	// The device's own context is not closed and has no limits.
	ch, _ := d.ctx.CreateCompChannel()
	return ch
}

// CreateCompChannel makes a completion channel of the context. Queues get on it by [OnChannel].
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

// Wait returns the queue of the next event, as ibv_get_cq_event: one event for each
// [CQ.ReqNotify] that came true, oldest queue first. Without one it returns the cause of
// ctx, or [ErrClosed]. Events need no acknowledgement: a queue can be closed at any time and
// takes its events along.
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

// Close ends every Wait. It refuses while queues are on the channel.
func (ch *CompChannel) Close() error { return ch.ended(ch.ch.Close()) }

// CreateCQOver makes a completion queue whose completions go to store, from which another process takes
// them: [CQ.Poll] finds nothing. notify is called when the store reports that the process has requested a
// notification. It must not block and must not call the device.
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
