package gorxe

import (
	"context"

	"github.com/gorxe/gorxe/internal/engine"
)

// CompChannel is a completion channel, as ibv_comp_channel: one goroutine waits on it for
// many completion queues. A program with one queue for each waiter needs none: [CQ.Wait]
// does the same in one call.
type CompChannel struct {
	dev *Device
	ch  *engine.CompChannel
}

// CreateCompChannel makes a completion channel. Queues get on it by [OnChannel].
func (d *Device) CreateCompChannel() *CompChannel {
	return &CompChannel{dev: d, ch: d.engine.CreateCompChannel()}
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
func (ch *CompChannel) Close() error { return ch.ch.Close() }
