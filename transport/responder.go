package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file checks and executes requests. The checks have this order, and the first that fails
// decides the answer:
//
//   - PSN (IBA 9.7.4.1.2): a duplicate is answered again, a gap gets NAK PSN sequence error
//   - opcode, after that of the packet before (IBA 9.7.4.1.3), and length of the payload
//     (IBA 9.7.4.1.6): NAK invalid request
//   - receive of a SEND: RNR NAK (IBA 9.7.5.2.8)
//   - right of the queue pair, DMA length, alignment: NAK invalid request
//   - key, range and right of the region (IBA 9.7.4.1.5): NAK remote access error
//   - receive of a WRITE with immediate data: RNR NAK
//   - memory of this end: NAK remote operational error
//
// After a failed check, the PSN of the packet stays the expected one.

// responder is the part of an RC that executes requests.
type responder struct {
	expected      bth.PSN // PSN of the next request to execute
	msn           uint32  // number of messages executed, modulo 2^24 (IBA 9.7.7)
	started       bool    // expected is valid: the queue pair has reached RTR
	nak           nakKind // NAK that was sent for the packet at expected
	lastWasSeqNAK bool    // the last ACK or NAK sent was a sequence NAK
	noReceive     bool    // RC.Invalidates found no receive for the packet at expected

	inbound

	reply     reply
	resources resources
	early     early

	ackHeld bool // Transmit sends the pending ACK behind requests
	// Of responses to READs that the peer requests often (see RC.HoldReplays).
	hold     bool // Transmit holds them back
	held     bool // the last Transmit held some back
	repeated int  // number of their packets that the last Transmit appended
}

// nakKind is the reason of a NAK that requests a packet.
type nakKind uint8

const (
	nakNone    nakKind = iota
	nakGap             // the packet did not arrive
	nakUnready         // there was no receive for it
)

// start resets the responder: the queue pair has entered RTR.
func (r *responder) start(psn bth.PSN) {
	// The PSNs of kept packets belong to the connection before.
	r.early.clear()
	*r = responder{expected: psn, started: true, resources: r.resources, early: r.early}
	r.resources.reset()
}

// halt drops what is in progress, except a pending error NAK.
func (r *responder) halt() {
	r.inside = false
	r.resources.drop()
	r.early.clear()
	if r.reply.kind != replyError {
		r.reply.kind = replyNone
	}
}

// request processes a request packet. Its PSN tells whether it is the expected one, one of the 2^23
// before it, which are duplicates, or ahead (IBA 9.7.4.1.2).
func (c *RC) request(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	// After an error NAK nothing is executed. The queue pair enters ERR when the NAK is sent.
	if r.reply.kind == replyError {
		return ReplyPending
	}
	switch d := p.PSN.Diff(r.expected); {
	case d < 0:
		c.count.DuplicateRequests++
		return c.duplicate(p, info)
	case d > 0:
		return c.receiveEarly(p)
	}
	c.raiseCommEst()
	v := c.perform(p, info)
	// The packet may have closed a gap. If it was refused, the requester sends the kept packets
	// again.
	if r.early.kept > 0 {
		if v == Accepted {
			c.executeEarly()
		} else if v != OutOfSequence {
			r.early.clear()
		}
	}
	return v
}

