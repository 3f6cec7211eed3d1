package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

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
	if n > 0 && !x.attach(f, res.region, res.va+off, n, x.ahead(res.length-off, c.mtu)) {
		x.dst.Drop()
		c.rsp.reads.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteOperational}
		return true
	}
	// Peers poll memory that its owner and other peers change meanwhile.
	f.Volatile = true
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
