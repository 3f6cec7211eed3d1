package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file answers requests: with ACKs and NAKs, which are cumulative, and with the responses of
// jobs, one for each PSN. It also decides how a duplicate is answered.

// replyKind is the kind of the pending reply, besides the responses of jobs.
type replyKind uint8

const (
	replyNone  replyKind = iota
	replyACK             // ACK of all PSNs up to psn
	replyNAK             // sequence or RNR NAK at psn, which acknowledges all earlier PSNs
	replyError           // error NAK at psn; the queue pair enters ERR when the NAK is sent
)

// reply is the pending ACK or NAK. There is at most one: acknowledgements are cumulative, so a
// later one replaces an earlier one (IBA 9.7.5.1.2).
type reply struct {
	kind        replyKind
	psn         bth.PSN
	syndrome    bth.Syndrome
	errReported bool // of replyError: a completion reports the error, so no event is raised
}

// busy reports whether the responder has something to send.
func (r *responder) busy() bool { return r.reply.kind != replyNone || r.resources.len > 0 }

// sendReplies sends responses and the pending ACK or NAK in PSN order (IBA 9.7.5.1). To a
// requester, a response ahead of the PSN that it expects means that earlier responses were lost
// (IBA 9.7.5.1.2).
func (c *RC) sendReplies(x *transmission) {
	r := &c.rsp
	for {
		owed := r.reply.kind != replyNone
		// An ACK or NAK acknowledges all earlier PSNs, so the responses up to its PSN go first.
		if r.resources.len > 0 {
			j := r.resources.job(0)
			if !owed || j.next.Before(r.reply.psn) || j.next == r.reply.psn {
				if r.hold && j.res.oftenReplayed() {
					r.held = true
					return
				}
				if !c.sendResponse(x, j) {
					return
				}
				continue
			}
		}
		if !owed || !c.sendReply(x) {
			return
		}
	}
}

// sendReply sends the pending ACK or NAK and reports whether there was room. After an error NAK,
// the queue pair enters ERR.
func (c *RC) sendReply(x *transmission) bool {
	r := &c.rsp
	if r.reply.syndrome == bth.NakPSNSequence && r.lastWasSeqNAK && c.rxeWaitsForAck() &&
		!c.sendAck(x, r.reply.psn.Sub(1), bth.AckUnlimited) {
		return false
	}
	if !c.sendAck(x, r.reply.psn, r.reply.syndrome) {
		return false
	}
	// The error NAK is the last packet of the connection. The event comes after it, unless a
	// completion has reported the error (IBA 11.6.3.1).
	over := r.reply.kind == replyError
	r.reply.kind = replyNone
	if over {
		if !r.reply.errReported {
			c.qp.Raise(fatal(r.reply.syndrome).event)
		}
		c.enterError()
	}
	return true
}

// rxeWaitsForAck reports whether the peer may ignore a second sequence NAK unless an ACK precedes
// it. Linux rxe goes back once and then waits for its timer, until something is acknowledged
// other than by a NAK within the oldest message. An ACK of what was executed since the first NAK
// is legal for SENDs and WRITEs only: the PSNs of a READ are acknowledged by its responses.
func (c *RC) rxeWaitsForAck() bool {
	return c.peer == peerRxe && (c.rsp.op == bth.OpSend || c.rsp.op == bth.OpWrite)
}

// sendAck sends an ACK or NAK and reports whether there was room. psn is the last PSN that an ACK
// acknowledges, or the one that a NAK refuses.
func (c *RC) sendAck(x *transmission, psn bth.PSN, syndrome bth.Syndrome) bool {
	p := c.packetOf(bth.RCAck, psn)
	p.AETH = bth.AETH{Syndrome: syndrome, MSN: c.rsp.msn}
	if x.frame(p, 0) == nil {
		return false
	}
	c.rsp.lastWasSeqNAK = syndrome == bth.NakPSNSequence
	return true
}