// perform executes p, whose PSN is the expected one. SENDs, WRITEs and atomics take effect in the
// order in which they were posted (IBA 9.5); a READ is only queued, and its memory is read when its
// responses are sent.
func (c *RC) perform(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	if !c.inOrder(p, info) {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	switch info.Op {
	case bth.OpSend:
		return c.takeSend(p, info)
	case bth.OpWrite:
		return c.takeWrite(p, info)
	case bth.OpReadRequest:
		return c.takeRead(p)
	}
	// These operations see or flush memory, so data held back must be stored before them.
	if !c.storeHeld() {
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
	return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
}

// requestMissing requests the packet at expected with a sequence NAK, once until that packet
// arrives (IBA 9.7.4.1.2): the packets that follow a gap in one window all show the same loss.
// After an RNR NAK, no sequence NAK is sent, because the requester goes back in any case.
func (c *RC) requestMissing() {
	r := &c.rsp
	if r.nak == nakNone {
		r.nak = nakGap
		c.count.SequenceNAKsSent++
		r.reply = reply{kind: replyNAK, psn: r.expected, syndrome: bth.NakPSNSequence}
	}
}

// inOrder reports whether the opcode of p may follow that of the packet before (IBA 9.7.4.1.3) and
// the payload of p has a length that the position of p in the message permits (IBA 9.7.4.1.6). A
// READ request, an atomic and a FLUSH have no payload (IBA 9.4.4, 9.4.5, oA19-2).
func (c *RC) inOrder(p *bth.Packet, info *bth.OpcodeInfo) bool {
	r := &c.rsp
	// A message must end before the next one starts (IBA 9.7.4.1.3).
	if info.Starts() {
		return !r.inside && payloadFits(info.Pos, len(p.Payload), c.mtu) && (info.Payload || len(p.Payload) == 0)
	}
	return r.continues(info.Op) && payloadFits(info.Pos, len(p.Payload), c.mtu)
}

// executed makes the PSN behind p the expected one and queues an ACK if p has AckReq. The MSN
// counts messages, so only their last packet increments it (IBA 9.7.7).
func (c *RC) executed(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	r.expected = r.expected.Add(1)
	r.nak = nakNone
	r.op = info.Op
	r.inside = !info.Ends()
	if !r.inside {
		r.msn = (r.msn + 1) & 0xffffff
	}
	// A packet without AckReq gets no ACK of its own: a later one covers it (IBA 9.7.5.1.2). AckReq
	// is answered in the middle of a message too, because Linux rxe stops at 128 unacknowledged
	// PSNs.
	if p.AckReq {
		c.queueACK()
	}
	return Accepted
}

// queueACK queues an ACK of everything executed so far, which replaces a pending one:
// acknowledgements may be coalesced (IBA 9.7.5.1.2). Its credit field states no limit, as in Linux
// rxe.
func (c *RC) queueACK() {
	c.rsp.reply = reply{kind: replyACK, psn: c.rsp.expected.Sub(1), syndrome: bth.AckUnlimited}
}

// queueErrorNAK queues an error NAK, after which the queue pair enters ERR (IBA 9.7.5.2). A receive
// being filled completes with status, or is flushed if status is success. Packets that arrive
// before the NAK is sent are dropped, since they follow a request that was not executed.
func (c *RC) queueErrorNAK(s bth.Syndrome, status qp.WCStatus) Verdict {
	r := &c.rsp
	c.storeBatch.drop(&c.core)
	if r.reply.kind == replyError {
		return fatal(r.reply.syndrome).verdict // drop has tried to store an earlier message and failed
	}
	reported := c.hasRecv && status != qp.WCSuccess
	if reported {
		c.completeReceive(qp.WC{Status: status})
	}
	c.count.ErrorNAKsSent++
	r.reply = reply{kind: replyError, psn: r.expected, syndrome: s, errReported: reported}
	return fatal(s).verdict
}

// queueRNRNAK queues an RNR NAK with the timer code min_rnr_timer of the queue pair, 0 to 31, the
// minimum time for which the requester waits (IBA 9.7.5.2.8). Requests behind it that are in flight
// are dropped without a further NAK, because the peer goes back to this PSN. Linux rxe sends a
// sequence NAK for them.
func (c *RC) queueRNRNAK() Verdict {
	r := &c.rsp
	r.nak = nakUnready
	c.count.RNRNAKsSent++
	r.reply = reply{kind: replyNAK, psn: r.expected, syndrome: bth.RNR(c.qp.Attr.MinRNRTimer)}
	return NoReceive
}

// takeSend executes a packet of a SEND. Its first packet takes a receive. If there is no receive,
// the answer is an RNR NAK, and the PSN of the packet stays the expected one (IBA 9.7.5.2.8).
func (c *RC) takeSend(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	if info.Starts() {
		found := !r.noReceive && c.takeReceive()
		if r.noReceive = false; !found {
			return c.queueRNRNAK()
		}
		r.startMessage(info.Op)
		// Invalid memory in a receive is a fault of this end: NAK remote operational error.
		if resolve(&c.keys, c.qp.Recv.PD(), c.recv.SG, mr.LocalWrite) != mr.OK {
			return c.queueErrorNAK(bth.NakRemoteOperational, qp.WCLocProtErr)
		}
	}
	switch c.storeBatch.scatter((*respondingRC)(c), p.PSN, c.recv.SG, r.receivedBytes, p.Payload, info.Ends()) {
	case mr.OK:
	// A SEND longer than the receive is an invalid request.
	case mr.OutOfBounds:
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCLocLenErr)
	default:
		return c.queueErrorNAK(bth.NakRemoteOperational, qp.WCLocProtErr)
	}
	r.receivedBytes += uint64(len(p.Payload))
	// The data must be stored before the key is invalidated, since the key may be one to the same
	// memory. A key that the sender may not invalidate gets NAK remote access error. Linux rxe
	// acknowledges such a SEND and fails at its own end only.
	if info.Headers&bth.HasIETH != 0 && !c.storeHeld() {
		return ReplyPending
	}
	if info.Headers&bth.HasIETH != 0 && c.keys.InvalidateRemote(c.qp.PD, uint32(c.qp.Num), p.InvalidateRKey) != nil {
		return c.queueErrorNAK(bth.NakRemoteAccess, qp.WCRemInvReqErr)
	}
	if info.Ends() {
		c.endReceive(success(p, info, qp.WCRecv, r.receivedBytes))
		c.endMessage(true)
	}
	return c.executed(p, info)
}

// storeHeld stores what is held back. It returns false if that fails; an error NAK is pending then.
func (c *RC) storeHeld() bool {
	c.storeBatch.Settle()
	return c.rsp.reply.kind != replyError
}

// endMessage ends a message. If receives is true, the message has a receive, and its completion
// c.wc is generated when the message is stored.
func (c *RC) endMessage(receives bool) {
	if m := c.storeBatch.finish((*respondingRC)(c)); m != nil {
		m.msn, m.completes, m.wc = c.rsp.msn, receives, c.wc
	} else if receives {
		c.qp.RecvCQ.Complete(&c.wc)
	}
}

// takeWrite executes a packet of a WRITE. Only FIRST or ONLY has a RETH; the later packets continue
// at the address behind the payload before (IBA 9.3.3). A WRITE takes a receive only if it has
// immediate data (IBA C10-87).
func (c *RC) takeWrite(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	if info.Headers&bth.HasRETH != 0 {
		r.startMessage(info.Op)
		if nak := c.beginWrite(&r.inbound, p.RETH); nak != noNAK {
			return c.queueErrorNAK(nak, qp.WCSuccess)
		}
	}
	// The data of all packets must equal the DMA length of the RETH (IBA 9.7.4.1.6).
	if !r.writeFits(len(p.Payload), info.Ends()) {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	imm := info.Headers&bth.HasImmDt != 0
	// The receive is taken before the last bytes are written, because a packet that is answered
	// with an RNR NAK must not be executed: its retransmission would execute it again.
	if imm && !c.takeReceive() {
		return c.queueRNRNAK()
	}
	if nak := r.write(c.storeBatch, (*respondingRC)(c), p, info.Ends()); nak != noNAK {
		return c.queueErrorNAK(nak, qp.WCSuccess)
	}
	if imm {
		c.endReceive(success(p, info, qp.WCRecvWriteImm, r.length))
	}
	if info.Ends() {
		c.endMessage(imm)
	}
	return c.executed(p, info)
}
