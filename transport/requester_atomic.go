package transport

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// sendAtomic emits a compare and swap or a fetch and add and returns the PSNs taken,
// 0 or 1.
func (c *RC) sendAtomic(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	r := &c.req
	if !c.readSlot(at) || r.room(at.psn) == 0 {
		return 0
	}
	h := bth.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey}
	op := bth.RCFetchAdd
	if w.Opcode == qp.WRCmpSwap {
		op = bth.RCCmpSwap
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

// atomicAck stores the original value that an atomic returns, in the byte order of the
// host, as verbs gives it.
func (c *RC) atomicAck(now Time, p *bth.Packet) Verdict {
	r := &c.req
	if !c.acknowledge(now, p.PSN) {
		return c.impliedNAK(now)
	}
	w := c.qp.SQ.At(c.qp.SQ.Head())
	if !isAtomic(w) {
		return BadResponse
	}
	binary.NativeEndian.PutUint64(c.word[:], p.AtomicAck)
	if f := scatter(w.SG, 0, c.word[:]); f != mr.OK {
		c.fail(qp.WCLocProtErr)
		return LocalError
	}
	if r.reads > 0 {
		r.reads--
	}
	r.una = r.una.Add(1)
	c.finishHead()
	c.progressed(now, 1)
	return Accepted
}
