package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// flushSlots is how many FLUSHes can wait for their answers to be sent. Their number is not
// agreed between the ends; one too many is treated as lost.
const flushSlots = 16

// takeFlush executes a FLUSH (IBA A19). Requests are executed in order, so all that the
// peer wrote before is in memory.
func (c *RC) takeFlush(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	typ, level := qp.FlushType(p.FETH.Type), qp.FlushLevel(p.FETH.Level)
	need, h := typ.Access(), p.RETH
	if !typ.Valid() || level > qp.FlushRegion || c.qp.Attr.Access&need != need || uint64(h.DMALen) > maxMessage {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	if c.peer == peerRxe && h.VA == 0 {
		level = qp.FlushRegion // so it repeats every FLUSH; what it lost was an address in the region
	}
	if level == qp.FlushRegion {
		h.DMALen = 0 // address and length say nothing
	}
	region := c.reach(h, need)
	if region == nil {
		return c.refuse(bth.NakRemoteAccess, qp.WCSuccess)
	}
	reads := &c.rsp.reads
	res := reads.claim(&reads.flushes, flushSlots)
	if res == nil {
		c.count.OutOfSequence++
		c.missed()
		return OutOfSequence
	}
	var err error
	persist := typ&qp.FlushToPersistent != 0
	if level == qp.FlushRegion {
		err = region.FlushAll(persist)
	} else if h.DMALen > 0 {
		err = region.Flush(h.VA, uint64(h.DMALen), persist)
	}
	if err != nil {
		return c.refuse(bth.NakRemoteOperational, qp.WCSuccess)
	}
	c.answer(p, res, resource{op: info.Op, va: h.VA, rkey: h.RKey}, 1)
	return Accepted
}

// takeAtomicWrite executes an ATOMIC WRITE: 8 bytes at a multiple of 8, in one piece
// (IBA A19).
func (c *RC) takeAtomicWrite(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	h := p.RETH
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	if c.qp.Attr.Access&mr.RemoteWrite == 0 || limit == 0 || h.VA%atomicBytes != 0 ||
		h.DMALen != atomicBytes || len(p.Payload) != atomicBytes {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	region := c.reach(h, mr.RemoteWrite)
	if region == nil {
		return c.refuse(bth.NakRemoteAccess, qp.WCSuccess)
	}
	reads := &c.rsp.reads
	res := reads.claim(&reads.ring, limit)
	if res == nil {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	if region.WriteAtomic(h.VA, (*[atomicBytes]byte)(p.Payload)) != nil {
		return c.refuse(bth.NakRemoteOperational, qp.WCSuccess)
	}
	c.answer(p, res, resource{op: info.Op, va: h.VA, rkey: h.RKey}, 1)
	return Accepted
}
