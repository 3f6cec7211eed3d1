package transport

import "github.com/gorxe/gorxe/qp"

// completeHead retires the oldest send work request. A successful one that was not
// signaled leaves no completion; an unsuccessful one always does.
func (c *RC) completeHead(status qp.WCStatus) {
	w := c.qp.SQ.At(c.qp.SQ.Head())
	if status != qp.WCSuccess || w.Flags&qp.Signaled != 0 || c.qp.SigAll {
		c.wc = qp.WC{WRID: w.ID, Status: status, Opcode: w.Opcode.WCOpcode(), QPN: c.qp.Num}
		if status == qp.WCSuccess {
			c.wc.ByteLen = uint32(w.Length)
		}
		c.qp.SendCQ.Complete(&c.wc)
	}
	c.qp.SQ.Pop()
}

// fail completes the oldest send work request with status and brings the queue pair
// into ERR, which flushes everything else.
func (c *RC) fail(status qp.WCStatus) {
	if c.qp.SQ.Len() > 0 {
		c.completeHead(status)
	}
	c.enterError()
}

// enterError brings the queue pair into ERR and flushes its queues.
func (c *RC) enterError() {
	c.state = qp.ERR
	c.qp.Attr.State = qp.ERR
	c.flush()
}

// flush completes all that is queued with WR_FLUSH_ERR (IBA 10.3.1) and stops the
// timers. A pending error NAK survives: the peer has to learn of it.
func (c *RC) flush() {
	for c.qp.SQ.Len() > 0 {
		c.completeHead(qp.WCWRFlushErr)
	}
	c.req.halt()
	c.rsp.halt()
	if c.rsp.holding {
		c.rsp.holding = false
		c.completeReceive(qp.WC{Status: qp.WCWRFlushErr})
	}
	if c.qp.RQ == nil {
		return
	}
	for c.qp.RQ.PopInto(&c.rsp.recv) {
		c.completeReceive(qp.WC{Status: qp.WCWRFlushErr})
	}
}

// completeReceive completes the receive work request that the responder holds; wc
// comes with what is particular to this one.
func (c *RC) completeReceive(wc qp.WC) {
	c.wc = wc
	c.wc.WRID = c.rsp.recv.ID
	c.wc.QPN = c.qp.Num
	c.wc.SrcQP = c.qp.Attr.DestQPN
	if c.wc.Opcode == 0 {
		c.wc.Opcode = qp.WCRecv
	}
	c.qp.RecvCQ.Complete(&c.wc)
}

// Posted tells the machine that work requests were queued. On a queue pair in ERR
// they are flushed at once (IBA 10.3.1).
func (c *RC) Posted() {
	if c.state == qp.ERR {
		c.flush()
	}
}
