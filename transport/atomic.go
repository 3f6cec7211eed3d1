package transport

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file has both ends of compare and swap and of fetch and add (IBA 9.4.5). An atomic has one
// PSN: its request has no payload, its response the value before the operation.

// sendAtomic sends a compare and swap or a fetch and add and returns the number of PSNs used, 0 or
// 1. It sets AckReq, although its response is not an ACK, as Linux rxe does.
func (c *RC) sendAtomic(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	r := &c.req
	if !c.readSlot(at) || r.windowLeft(at.psn) == 0 || !r.shareAdmits(x.now, at, 1) {
		return 0
	}
	h := bth.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey}
	op := bth.RCFetchAdd
	if w.Opcode == qp.WRCmpSwap {
		op = bth.RCCmpSwap
		// The AtomicETH has one field for the swap and the add operand, and one to compare with
		// (IBA 9.3.4).
		h.SwapAdd, h.Compare = w.Swap, w.CompareAdd
	} else {
		h.SwapAdd = w.CompareAdd
	}
	p := c.packetOf(op, at.psn)
	p.AckReq = true
	p.AtomicETH = h
	if x.frame(p, 0) == nil {
		return 0
	}
	r.takeReadSlot(at)
	r.sinceAck = 0
	return 1
}

// atomicAck processes the response to an atomic: it stores the original value in the byte order
// of the host, as verbs defines it. A response that skips a READ or an atomic without its data is
// an implied NAK of that request (IBA 9.7.5.1.2).
func (c *RC) atomicAck(now Time, p *bth.Packet) Verdict {
	r := &c.req
	if !c.acknowledge(now, p.PSN) {
		return c.impliedNAK(now)
	}
	w := c.qp.SQ.At(c.qp.SQ.Head())
	// A response of the wrong kind for this PSN is ignored; the request at this PSN is sent again
	// after the local ACK timeout.
	if !isAtomic(w) {
		return BadResponse
	}
	binary.NativeEndian.PutUint64(c.atomicBuf[:], p.AtomicAck)
	// READ data that is held back was received before this value, and must be stored before it.
	if c.storeBatch.Settle(); c.state == qp.ERR {
		return LocalError
	}
	if f := scatter(w.SG, 0, c.atomicBuf[:]); f != mr.OK {
		c.fail(qp.WCLocProtErr)
		return LocalError
	}
	// Going back sets reads to 0, and a response that was on its way then finds no slot to free.
	if r.reads > 0 {
		r.reads--
	}
	r.una = r.una.Add(1)
	c.finishHead()
	c.progressed(now, 1)
	return Accepted
}

// atomicBytes is the operand size of an atomic in bytes; its address must be a multiple of it (IBA
// 9.4.5). That applies to the address in the request, not to the location in the memory of this
// process.
const atomicBytes = 8

// takeAtomic executes a compare and swap or a fetch and add. Its resource keeps the original value:
// a duplicate gets the same response and is not executed again (IBA 9.7.5.1). The operation is
// atomic with respect to the other atomics of the device (IBV_ATOMIC_HCA), which the region
// ensures.
func (c *RC) takeAtomic(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.rsp
	h := &p.AtomicETH
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	// An operand that is not aligned is an invalid request (IBA 9.4.5), as is an atomic that the
	// queue pair does not permit.
	if c.qp.Attr.Access&mr.RemoteAtomic == 0 || limit == 0 || h.VA%atomicBytes != 0 {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	region := c.lookupRemote(bth.RETH{VA: h.VA, RKey: h.RKey, DMALen: atomicBytes}, mr.RemoteAtomic)
	if region == nil {
		return c.queueErrorNAK(bth.NakRemoteAccess, qp.WCSuccess)
	}
	res := r.resources.claim(&r.resources.ring, limit)
	if res == nil {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	var old uint64
	var err error
	if info.Op == bth.OpCmpSwap {
		old, err = region.CompareSwap(h.VA, h.Compare, h.SwapAdd)
	} else {
		old, err = region.FetchAdd(h.VA, h.SwapAdd)
	}
	if err != nil {
		return c.queueErrorNAK(bth.NakRemoteOperational, qp.WCSuccess)
	}
	c.queueResponse(p, res, resource{op: info.Op, va: h.VA, rkey: h.RKey, value: old}, 1)
	return Accepted
}

// queueResponse advances the responder past a request whose response uses n PSNs. It stores v, the
// content of the resource, in res and queues the response. The MSN is incremented when the request
// is executed, before the response is sent (IBA C9-148), and every AETH of the response has this
// MSN.
func (c *RC) queueResponse(p *bth.Packet, res *resource, v resource, n uint32) {
	r := &c.rsp
	// A READ occupies the PSNs of all its responses (IBA 9.4.4).
	r.expected = r.expected.Add(n)
	r.nak = nakNone
	r.msn = (r.msn + 1) & 0xffffff
	v.first, v.end, v.msn, v.valid = p.PSN, r.expected, r.msn, true
	*res = v
	r.resources.insert(job{res: res, from: p.PSN, next: p.PSN})
}

// sendAtomicAck sends the response of the first job, an atomic, and reports whether there was
// room.
func (c *RC) sendAtomicAck(x *transmission, res *resource) bool {
	p := c.packetOf(bth.RCAtomicAck, res.first)
	p.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: res.msn}
	p.AtomicAck = res.value
	if x.frame(p, 0) == nil {
		return false
	}
	c.rsp.resources.remove(0)
	return true
}
