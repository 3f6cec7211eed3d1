package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file sends requests. Repairs come first, then queued requests in the order of the send queue
// (IBA 9.5). A request that may not be sent yet stops those behind it.

// opcodes are the opcodes of one kind of message by the position of the packet. Immediate data and
// a key to invalidate are in the last packet only (IBA 9.2.1).
type opcodes struct{ first, middle, last, only bth.Opcode }

// requestOps has the opcodes of each kind of work request that sendPacket sends.
var requestOps = [256]*opcodes{
	qp.WRSend:     {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast, bth.RCSendOnly},
	qp.WRSendImm:  {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLastImm, bth.RCSendOnlyImm},
	qp.WRSendInv:  {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLastInv, bth.RCSendOnlyInv},
	qp.WRWrite:    {bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteOnly},
	qp.WRWriteImm: {bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLastImm, bth.RCWriteOnlyImm},

	qp.WRAtomicWrite: {only: bth.RCAtomicWrite},
}

// pick returns the opcode of a packet that begins the message, ends it, does both or neither.
func (o *opcodes) pick(begins, ends bool) bth.Opcode {
	switch {
	case begins && ends:
		return o.only
	case begins:
		return o.first
	case ends:
		return o.last
	}
	return o.middle
}

// send sends requests as far as the congestion control, the share, max_rd_atomic, fences and the
// room in the batch allow.
func (c *RC) send(x *transmission) {
	r := &c.req
	r.blocked, r.sentNew = false, false
	if r.notBefore = 0; !r.hasWork(c) {
		return
	}
	// NextTimeout returns the end of the pause.
	if at := r.cc.NotBefore(); x.now < at {
		r.notBefore = at
		return
	}
	before, out := c.count.SentPackets, r.outstanding()
	c.sendQueued(x)
	r.noteBlocked(x.now, out)
	if n := c.count.SentPackets - before; n > 0 && r.started {
		r.cc.OnSend(x.now, uint32(n))
	}
}

// sendQueued sends repairs and then queued requests. The caller has checked that the requester may
// send. If the queue pair fails, sendQueued returns at once.
func (c *RC) sendQueued(x *transmission) {
	r := &c.req
	sq := c.qp.SQ
	if !c.sendRepair(x) {
		return
	}
	for r.cur != sq.Tail() {
		w := sq.At(r.cur)
		if !w.Started {
			if c.held(w) {
				return
			}
			// A local request may invalidate a region from which the batch borrows payload.
			if w.Opcode.IsLocal() {
				if x.dst.Len() > 0 {
					x.full = true
					return
				}
				if !c.local(w) {
					return
				}
				continue
			}
			if status := c.startWQE(w, r.next); status != qp.WCSuccess {
				c.failAt(r.cur, status)
				return
			}
		}
		// After going back, send may lie in the middle of a message: sending continues with that
		// packet.
		at := cursor{psn: r.send, index: r.cur, packet: distance(w.FirstPSN, r.send)}
		if at.packet >= w.Packets { // all of w is sent
			r.cur++
			continue
		}
		// The chunks are chosen at the first transmission. Retransmissions must have the same.
		if at.packet == 0 && r.send == r.next {
			w.Chunk = c.chunkOf(w, x.dst.LinkHasGSO)
		}
		took := c.emit(x, w, at)
		if took == 0 {
			return
		}
		c.sent(x.now, took)
	}
}

// held reports whether w must not start yet: the queue pair is in SQD (IBA 10.3.1.5), or w has a
// fence and waits until all earlier READs and atomics are complete (IBA 10.8.3.3).
func (c *RC) held(w *qp.SendWQE) bool {
	return c.state == qp.SQD || w.Flags&qp.Fence != 0 && c.req.reads > 0
}

