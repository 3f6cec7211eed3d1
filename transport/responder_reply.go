package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// replyKind says what the responder owes the peer besides READ data.
type replyKind uint8

const (
	replyNone  replyKind = iota
	replyACK             // acknowledges all up to psn
	replyNAK             // sequence or RNR NAK at psn: acknowledges all before
	replyError           // NAK at psn, then the queue pair goes into ERR
)

// reply is the one answer that is owed: acknowledgements are cumulative, so a later
// one always takes the place of an earlier one.
type reply struct {
	kind     replyKind
	psn      bth.PSN
	syndrome bth.Syndrome
	told     bool // of replyError: a completion says what was wrong
}

// busy reports whether the responder has something to send.
func (r *responder) busy() bool { return r.reply.kind != replyNone || r.reads.len > 0 }

// reply emits READ responses and the reply that is owed, in PSN order (IBA 9.7.5.1).
func (c *RC) reply(x *transmission) {
	r := &c.rsp
	for {
		owed := r.reply.kind != replyNone
		if r.reads.len > 0 {
			j := r.reads.head()
			if !owed || j.next.Before(r.reply.psn) || j.next == r.reply.psn {
				if r.hold && j.res.often() {
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

// sendReply emits the ACK or NAK that is owed.
func (c *RC) sendReply(x *transmission) bool {
	r := &c.rsp
	if r.reply.syndrome == bth.NakPSNSequence && r.asked && c.rxeWaitsForAck() && !c.sendAck(x, r.reply.psn.Sub(1), bth.AckUnlimited) {
		return false
	}
	if !c.sendAck(x, r.reply.psn, r.reply.syndrome) {
		return false
	}
	over := r.reply.kind == replyError
	r.reply.kind = replyNone
	if over {
		if !r.reply.told {
			c.qp.Raise(fatal(r.reply.syndrome).event)
		}
		c.enterError()
	}
	return true
}

// rxeWaitsForAck reports whether the peer may take no notice of a second sequence NAK before an ACK. Linux rxe goes back once until
// something is acknowledged other than by a NAK within the oldest message, and then waits for its timer. The ACK of what came
// since the first NAK is legal, and only with SENDs and WRITEs: a READ's PSNs are acknowledged by its responses.
func (c *RC) rxeWaitsForAck() bool {
	return c.peer == peerRxe && (c.rsp.op == bth.OpSend || c.rsp.op == bth.OpWrite)
}

// sendAck emits an ACK or NAK.
func (c *RC) sendAck(x *transmission, psn bth.PSN, syndrome bth.Syndrome) bool {
	p := c.packetOf(bth.RCAck, psn)
	p.AETH = bth.AETH{Syndrome: syndrome, MSN: c.rsp.msn}
	if x.frame(p, 0) == nil {
		return false
	}
	c.rsp.asked = syndrome == bth.NakPSNSequence
	return true
}

// takeRead accepts a READ request: checks it, gives it a resource and its PSNs.
func (c *RC) takeRead(p *bth.Packet) Verdict {
	r := &c.rsp
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	if c.qp.Attr.Access&mr.RemoteRead == 0 || limit == 0 || uint64(p.RETH.DMALen) > maxMessage {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	var region *mr.Region
	if p.RETH.DMALen > 0 {
		if region = c.reach(p.RETH, mr.RemoteRead); region == nil {
			return c.refuse(bth.NakRemoteAccess, qp.WCSuccess)
		}
	}
	res := r.reads.claim(&r.reads.ring, limit)
	if res == nil {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	n := uint64(p.RETH.DMALen)
	c.answer(p, res, resource{op: bth.OpReadRequest, va: p.RETH.VA, length: n, rkey: p.RETH.RKey, region: region}, packets(n, c.mtu))
	return Accepted
}

// duplicate handles a request whose PSN lies behind the expected one (IBA 9.7.5.1):
// SEND and WRITE are acknowledged and not executed, a READ is answered again.
func (c *RC) duplicate(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	switch info.Op {
	case bth.OpSend, bth.OpWrite:
		if c.rsp.reply.kind == replyNone {
			c.acknowledgeAll()
		}
		return Duplicate
	case bth.OpReadRequest, bth.OpCmpSwap, bth.OpFetchAdd, bth.OpAtomicWrite, bth.OpFlush:
		return c.replay(p, info)
	}
	return UnknownDuplicate
}

// replay answers a READ again, from where the peer asks for it, or one of the others, which
// are not executed again.
func (c *RC) replay(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	rs := &c.rsp.reads
	res := rs.at(p.PSN)
	if res == nil || res.op != info.Op {
		return UnknownDuplicate
	}
	k := distance(res.first, p.PSN)
	if !res.asked(p, uint64(k)*uint64(c.mtu)) {
		return UnknownDuplicate
	}
	at := rs.find(res)
	if at >= 0 && !rs.jobs[at].missed(p.PSN) {
		return Duplicate
	}
	if res.exhausted() {
		c.count.ReplaysRefused++
		return UnknownDuplicate
	}
	c.count.ReadsReplayed++
	if at >= 0 {
		rs.jobs[at].repeat(p.PSN, c.resumes(res, p.PSN))
		return Duplicate
	}
	again := job{res: res, again: true}
	again.startAt(p.PSN, c.resumes(res, p.PSN))
	rs.insert(again)
	return Duplicate
}

// resumes reports whether an answer to a repeated READ that starts at psn goes on with MIDDLE or LAST. RNICs
// begin it with FIRST wherever it starts. Linux rxe takes that for an error when the READ began earlier.
func (c *RC) resumes(res *resource, psn bth.PSN) bool { return psn != res.first && c.peer == peerRxe }

// sendResponse emits the next packet of j and reports whether there was room. FLUSH and
// ATOMIC WRITE are answered as a READ of nothing is.
func (c *RC) sendResponse(x *transmission, j *job) bool {
	res := j.res
	if res.op == bth.OpCmpSwap || res.op == bth.OpFetchAdd {
		return c.sendAtomicAck(x, res)
	}
	if res.gone() && j.again {
		return c.sendReadGone(x, j)
	}
	if res.gone() {
		c.rsp.reads.drop()
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
	if begins || ends {
		p.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: res.msn}
	}
	f := x.frame(p, n)
	if f == nil {
		return false
	}
	x.of = reading{reads: &c.rsp.reads}
	if n > 0 && !x.attach(f, res.region, res.va+off, n, x.ahead(res.length-off, c.mtu)) {
		x.dst.Drop()
		c.rsp.reads.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteOperational}
		return true
	}
	// Peers poll memory that its owner and other peers change meanwhile.
	f.Volatile = true
	if res.often() {
		c.rsp.repeated++
	}
	res.sending(k)
	j.begun = true
	j.next = j.next.Add(1)
	switch {
	case ends && j.repeated && !res.exhausted():
		j.again, j.repeated = true, false
		j.startAt(j.repeatFrom, c.resumes(res, j.repeatFrom))
	case ends:
		c.rsp.reads.remove(0)
	}
	return true
}

// sendReadGone refuses the duplicate of a READ whose memory was taken away since. That is
// no fault of the peer's and leaves the queue pair as it is: the READ may long be complete,
// and the request a copy that took its time. A peer that does wait for it has its answer.
func (c *RC) sendReadGone(x *transmission, j *job) bool {
	p := c.packetOf(bth.RCAck, j.next)
	p.AETH = bth.AETH{Syndrome: bth.NakRemoteAccess, MSN: c.rsp.msn}
	if x.frame(p, 0) == nil {
		return false
	}
	c.count.ErrorNAKsSent++
	c.rsp.reads.remove(0)
	return true
}

// responseOps are the opcodes of READ responses.
var responseOps = opcodes{bth.RCReadResponseFirst, bth.RCReadResponseMiddle, bth.RCReadResponseLast, bth.RCReadResponseOnly}
