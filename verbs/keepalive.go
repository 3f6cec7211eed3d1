package verbs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// KeepAlive finds out when the peer is gone without a word: it was killed, or its host lost power.
// A connection over which this end sends nothing would not notice otherwise; one that ends by a
// program's death on Linux tells its peer once, and the word may be lost.
//
// While nothing is outstanding it posts an empty RDMA WRITE each time that every has passed,
// which needs no memory and which the peer's program does not see. The peer is gone when the
// retries run out, or when work has been outstanding for four times every, and at least a second,
// without a packet from the peer: with every = 500 ms that is 2.5 s after its death at the latest,
// however long the retries take. A host that is too busy to look at what has come waits for up to
// 10 s.
//
// KeepAlive returns nil when either end has ended the connection, the cause of ctx, or an error
// that is [ErrUnreachable] when the peer is gone; the connection is over then. Another
// [*FatalError] says that the queue pair failed.
//
// It takes a place in the send queue for as long as the peer needs to answer. The peer must have
// given this end [RemoteWrite], as rdma_cm does. What fails adds a completion with the ID 0.
func (c *Conn) KeepAlive(ctx context.Context, every time.Duration) error {
	if err := checkContext(ctx); err != nil {
		return fmt.Errorf("keep alive: %w", err)
	}
	if every <= 0 {
		return fmt.Errorf("keep alive every %v: give a time above 0", every)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	quiet := quietness{since: time.Now()}
	for {
		select {
		case <-c.over:
			return c.lost()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if c.qp.State() == ERR {
			if c.isOver() {
				return c.lost()
			}
			// Done closes a moment after the failure.
			err := c.failure()
			if err == nil {
				err = ErrUnreachable
			}
			c.abandon(err)
			return err
		}
		idle := c.qp.qp.Idle()
		if quiet.tooLong(idle, c.qp.Counters().ReceivedPackets, c.qp.qp.ReceiverBehind) {
			c.abandon(ErrUnreachable)
			return ErrUnreachable
		}
		if idle {
			// What it refuses is a queue pair on its way to ERR.
			_ = c.qp.PostSend(&SendWR{Opcode: WRWrite})
		}
	}
}

// How long a peer may be quiet while work is outstanding.
const (
	quietTicks  = 4
	quietTime   = time.Second
	quietBehind = 10 * time.Second // while this end has not looked at all that has come, as on a busy host
)

// quietness is how long work has been outstanding without a packet from the peer.
type quietness struct {
	packets uint64 // received when it began
	since   time.Time
	ticks   int
}

// tooLong is told at every tick whether work was outstanding and how many packets have been received, and reports
// whether the peer is gone. What the peer has sent may wait in the host while behind is true.
func (q *quietness) tooLong(idle bool, packets uint64, behind func() bool) bool {
	if idle || packets != q.packets {
		*q = quietness{packets: packets, since: time.Now()}
		return false
	}
	if behind() {
		return time.Since(q.since) >= quietBehind
	}
	q.ticks++
	return q.ticks >= quietTicks && time.Since(q.since) >= quietTime
}

// lost is why KeepAlive ends on a connection that is over: nil unless its queue pair has failed, of which the peer is told.
func (c *Conn) lost() error {
	var fatal *FatalError
	if err := c.Err(); errors.As(err, &fatal) {
		c.leave()
		return err
	}
	return nil
}

// abandon ends the connection for err: the peer is told, but nobody waits for it.
func (c *Conn) abandon(err error) {
	c.end(err)
	c.leave()
}