// takeRead accepts a READ request: it checks the request, claims a resource and reserves its PSNs,
// one for each response (IBA 9.4.4). The next request has the PSN behind them.
func (c *RC) takeRead(p *bth.Packet) Verdict {
	r := &c.rsp
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	// Remote READs are not permitted, or the READ is longer than 2^31 bytes (IBA C9-94).
	if c.qp.Attr.Access&mr.RemoteRead == 0 || limit == 0 || uint64(p.RETH.DMALen) > maxMessage {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	// A READ of length 0 needs neither a valid address nor a valid key (IBA C9-88).
	var region *mr.Region
	if p.RETH.DMALen > 0 {
		if region = c.lookupRemote(p.RETH, mr.RemoteRead); region == nil {
			return c.queueErrorNAK(bth.NakRemoteAccess, qp.WCSuccess)
		}
	}
	// Without a free resource, the peer has more than max_dest_rd_atomic requests outstanding,
	// which it has agreed not to do (IBA 9.4.4). Linux rxe overwrites its oldest resource instead.
	res := r.resources.claim(&r.resources.ring, limit)
	if res == nil {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	n := uint64(p.RETH.DMALen)
	c.queueResponse(p, res,
		resource{op: bth.OpReadRequest, va: p.RETH.VA, length: n, rkey: p.RETH.RKey, region: region},
		packets(n, c.mtu))
	return Accepted
}

// duplicate processes a request whose PSN is before the expected one. A SEND or WRITE is
// acknowledged with the newest PSN and not executed (IBA C9-105). The others are answered again.
// AckReq makes no difference, as in Linux rxe.
func (c *RC) duplicate(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	switch info.Op {
	case bth.OpSend, bth.OpWrite:
		// A pending NAK acknowledges the duplicate too, and must not be lost.
		if c.rsp.reply.kind == replyNone {
			c.queueACK()
		}
		return Duplicate
	// A requester that repeats one of these waits for its own response; an ACK of a later PSN would
	// be an implied NAK to it (IBA 9.7.5.1.2).
	case bth.OpReadRequest, bth.OpCmpSwap, bth.OpFetchAdd, bth.OpAtomicWrite, bth.OpFlush:
		return c.replay(p, info)
	}
	return UnknownDuplicate
}

// replay answers a duplicate of a READ, atomic, FLUSH or ATOMIC WRITE: a READ from the PSN of the
// duplicate on, the others with the saved response and without executing them again (IBA 9.7.5.1;
// for a FLUSH oA19-14 and oA19-15). A duplicate that has no resource or names other memory is
// dropped, because a NAK would end the connection, and the duplicate may only be a late copy.
func (c *RC) replay(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	rs := &c.rsp.resources
	res := rs.at(p.PSN)
	// If the resource has been given to a later request, the peer must have received the response.
	if res == nil || res.op != info.Op {
		return UnknownDuplicate
	}
	// Responses before the PSN of the duplicate were received: it asks for the rest.
	k := distance(res.first, p.PSN)
	if !res.matches(p, uint64(k)*uint64(c.mtu)) {
		return UnknownDuplicate
	}
	// A response that is still to be sent answers the duplicate too, so nothing is added.
	at := rs.find(res)
	if at >= 0 && !rs.job(at).alreadySent(p.PSN) {
		return Duplicate
	}
	if res.replayLimitReached() {
		c.count.ReplaysRefused++
		return UnknownDuplicate
	}
	c.count.ReadsReplayed++
	if at >= 0 {
		rs.job(at).repeat(p.PSN, c.startsInMiddle(res, p.PSN))
		return Duplicate
	}
	again := job{res: res, replay: true}
	again.startAt(p.PSN, c.startsInMiddle(res, p.PSN))
	rs.insert(again)
	return Duplicate
}

// startsInMiddle reports whether the answer to a duplicate READ that starts at psn begins with
// MIDDLE or LAST. An RNIC always begins it with FIRST or ONLY. A requester of Linux rxe whose
// READ began before psn takes such an answer for an error, and its queue pair enters ERR.
func (c *RC) startsInMiddle(res *resource, psn bth.PSN) bool {
	return psn != res.first && c.peer == peerRxe
}

// sendResponse sends the next packet of j and reports whether there was room. FLUSH and ATOMIC
// WRITE have the response of a READ of length 0, one ONLY packet (IBA A19). If the memory cannot be
// read, an error NAK at the PSN of the response takes its place and ends the connection
// (IBA 9.7.5.2).
func (c *RC) sendResponse(x *transmission, j *job) bool {
	res := j.res
	if res.op == bth.OpCmpSwap || res.op == bth.OpFetchAdd {
		return c.sendAtomicAck(x, res)
	}
	if res.invalidated() && j.replay {
		return c.refuseReplay(x, j)
	}
	// The memory of a new READ was deregistered before all of it was sent: a NAK ends the response.
	if res.invalidated() {
		c.rsp.resources.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteAccess}
		return true
	}
	k := distance(res.first, j.next)
	off := uint64(k) * uint64(c.mtu)
	n := min(res.length-off, uint64(c.mtu))
	begins := !j.begun && !j.resume
	ends := j.next.Add(1) == res.end
	p := c.packetOf(responseOps.pick(begins, ends), j.next)
	// FIRST, LAST and ONLY have an AETH, MIDDLE has none (IBA 9.2.1). All have the MSN of the READ
	// (IBA C9-148).
	if begins || ends {
		p.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: res.msn}
	}
	f := x.frame(p, n)
	if f == nil {
		return false
	}
	x.source = readSource{reads: &c.rsp.resources}
	if n > 0 && !x.attach(f, res.region, res.va+off, n, x.bytesAhead(res.length-off, c.mtu)) {
		x.dst.Drop()
		c.rsp.resources.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteOperational}
		return true
	}
	// The program and other peers may change the memory while the packet is sent; peers poll such
	// memory.
	f.Volatile = true
	if res.oftenReplayed() {
		c.rsp.repeated++
	}
	res.countSent(k)
	j.begun = true
	j.next = j.next.Add(1)
	switch {
	case ends && j.replayAgain && !res.replayLimitReached():
		j.replay, j.replayAgain = true, false
		j.startAt(j.replayFrom, c.startsInMiddle(res, j.replayFrom))
	case ends:
		c.rsp.resources.remove(0)
	}
	return true
}

// refuseReplay refuses a duplicate READ whose memory was deregistered or invalidated since. The
// peer is not at fault and the queue pair keeps its state: the READ may have completed long ago,
// and the request may be a late copy. A peer that does wait for the READ gets an error.
func (c *RC) refuseReplay(x *transmission, j *job) bool {
	p := c.packetOf(bth.RCAck, j.next)
	p.AETH = bth.AETH{Syndrome: bth.NakRemoteAccess, MSN: c.rsp.msn}
	if x.frame(p, 0) == nil {
		return false
	}
	c.count.ErrorNAKsSent++
	c.rsp.resources.remove(0)
	return true
}

// responseOps are the opcodes of READ responses.
var responseOps = opcodes{bth.RCReadResponseFirst, bth.RCReadResponseMiddle,
	bth.RCReadResponseLast, bth.RCReadResponseOnly}
