package gorxe

import (
	"context"
	"time"
)

// KeepAlive finds out when the peer is gone without a word: it was killed, or its host lost power.
// A connection over which this end sends nothing would not notice otherwise; one that ends by a
// program's death on Linux tells its peer once, and the word may be lost.
//
// While nothing is outstanding it posts an empty RDMA WRITE each time that every has passed,
// which needs no memory and which the peer's program does not see. It returns nil when the
// connection is over, the cause of ctx, or [ErrUnreachable] when the peer did not answer, not
// later than twice every and the retries after the peer's death; the connection is over then.
//
// It takes a place in the send queue for as long as the peer needs to answer. The peer must have
// given this end [RemoteWrite], as rdma_cm does. What fails adds a completion with the ID 0.
func (c *Conn) KeepAlive(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-c.over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if c.qp.State() == ERR {
			select {
			case <-c.over:
				return nil
			default:
			}
			c.abandon(ErrUnreachable)
			return ErrUnreachable
		}
		if c.qp.qp.Idle() {
			// What it refuses is a queue pair on its way to ERR.
			_ = c.qp.PostSend(&SendWR{Opcode: WRWrite})
		}
	}
}

// abandon ends the connection for err: the peer is told, but nobody waits for it.
func (c *Conn) abandon(err error) {
	c.end(err)
	c.leave()
}