// emit appends the packet of w at a position to the batch and returns the number of PSNs used, 0 if
// the packet cannot be sent. It changes neither c.req.send nor c.req.repair.
func (c *RC) emit(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	switch {
	case w.Opcode == qp.WRRead:
		return c.sendRead(x, w, at)
	case isAtomic(w):
		return c.sendAtomic(x, w, at)
	case w.Opcode == qp.WRAtomicWrite:
		return c.sendAtomicWrite(x, w, at)
	case w.Opcode == qp.WRFlush:
		return c.sendFlush(x, w, at)
	}
	return c.sendPacket(x, w, at)
}

// readSlot reports whether a READ or atomic may be sent: fewer than max_rd_atomic are outstanding,
// or it is a repair, so it is one of those outstanding. The responder has resources for
// max_rd_atomic of them and may refuse a further one with NAK invalid request (IBA 9.4.4, 9.4.5).
func (c *RC) readSlot(at cursor) bool { return at.repair || c.req.reads < int(c.qp.Attr.MaxRdAtomic) }

// takeReadSlot counts a READ or atomic that is sent, unless it is a repair.
func (r *requester) takeReadSlot(at cursor) {
	if !at.repair {
		r.reads++
	}
}

// sent advances the requester past n PSNs that were just appended to a batch.
func (c *RC) sent(now Time, n uint32) {
	r := &c.req
	// Only a packet that is sent for the first time gives an RTT sample: the answer to a packet
	// sent twice does not tell which copy it answers (Karn's algorithm; RFC 6298, section 3).
	if r.send != r.next {
		c.count.Retransmitted++
	} else if r.sinceAck == 0 {
		r.startSample(now, r.send)
	}
	r.send = r.send.Add(n)
	r.sentNew = true
	// The congestion control grows a window only if it was full at some time.
	r.limited = r.limited || r.outstanding() >= r.window
	if r.send.Diff(r.next) > 0 {
		r.next = r.send
	}
	if !r.armed {
		c.arm(now)
	}
}

// startWQE assigns PSNs to w, from psn on, and looks up its regions. It returns success, or the
// status with which w fails. Local faults are found here, before any packet of the message is sent:
// LOC_QP_OP_ERR for a request that the queue pair does not permit, LOC_PROT_ERR for a local key,
// range or right.
func (c *core) startWQE(w *qp.SendWQE, psn bth.PSN) qp.WCStatus {
	if w.FailStatus != qp.WCSuccess {
		return w.FailStatus
	}
	// With max_rd_atomic 0, w could never be sent.
	if usesReadSlot(w) && c.qp.Attr.MaxRdAtomic == 0 {
		return qp.WCLocQPOpErr
	}
	fault := mr.OK
	switch {
	// The response data is stored in the segments.
	case waitsForData(w):
		fault = resolve(&c.keys, c.qp.PD, w.SG, mr.LocalWrite)
	case w.Opcode == qp.WRFlush:
	case requestOps[w.Opcode] == nil:
		return qp.WCLocQPOpErr
	case w.Flags&qp.Inline == 0:
		fault = resolve(&c.keys, c.qp.PD, w.SG, 0)
	}
	if fault != mr.OK {
		return qp.WCLocProtErr
	}
	w.FirstPSN = psn
	w.Packets = packets(w.Length, c.mtu)
	w.Started = true
	return qp.WCSuccess
}

// failAt fails work request i if it is the oldest. Otherwise it does nothing, and the request is
// tried again later: completions keep the order of the queue.
func (c *RC) failAt(i uint32, status qp.WCStatus) {
	if i == c.qp.SQ.Head() {
		c.fail(status)
	}
}

