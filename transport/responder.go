package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// responder is the executing half.
type responder struct {
	expected bth.PSN
	msn      uint32
	started  bool
	nak      nakKind // what was reported of the packet at expected
	asked    bool    // the last ACK or NAK that left was a sequence NAK
	unready  bool    // RC.Invalidates found no receive for the packet at expected

	inbound

	reply reply
	reads resources
	early early

	ackHeld  bool // the ACK that is owed leaves behind requests
	hold     bool // responses of READs that were asked for often wait
	held     bool // some did when Transmit was called last
	repeated int  // which it has appended
}

// nakKind is why a responder has sent a NAK that asks for a packet.
type nakKind uint8

const (
	nakNone    nakKind = iota
	nakGap             // it did not come
	nakUnready         // there was no receive for it
)

func (r *responder) start(psn bth.PSN) {
	r.early.drop()
	*r = responder{expected: psn, started: true, reads: r.reads, early: r.early}
	r.reads.reset()
}

// halt drops what is in progress; a pending error NAK stays.
func (r *responder) halt() {
	r.inside = false
	r.reads.drop()
	r.early.drop()
	if r.reply.kind != replyError {
		r.reply.kind = replyNone
	}
}

// request executes one request packet (IBA 9.7.4.1).
func (c *RC) request(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	if r.reply.kind == replyError {
		return ReplyPending
	}
	switch d := p.PSN.Diff(r.expected); {
	case d < 0:
		c.count.DuplicateRequests++
		return c.duplicate(p, info)
	case d > 0:
		return c.ahead(p)
	}
	c.communicates()
	v := c.perform(p, info)
	if r.early.kept > 0 {
		if v == Accepted {
			c.catchUp()
		} else if v != OutOfSequence {
			r.early.drop()
		}
	}
	return v
}

