package verbs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// KeepAlive detects a peer that is gone without notice: it was killed, or its host lost power. A
// connection over which this end sends nothing would not detect that. If a program is killed,
// Linux sends one DREQ, which may be lost.
//
// While nothing is outstanding, KeepAlive posts an empty RDMA WRITE in each period of length every;
// the WRITE needs no memory, and the peer's program does not see it. The peer is gone when the
// retries are exhausted, or when work has been outstanding for four periods, and at least a second,
// without a packet from the peer: with every = 500 ms, at most 2.5 s after its death, regardless of
// the retry timeout. If this host is too busy to process arrived packets, KeepAlive waits up to 10
// s.
//
// KeepAlive returns nil when either end has ended the connection, the cause of ctx, or an error
// that is [ErrUnreachable] when the peer is gone; the connection has then ended. Any other
// [*FatalError] means that the queue pair failed.
//
// The WRITE occupies the send queue until the peer answers. The peer must grant [RemoteWrite], as
// rdma_cm does. A failed WRITE adds a completion with the ID 0.
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
			return c.endReason()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if c.qp.State() == ERR {
			if c.isEnding() {
				return c.endReason()
			}
			// Done closes shortly after the failure.
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
			// An error means that the queue pair is moving to ERR.
			_ = c.qp.PostSend(&SendWR{Opcode: WRWrite})
		}
	}
}

// How long a peer may be quiet while work is outstanding.
const (
	quietTicks  = 4                // number of periods of KeepAlive
	quietTime   = time.Second      // minimum, if the periods are shorter
	quietBehind = 10 * time.Second // while this end has not processed all arrived packets, as on a busy host
)

// quietness measures how long work has been outstanding without a packet from the peer.
type quietness struct {
	packets uint64    // number received when the quiet time began
	since   time.Time // start of the quiet time
	ticks   int       // number of ticks since then
}

// tooLong reports at a tick whether the peer is gone. idle means that no work is outstanding;
// packets is the number of packets received from the peer so far. behind reports whether packets of
// the peer may be waiting in the host.
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

// endReason returns why KeepAlive ends on a connection that has ended: nil unless its queue pair
// failed. In that case it notifies the peer.
func (c *Conn) endReason() error {
	var fatal *FatalError
	if err := c.Err(); errors.As(err, &fatal) {
		c.startDisconnect()
		return err
	}
	return nil
}

// abandon ends the connection with err and notifies the peer without waiting.
func (c *Conn) abandon(err error) {
	c.end(err)
	c.startDisconnect()
}