// sendPacket sends a packet of a SEND, WRITE or ATOMIC WRITE and returns the number of PSNs used, 0
// or 1. FIRST and MIDDLE carry exactly the path MTU, LAST and ONLY the rest (IBA C9-92).
func (c *RC) sendPacket(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	r := &c.req
	room := r.sendWindowLeft(at.psn)
	if room == 0 || !r.shareAdmits(x.now, at, 1) {
		return 0
	}
	// Repairs are exempt from the share.
	if !at.repair {
		room = min(room, r.shareLeft(x.now))
	}
	// All packets before this one carry a full path MTU (IBA C9-92), so the offset follows from the
	// PSN.
	off := uint64(at.packet) * uint64(c.mtu)
	n := min(w.Length-off, uint64(c.mtu))
	last := at.packet == w.Packets-1
	begins, ends := at.packet%w.Chunk == 0, last || (at.packet+1)%w.Chunk == 0
	p := c.packetOf(requestOps[w.Opcode].pick(begins, ends), at.psn)
	// The last packet of a message needs an ACK so that the work request completes. A packet that
	// uses up the window or the share needs an ACK so that more can be sent.
	p.AckReq = last || at.repair || room == 1 || r.sinceAck+1 >= c.cfg.AckEvery || x.framesLeft == 1 && r.shareIsUsed()
	c.requestHeaders(p, w, last)
	if w.Chunk < w.Packets {
		p.RETH = c.chunkRETH(w, at.packet, w.Chunk)
	}
	f := x.frame(p, n)
	if f == nil {
		return 0
	}
	// A new packet may read ahead for those that follow it. A repair is sent alone.
	ahead := n
	if x.source = (readSource{}); !at.repair {
		x.source = readSource{sends: c.qp.SQ, index: at.index}
		ahead = min(x.bytesAhead(w.Length-off, c.mtu), uint64(room)*uint64(c.mtu))
	}
	if !x.payload(f, w, off, n, ahead) {
		// The region was deregistered, or cannot be read: the frame must not be sent.
		x.dst.Drop()
		c.failAt(at.index, qp.WCLocProtErr)
		return 0
	}
	// If the program changes the payload while the packet is sent, the ICRC may be wrong and the
	// packet lost. The retransmission must not be lost in the same way.
	f.Volatile = at.psn != r.next
	if p.AckReq {
		r.sinceAck = 0
	} else {
		r.sinceAck++
	}
	return 1
}

// requestHeaders fills in the extension headers and the SE bit of a packet of a SEND or WRITE. The
// RETH, in FIRST or ONLY of a WRITE, has the length of the whole message (IBA 9.3.3).
func (c *core) requestHeaders(p *bth.Packet, w *qp.SendWQE, last bool) {
	headers := p.Opcode.Info().Headers
	if headers&bth.HasRETH != 0 {
		p.RETH = bth.RETH{VA: w.RemoteAddr, RKey: w.RKey, DMALen: uint32(w.Length)}
	}
	if headers&bth.HasImmDt != 0 {
		p.Imm = w.Imm
	}
	if headers&bth.HasIETH != 0 {
		p.InvalidateRKey = w.Imm
	}
	// SE has a meaning only in the last packet of a message that consumes a receive (IBA 9.2.3).
	p.Solicited = last && w.Flags&qp.Solicited != 0 && w.Opcode != qp.WRWrite && w.Opcode != qp.WRAtomicWrite
}

// sendRead sends the READ request for a chunk, or for the rest of it from the position on. It
// returns the number of PSNs that the responses use, 0 if the request cannot be sent.
//
// A repeated READ request may ask for the missing end only. Its PSN, address and length must then
// name exactly a part of the first request, so that late responses to either have equal PSNs and
// data (IBA 9.4.4).
func (c *RC) sendRead(x *transmission, w *qp.SendWQE, at cursor) uint32 {
	r := &c.req
	n := min(w.Chunk-at.packet%w.Chunk, w.Packets-at.packet)
	if !c.readSlot(at) || !r.readFits(at.psn, n) || !r.shareAdmits(x.now, at, n) {
		return 0
	}
	p := c.packetOf(bth.RCReadRequest, at.psn)
	// A READ is answered in any case; AckReq is set as Linux rxe does.
	p.AckReq = true
	p.RETH = c.chunkRETH(w, at.packet, n)
	if x.frame(p, 0) == nil {
		return 0
	}
	// The response to the rest of a chunk may begin with FIRST (see beginsRight).
	if at.packet%w.Chunk != 0 {
		r.resumed = at.psn
	}
	r.takeReadSlot(at)
	r.sinceAck = 0
	return n
}
