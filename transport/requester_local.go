package transport

import "github.com/gorxe/gorxe/qp"

// This file executes the work requests that send nothing: invalidation of a local key, binding of a
// memory window, registration of a fast-register region. They change the key table in the order of
// the send queue, so that a request posted behind one of them may use the new key.

// executeLocal executes local work requests that are next in the send queue. The batch must not
// borrow payload: the requests complete at once, and then the program may write to memory whose key
// they have invalidated.
func (c *RC) executeLocal() {
	r, sq := &c.req, c.qp.SQ
	for r.repair.empty() && r.cur != sq.Tail() {
		if w := sq.At(r.cur); w.Started || !w.Opcode.IsLocal() || c.held(w) || !c.local(w) {
			return
		}
	}
}

// local executes the local work request at cur and reports whether the next request may begin. The
// request uses no PSN. It stays in the queue, marked as started with 0 packets, until all earlier
// requests are complete, and going back skips it.
//
// A LOCAL_INV waits for all earlier requests, which may need the key. This is the local invalidate
// fence of IBA 10.6.5.1; it applies to every LOCAL_INV, as in Linux rxe. A request that fails is
// tried again until it is the oldest. Only then does it complete with the error, so that
// completions keep their order.
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

// execute applies a local work request to the key table. The failure statuses are those of Linux
// rxe: MW_BIND_ERR for a bind, LOC_QP_OP_ERR for the others.
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

// finishHead completes the oldest work request with success, and the finished local work requests
// behind it.
func (c *RC) finishHead() {
	c.completeHead(qp.WCSuccess)
	c.retire()
}

// retire completes finished local work requests at the head of the queue.
func (c *RC) retire() {
	sq := c.qp.SQ
	for sq.Len() > 0 {
		if w := sq.At(sq.Head()); !w.Started || w.Packets > 0 {
			return
		}
		c.completeHead(qp.WCSuccess)
	}
}
