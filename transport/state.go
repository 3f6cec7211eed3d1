package transport

import "github.com/gorxe/gorxe/qp"

// entered takes note of the state that the queue pair was given and returns the one before.
func (c *core) entered() (was qp.State) {
	was, c.state = c.state, c.qp.State()
	if c.state != was {
		c.draining = c.state == qp.SQD && c.qp.Attr.SQDAsyncNotify
	}
	return was
}

// drained raises SQ_DRAINED, where it was asked for, once all that was started before SQD
// is complete (IBA 10.3.1.5). Machines call it at the end of whatever may complete work.
func (c *core) drained() {
	if c.draining && !c.qp.SQDraining() {
		c.draining = false
		if c.state == qp.SQD {
			c.qp.Raise(qp.EventSQDrained)
		}
	}
}

// communicates raises COMM_EST at the first request that arrives in RTR: the peer is
// connected, whether or not it could say so in another way.
func (c *core) communicates() {
	if c.state == qp.RTR && !c.established {
		c.established = true
		c.qp.Raise(qp.EventCommEst)
	}
}

// enterSQE brings an unreliable queue pair whose send queue failed into SQE: what is queued
// and what is posted is flushed, and receiving goes on (IBA 10.3.1.6).
func (c *core) enterSQE() {
	c.state, c.qp.Attr.State = qp.SQE, qp.SQE
	c.flushSends()
}

// sends is true in the states in which requests leave: in SQD those that were started.
func (c *core) sends() bool { return c.state == qp.RTS || c.state == qp.SQD }