// perform executes the packet at expected.
func (c *RC) perform(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	if !c.inOrder(p, info) {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	switch info.Op {
	case bth.OpSend:
		return c.takeSend(p, info)
	case bth.OpWrite:
		return c.takeWrite(p, info)
	case bth.OpReadRequest:
		return c.takeRead(p)
	}
	if !c.settled() {
		return ReplyPending
	}
	switch info.Op {
	case bth.OpCmpSwap, bth.OpFetchAdd:
		return c.takeAtomic(p, info)
	case bth.OpAtomicWrite:
		return c.takeAtomicWrite(p, info)
	case bth.OpFlush:
		return c.takeFlush(p, info)
	}
	return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
}

// missed asks for the packet at expected, once until it comes.
func (c *RC) missed() {
	r := &c.rsp
	if r.nak == nakNone {
		r.nak = nakGap
		c.count.SequenceNAKsSent++
		r.reply = reply{kind: replyNAK, psn: r.expected, syndrome: bth.NakPSNSequence}
	}
}

// inOrder checks that the packet continues or begins a message as the one before
// it allows (IBA 9.7.4.1), and the payload lengths that its place in the message
// demands (IBA 9.7.4.1).
func (c *RC) inOrder(p *bth.Packet, info *bth.OpcodeInfo) bool {
	r := &c.rsp
	if info.Starts() {
		return !r.inside && fits(info.Pos, len(p.Payload), c.mtu)
	}
	return r.continues(info.Op) && fits(info.Pos, len(p.Payload), c.mtu)
}

// executed moves past the packet at expected and acknowledges it if asked to.
func (c *RC) executed(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	r.expected = r.expected.Add(1)
	r.nak = nakNone
	r.op = info.Op
	r.inside = !info.Ends()
	if !r.inside {
		r.msn = (r.msn + 1) & 0xffffff
	}
	if p.AckReq {
		c.acknowledgeAll()
	}
	return Accepted
}

// acknowledgeAll owes the peer an ACK of everything executed so far. ACKs that were
// not sent yet are covered by it.
func (c *RC) acknowledgeAll() {
	c.rsp.reply = reply{kind: replyACK, psn: c.rsp.expected.Sub(1), syndrome: bth.AckUnlimited}
}

// refuse owes the peer an error NAK, after which the queue pair goes into ERR. A
// receive that was being filled completes with status, or is flushed.
func (c *RC) refuse(s bth.Syndrome, status qp.WCStatus) Verdict {
	r := &c.rsp
	c.gather.drop(&c.core)
	if r.reply.kind == replyError {
		return fatal(r.reply.syndrome).verdict // an earlier message could not be stored
	}
	told := c.holding && status != qp.WCSuccess
	if told {
		c.completeReceive(qp.WC{Status: status})
	}
	c.count.ErrorNAKsSent++
	r.reply = reply{kind: replyError, psn: r.expected, syndrome: s, told: told}
	return fatal(s).verdict
}

// notReady owes the peer an RNR NAK. Requests that follow it in flight are dropped
// without a further NAK: the peer will come back to this PSN anyway.
func (c *RC) notReady() Verdict {
	r := &c.rsp
	r.nak = nakUnready
	c.count.RNRNAKsSent++
	r.reply = reply{kind: replyNAK, psn: r.expected, syndrome: bth.RNR(c.qp.Attr.MinRNRTimer)}
	return NoReceive
}

// takeSend executes a SEND packet.
func (c *RC) takeSend(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	if info.Starts() {
		found := !r.unready && c.takeReceive()
		if r.unready = false; !found {
			return c.notReady()
		}
		r.begins(info.Op)
		if resolve(&c.keys, c.qp.Recv.PD(), c.recv.SG, mr.LocalWrite) != mr.OK {
			return c.refuse(bth.NakRemoteOperational, qp.WCLocProtErr)
		}
	}
	switch c.gather.scatter((*respondingRC)(c), p.PSN, c.recv.SG, r.got, p.Payload, info.Ends()) {
	case mr.OK:
	case mr.OutOfBounds:
		return c.refuse(bth.NakInvalidRequest, qp.WCLocLenErr)
	default:
		return c.refuse(bth.NakRemoteOperational, qp.WCLocProtErr)
	}
	r.got += uint64(len(p.Payload))
	if info.Headers&bth.HasIETH != 0 && !c.settled() {
		return ReplyPending
	}
	if info.Headers&bth.HasIETH != 0 && c.keys.InvalidateRemote(c.qp.PD, uint32(c.qp.Num), p.InvalidateRKey) != nil {
		return c.refuse(bth.NakRemoteAccess, qp.WCRemInvReqErr)
	}
	if info.Ends() {
		c.endReceive(success(p, info, qp.WCRecv, r.got))
		c.finish(true)
	}
	return c.executed(p, info)
}

// settled stores what is held back, and is false if that fails: an error NAK is owed then.
func (c *RC) settled() bool {
	c.gather.Settle()
	return c.rsp.reply.kind != replyError
}

// finish ends a message. The completion in c.wc is that of its receive, if it has one: it is made
// when the message is stored.
func (c *RC) finish(receives bool) {
	if m := c.gather.finish((*respondingRC)(c)); m != nil {
		m.msn, m.tells, m.wc = c.rsp.msn, receives, c.wc
	} else if receives {
		c.qp.RecvCQ.Complete(&c.wc)
	}
}

// takeWrite executes a WRITE packet.
func (c *RC) takeWrite(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	if info.Headers&bth.HasRETH != 0 {
		r.begins(info.Op)
		if nak := c.beginWrite(&r.inbound, p.RETH); nak != nakNothing {
			return c.refuse(nak, qp.WCSuccess)
		}
	}
	if !r.writeFits(len(p.Payload), info.Ends()) {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	imm := info.Headers&bth.HasImmDt != 0
	// The receive is taken before the last bytes are written, so that a packet which
	// is not ready is not executed either.
	if imm && !c.takeReceive() {
		return c.notReady()
	}
	if nak := r.write(c.gather, (*respondingRC)(c), p, info.Ends()); nak != nakNothing {
		return c.refuse(nak, qp.WCSuccess)
	}
	if imm {
		c.endReceive(success(p, info, qp.WCRecvWriteImm, r.length))
	}
	if info.Ends() {
		c.finish(imm)
	}
	return c.executed(p, info)
}
