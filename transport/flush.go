package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file has both ends of FLUSH and ATOMIC WRITE, the operations of IBA annex A19. A FLUSH makes
// earlier WRITEs of the connection visible to the host or persistent; an ATOMIC WRITE stores 8
// bytes that a reader sees either all or not at all. Both have one PSN and an empty response.

// sendFlush sends a FLUSH and returns the number of PSNs used, 0 or 1. It has no payload
// (IBA oA19-2). As in Linux rxe, a FLUSH does not count against max_rd_atomic.
func (c *RC) sendFlush(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	if c.req.windowLeft(at.psn) == 0 || !c.req.shareAdmits(x.now, at, 1) {
		return 0
	}
	p := c.packetOf(bth.RCFlush, at.psn)
	p.AckReq = true
	p.FETH = bth.FETH{Type: uint8(w.Flush.Type), Level: uint8(w.Flush.Level)}
	p.RETH = bth.RETH{VA: w.RemoteAddr, RKey: w.RKey, DMALen: w.Flush.Length}
	f := x.frame(p, 0)
	if f == nil {
		return 0
	}
	f.Seal = c.flushSeal()
	c.req.sinceAck = 0
	return 1
}

// SealRxeFlushICRC in a frame's Seal requests the ICRC that Linux rxe expects of a FLUSH
// ([bth.ICRCRxeFlush]).
const SealRxeFlushICRC = 1

// flushSeal returns the Seal of a FLUSH. Linux rxe silently drops a FLUSH with the ICRC of the IBA,
// and RNICs drop a FLUSH with the ICRC of rxe. Packets of rxe are recognized by MigReq, which rxe
// never sets. Until a packet has arrived, the two ICRCs alternate from retry to retry.
func (c *RC) flushSeal() uint8 {
	r := &c.req
	if c.peer == peerRxe || c.peer == peerUnknown && (r.retryCnt-r.retries)%2 == 1 {
		return SealRxeFlushICRC
	}
	return 0
}

// sendAtomicWrite sends an ATOMIC WRITE and returns the number of PSNs used, 0 or 1. It is a WRITE
// ONLY with 8 bytes of payload that counts against max_rd_atomic.
func (c *RC) sendAtomicWrite(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	if !c.readSlot(at) {
		return 0
	}
	took := c.sendPacket(x, w, at)
	if took > 0 {
		c.req.takeReadSlot(at)
	}
	return took
}

// emptyResponse processes the response to the FLUSH or ATOMIC WRITE at the head of the queue: a
// READ response without data (IBA A19).
func (c *RC) emptyResponse(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	// The response must be an ONLY packet, as it is from Linux rxe too.
	if info.Pos != bth.Only {
		c.fail(qp.WCBadRespErr)
		return BadResponse
	}
	if len(p.Payload) > 0 {
		c.fail(qp.WCLocLenErr)
		return BadResponse
	}
	c.acknowledge(now, p.PSN.Add(1))
	return Accepted
}

// flushSlots is the maximum number of FLUSHes whose responses are pending. The ends do not
// negotiate it; a FLUSH above this number is treated as lost, so that the requester sends it again
// once a response has left.
const flushSlots = 16

// takeFlush executes a FLUSH (IBA A19). Requests are executed in order, so everything that the peer
// wrote before the FLUSH is in memory. The required right depends on the type of the FLUSH: making
// data persistent and making it visible are separate rights of the queue pair and of the region.
func (c *RC) takeFlush(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	typ, level := qp.FlushType(p.FETH.Type), qp.FlushLevel(p.FETH.Level)
	need, h := typ.Access(), p.RETH
	if !typ.Valid() || level > qp.FlushRegion || c.qp.Attr.Access&need != need || uint64(h.DMALen) > maxMessage {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	if c.peer == peerRxe && h.VA == 0 {
		// Linux rxe sends a FLUSH again with address 0, so its range is unknown. It is a part of
		// the region, so the whole region is flushed.
		level = qp.FlushRegion
	}
	if level == qp.FlushRegion {
		h.DMALen = 0 // address and length have no meaning
	}
	region := c.lookupRemote(h, need)
	if region == nil {
		return c.queueErrorNAK(bth.NakRemoteAccess, qp.WCSuccess)
	}
	// Without a resource, a FLUSH is requested again by a sequence NAK instead of refused: the
	// number was not negotiated, so the peer has broken no rule.
	reads := &c.rsp.resources
	res := reads.claim(&reads.flushes, flushSlots)
	if res == nil {
		c.count.OutOfSequence++
		c.requestMissing()
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
		return c.queueErrorNAK(bth.NakRemoteOperational, qp.WCSuccess)
	}
	c.queueResponse(p, res, resource{op: info.Op, va: h.VA, rkey: h.RKey}, 1)
	return Accepted
}

// takeAtomicWrite executes an ATOMIC WRITE: 8 bytes at a multiple of 8, written atomically
// (IBA A19.4.2). Another length or address is an invalid request; a key or range that is not valid
// is a remote access error (IBA oA19-28). A duplicate is answered and not executed again.
func (c *RC) takeAtomicWrite(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	h := p.RETH
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	if c.qp.Attr.Access&mr.RemoteWrite == 0 || limit == 0 || h.VA%atomicBytes != 0 ||
		h.DMALen != atomicBytes || len(p.Payload) != atomicBytes {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	region := c.lookupRemote(h, mr.RemoteWrite)
	if region == nil {
		return c.queueErrorNAK(bth.NakRemoteAccess, qp.WCSuccess)
	}
	reads := &c.rsp.resources
	res := reads.claim(&reads.ring, limit)
	if res == nil {
		return c.queueErrorNAK(bth.NakInvalidRequest, qp.WCSuccess)
	}
	if region.WriteAtomic(h.VA, (*[atomicBytes]byte)(p.Payload)) != nil {
		return c.queueErrorNAK(bth.NakRemoteOperational, qp.WCSuccess)
	}
	c.queueResponse(p, res, resource{op: info.Op, va: h.VA, rkey: h.RKey}, 1)
	return Accepted
}
