package transport

import "github.com/gorxe/gorxe/qp"

// executeLocal executes the local work requests that are next in the send queue. No payload may be borrowed: they
// complete at once, and the program may then write to what they have taken from a peer.
func (c *RC) executeLocal() {
	r, sq := &c.req, c.qp.SQ
	for r.again.empty() && r.cur != sq.Tail() {
		if w := sq.At(r.cur); w.Started || !w.Opcode.IsLocal() || c.held(w) || !c.local(w) {
			return
		}
	}
}

// local executes the work request at cur, which takes no PSN, and reports whether the next
// may begin. It stands in the queue as done until all before it are complete, and going
// back passes over it.
//
// An invalidation waits for all before it: they may still need the key. What fails is tried
// again each time until it is the oldest, so that completions keep their order.
func (c *RC) local(w *qp.SendWQE) bool {
	r := &c.req
	if w.Opcode == qp.WRLocalInv && r.cur != c.qp.SQ.Head() {
		return false
	}
	if status := c.execute(w); status != qp.WCSuccess {
		c.failAt(r.cur, status)
		return false
	}
	w.Started, w.FirstPSN, w.Packets = true, r.next, 0
	r.cur++
	c.retire()
	return true
}

// execute does what a local work request asks of the key table. The statuses of failures
// are those of Linux rxe.
func (c *core) execute(w *qp.SendWQE) qp.WCStatus {
	var err error
	switch l := w.Local; {
	case w.Opcode == qp.WRLocalInv:
		err = c.keys.Invalidate(c.qp.PD, w.Imm)
	case l == nil:
		return qp.WCLocQPOpErr
	case w.Opcode == qp.WRBindMW:
		if c.keys.Bind(c.qp.PD, uint32(c.qp.Num), &l.Bind) != nil {
			return qp.WCMWBindErr
		}
	case w.Opcode == qp.WRRegMR:
		err = c.keys.RegisterFast(c.qp.PD, &l.Reg)
	}
	if err != nil {
		return qp.WCLocQPOpErr
	}
	return qp.WCSuccess
}

// finishHead completes the oldest work request with success, and the local ones behind it
// that are done.
func (c *RC) finishHead() {
	c.completeHead(qp.WCSuccess)
	c.retire()
}

// retire completes the local work requests that are done and have come to the head.
func (c *RC) retire() {
	sq := c.qp.SQ
	for sq.Len() > 0 {
		if w := sq.At(sq.Head()); !w.Started || w.Packets > 0 {
			return
		}
		c.completeHead(qp.WCSuccess)
	}
}
