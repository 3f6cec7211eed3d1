package verbs

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/internal/nic"
)

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
		ch.ch = c.dev.engine.CreateCompChannel()
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
	c, err := ch.ch.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return c.Owner.(*CQ), nil
}

// Close ends every Wait. It refuses while queues are on the channel.
func (ch *CompChannel) Close() error { return ch.ended(ch.ch.Close()) }
