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
	res := r.reads.claim(&r.reads.ring, limit)
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
	c.answer(p, res, resource{op: info.Op, va: h.VA, rkey: h.RKey, value: old}, 1)
	return Accepted
}

// answer moves past a request that has a response of n packets, remembers in res what v
// says of it, and owes the peer the response.
func (c *RC) answer(p *bth.Packet, res *resource, v resource, n uint32) {
	r := &c.rsp
	r.expected = r.expected.Add(n)
	r.nak = nakNone
	r.msn = (r.msn + 1) & 0xffffff
	v.first, v.end, v.msn, v.valid = p.PSN, r.expected, r.msn, true
	*res = v
	r.reads.insert(job{res: res, from: p.PSN, next: p.PSN})
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
