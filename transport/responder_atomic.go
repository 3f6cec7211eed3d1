package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// atomicBytes is the width of an atomic operation; its address is a multiple of it
// (IBA 9.4.5).
const atomicBytes = 8

// takeAtomic executes a compare and swap or a fetch and add and remembers what it found:
// a duplicate gets the same answer and is not executed (IBA 9.7.5.1).
func (c *RC) takeAtomic(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	h := &p.AtomicETH
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	if c.qp.Attr.Access&mr.RemoteAtomic == 0 || limit == 0 || h.VA%atomicBytes != 0 {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	region := c.reach(bth.RETH{VA: h.VA, RKey: h.RKey, DMALen: atomicBytes}, mr.RemoteAtomic)
	if region == nil {
		return c.refuse(bth.NakRemoteAccess, qp.WCSuccess)
	}
	res := r.reads.claim(limit)
	if res == nil {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	var old uint64
	var err error
	if info.Op == bth.OpCmpSwap {
		old, err = region.CompareSwap(h.VA, h.Compare, h.SwapAdd)
	} else {
		old, err = region.FetchAdd(h.VA, h.SwapAdd)
	}
	if err != nil {
		return c.refuse(bth.NakRemoteOperational, qp.WCSuccess)
	}
	r.expected = r.expected.Add(1)
	r.nakSent = false
	r.msn = (r.msn + 1) & 0xffffff
	*res = resource{
		op: info.Op, first: p.PSN, end: r.expected, va: h.VA, rkey: h.RKey,
		value: old, msn: r.msn, valid: true,
	}
	r.reads.insert(job{res: res, next: p.PSN})
	return Accepted
}

// sendAtomicAck answers the atomic of the job at the head and reports whether there was
// room.
func (c *RC) sendAtomicAck(x *transmission, res *resource) bool {
	p := c.packetOf(bth.RCAtomicAck, res.first)
	p.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: res.msn}
	p.AtomicAck = res.value
	if x.frame(p, 0) == nil {
		return false
	}
	c.rsp.reads.remove(0)
	return true
}
