package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// unreliable is the send queue of the services that wait for no answer, UC and UD: a work
// request is done when its packets have left.
type unreliable struct {
	core
	next bth.PSN // of the next packet
	cur  uint32  // free-running index of the work request being sent
	sent uint32  // those before it were handed to the link as a whole
}

func newUnreliable(q *qp.QP, keys *mr.Table) unreliable {
	return unreliable{core: core{qp: q, keys: mr.Finder{Table: keys}}}
}

// restart goes on with the work request at the head of the queue.
func (c *unreliable) restart() { c.cur, c.sent = c.qp.SQ.Head(), c.qp.SQ.Head() }

// flush completes both queues with WR_FLUSH_ERR.
func (c *unreliable) flush() {
	c.flushQueues()
	c.restart()
}

// enterError brings the queue pair into ERR and flushes its queues.
func (c *unreliable) enterError() {
	c.state, c.qp.Attr.State = qp.ERR, qp.ERR
	c.flush()
}

// Posted tells the machine that work requests were queued. In ERR all of them are flushed
// at once, in SQE those of the send queue (IBA 10.3.1).
func (c *unreliable) Posted() {
	switch c.state {
	case qp.ERR:
		c.flush()
	case qp.SQE:
		c.flushSends()
		c.restart()
	}
}

// NextTimeout is never: nothing waits for an answer.
func (c *unreliable) NextTimeout() (Time, bool) { return 0, false }

// Timeout does nothing.
func (c *unreliable) Timeout(Time) {}

// Sent completes the work requests whose last packet has left, and reports whether
// Transmit has something to do again.
func (c *unreliable) Sent(Time) (more bool) {
	for c.sends() && c.qp.SQ.Head() != c.sent {
		c.completeHead(qp.WCSuccess)
	}
	c.drained()
	return c.sends() && c.cur != c.qp.SQ.Tail() && (c.state == qp.RTS || c.qp.SQ.At(c.cur).Started)
}

// failAt fails the work request that cannot be sent, once those before it are complete. It
// takes the send queue with it, while receives go on (IBA 10.3.1, state SQE).
func (c *unreliable) failAt(status qp.WCStatus) {
	if c.cur != c.qp.SQ.Head() {
		return
	}
	c.completeHead(status)
	c.enterSQE()
	c.restart()
}
