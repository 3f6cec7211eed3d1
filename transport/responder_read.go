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
	res := r.reads.claim(limit)
	if res == nil {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	n := packets(uint64(p.RETH.DMALen), c.mtu)
	r.expected = r.expected.Add(n)
	r.nakSent = false
	r.msn = (r.msn + 1) & 0xffffff
	*res = resource{
		op: bth.OpReadRequest, first: p.PSN, end: r.expected, va: p.RETH.VA, length: uint64(p.RETH.DMALen),
		rkey: p.RETH.RKey, region: region, msn: r.msn, valid: true,
	}
	r.reads.insert(job{res: res, next: p.PSN})
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
	case bth.OpReadRequest, bth.OpCmpSwap, bth.OpFetchAdd:
		return c.replay(p, info)
	}
	return UnknownDuplicate
}

// replay answers a READ again, from where the peer asks for it, or an atomic, which is
// not executed again.
func (c *RC) replay(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	rs := &c.rsp.reads
	for i := range rs.ring {
		res := &rs.ring[i]
		k := distance(res.first, p.PSN)
		if !res.valid || k >= distance(res.first, res.end) {
			continue
		}
		off := uint64(k) * uint64(c.mtu)
		if res.op != info.Op || !res.asked(p, off) {
			return UnknownDuplicate
		}
		c.count.ReadsReplayed++
		// RNICs begin the answer to a repeated READ with FIRST wherever it starts.
		// Linux rxe, which never sets MigReq, takes that for an error when the READ
		// began earlier.
		resume := k > 0 && !p.MigReq
		at := rs.find(res)
		if at < 0 {
			rs.insert(job{res: res, next: p.PSN, resume: resume, again: true})
		} else if j := &rs.jobs[at]; p.PSN.Before(j.next) {
			j.next, j.begun, j.resume = p.PSN, false, resume
		}
		return Duplicate
	}
	return UnknownDuplicate
}

// sendResponse emits the next packet of j and reports whether there was room.
func (c *RC) sendResponse(x *transmission, j *job) bool {
	res := j.res
	if res.op != bth.OpReadRequest {
		return c.sendAtomicAck(x, res)
	}
	if res.length > 0 && !res.region.Valid() {
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
	if n > 0 && !attach(f, res.region, res.va+off, n) {
		x.dst.Drop()
		c.rsp.reads.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteOperational}
		return true
	}
	j.begun = true
	j.next = j.next.Add(1)
	if ends {
		c.rsp.reads.remove(0)
	}
	return true
}

// responseOps are the opcodes of READ responses.
var responseOps = opcodes{bth.RCReadResponseFirst, bth.RCReadResponseMiddle, bth.RCReadResponseLast, bth.RCReadResponseOnly}
