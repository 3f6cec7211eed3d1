package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// This file ends work requests: with a completion, with WR_FLUSH_ERR, or without a trace in RESET.
// Completions have the order of the queue (IBA 10.8.3). A completion is generated after the data is
// stored.

// completeHead removes the oldest send work request. A successful one generates a completion only
// if it is signaled; a failed one always does (IBA 10.7.3.1).
func (c *core) completeHead(status qp.WCStatus) {
	w := c.qp.SQ.At(c.qp.SQ.Head())
	// The slot must be free before the program sees the completion, because it may post another
	// request at once.
	c.qp.SQ.Retire()
	completes := status != qp.WCSuccess || w.Flags&qp.Signaled != 0 || c.qp.SigAll
	if m := c.heldHead(); m != nil {
		// The completion waits for the data. If the data cannot be stored, even an unsignaled
		// request gets a completion.
		m.completes, m.wc = completes, c.sendWC(w, status)
	} else if completes {
		c.wc = c.sendWC(w, status)
		c.qp.SendCQ.Complete(&c.wc)
	}
	c.qp.SQ.Pop()
}

// sendWC returns the completion of a send work request.
func (c *core) sendWC(w *qp.SendWQE, status qp.WCStatus) qp.WC {
	wc := qp.WC{WRID: w.ID, Status: status, Opcode: w.Opcode.WCOpcode(), QPN: c.qp.Num}
	if status == qp.WCSuccess {
		wc.ByteLen = uint32(w.Length)
	}
	return wc
}

// heldHead returns the held-back message of the oldest send work request, which is complete. It
// returns nil if the data of this request and of all earlier ones is stored.
func (c *core) heldHead() *heldMessage {
	if !c.storeBatch.holds(c) {
		return nil
	}
	o, ok := c.storeBatch.owner.(*requestingRC)
	if !ok {
		return nil
	}
	return c.storeBatch.finish(o)
}

// fail completes the oldest send work request with status and puts the queue pair into ERR, which
// flushes all others. A program learns the cause from the first completion that is not successful.
func (c *RC) fail(status qp.WCStatus) {
	c.storeBatch.drop(&c.core)
	if c.qp.SQ.Len() > 0 {
		c.completeHead(status)
	}
	c.enterError()
}

// enterError puts the queue pair into ERR and flushes its queues.
func (c *RC) enterError() {
	c.state = qp.ERR
	c.qp.Attr.State = qp.ERR
	c.flush()
}

// flush completes all queued work requests with WR_FLUSH_ERR and stops the timers. A pending
// error NAK remains: the peer must receive it.
func (c *RC) flush() {
	c.flushQueues()
	c.req.halt()
	c.rsp.halt()
	c.account()
}

// flushQueues completes all queued work requests with WR_FLUSH_ERR (IBA 10.3.1). The receives of a
// shared queue (SRQ) remain for other queue pairs: only the receive already taken is flushed, and
// QP_LAST_WQE_REACHED reports that no further completion follows. Receives that another process
// posts during the call are flushed by the next call, so that the process cannot prolong this call.
func (c *core) flushQueues() {
	c.storeBatch.drop(c)
	c.flushSends()
	shared := c.qp.Recv.Shared()
	// A receive being filled is older than those in the queue, so it is flushed first.
	if c.hasRecv {
		c.completeReceive(qp.WC{Status: qp.WCWRFlushErr})
	}
	for n := c.qp.Recv.Len(); !shared && n > 0 && c.takeReceive(); n-- {
		c.completeReceive(qp.WC{Status: qp.WCWRFlushErr})
	}
	if shared && !c.lastWQE {
		c.lastWQE = true
		c.qp.Raise(qp.EventQPLastWQEReached)
	}
}

// flushSends completes all requests of the send queue with WR_FLUSH_ERR. Requests that were sent
// but not acknowledged are flushed too: the peer may have executed them.
func (c *core) flushSends() {
	for c.qp.SQ.Len() > 0 {
		c.completeHead(qp.WCWRFlushErr)
	}
}

// reset removes all queued work requests without completions, as RESET requires. A receive that
// was taken from an SRQ is lost; a program that needs it back enters ERR first.
func (c *core) reset() {
	c.storeBatch.forget(c)
	c.hasRecv, c.established, c.lastWQE = false, false, false
	c.qp.SQ.Reset()
	if !c.qp.Recv.Shared() {
		c.qp.Recv.Reset()
	}
}

// takeReceive makes the next receive the one being filled and reports whether there is one.
// Receives are used in the order in which they were posted (IBA 10.8.3).
func (c *core) takeReceive() bool {
	c.hasRecv = c.qp.Recv.Take(&c.recv)
	return c.hasRecv
}

// completeReceive completes the receive being filled. endReceive adds the fields of wc that all
// completions have.
func (c *core) completeReceive(wc qp.WC) {
	c.endReceive(wc)
	c.qp.RecvCQ.Complete(&c.wc)
}

// endReceive ends the receive being filled and leaves its completion in c.wc: wc with the ID of the
// receive, the queue pair number and other fields that all completions have.
func (c *core) endReceive(wc qp.WC) {
	c.hasRecv = false
	c.wc = wc
	c.wc.WRID = c.recv.ID
	c.wc.QPN = c.qp.Num
	// A datagram names its sender in the DETH; the sender of a connection is its peer.
	if c.qp.Type.Connected() {
		c.wc.SrcQP = c.qp.Attr.DestQPN
	}
	if c.wc.Opcode == 0 {
		c.wc.Opcode = qp.WCRecv
	}
}

// Posted tells the machine that work requests were posted. In ERR they are flushed at once
// (IBA 10.3.1).
func (c *RC) Posted() {
	if c.state == qp.ERR {
		c.flush()
	}
}

// completeWithSuccess completes the receive being filled, with status success. p is the last packet
// of its message and n the length of the message in bytes.
func (c *core) completeWithSuccess(p *bth.Packet, info *bth.OpcodeInfo, op qp.WCOpcode, n uint64) {
	c.completeReceive(success(p, info, op, n))
}

// success returns the completion of a receive of n bytes whose last packet is p.
func success(p *bth.Packet, info *bth.OpcodeInfo, op qp.WCOpcode, n uint64) qp.WC {
	wc := qp.WC{Status: qp.WCSuccess, Opcode: op, ByteLen: uint32(n), Solicited: p.Solicited}
	if info.Headers&bth.HasImmDt != 0 {
		wc.Flags |= qp.WithImm
		wc.Imm = p.Imm
	}
	// Imm has the key that was invalidated, as in verbs.
	if info.Headers&bth.HasIETH != 0 {
		wc.Flags |= qp.WithInv
		wc.Imm = p.InvalidateRKey
	}
	return wc
}
