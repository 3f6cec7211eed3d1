package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// An unreliable connection uses the opcodes SEND and WRITE and the PSNs of a reliable one. Its
// requester expects no response, and its responder sends none: a packet with an invalid field,
// order, key or length is dropped silently (IBA C9-165 to C9-168).

// UC is one end of an unreliable connection (IBA 9.8.2): SENDs and WRITEs without
// acknowledgements. A message with a lost packet is dropped as a whole; its receive serves the
// next message.
type UC struct {
	unreliable

	expected bth.PSN // PSN of the next packet
	inbound
}

// NewUC returns the machine of q; see [NewRC].
func NewUC(q *qp.QP, keys *mr.Table) *UC { return &UC{unreliable: newUnreliable(q, keys)} }

// Modified applies the current state and attributes of the queue pair. RTR sets the PSN that the
// responder expects, RTS the PSN of the first packet sent.
func (c *UC) Modified(Time) {
	was := c.takeState()
	c.mtu = uint32(c.qp.Attr.PathMTU)
	switch {
	case c.state == qp.RESET:
		c.reset()
		c.restart()
		c.inside = false
	case c.state == qp.RTR && was != qp.RTR:
		c.expected, c.inside = c.qp.Attr.RQPSN, false
	// RTS after SQD or SQE continues with the next PSN.
	case c.state == qp.RTS && was == qp.RTR:
		c.next = c.qp.Attr.SQPSN
		c.restart()
	case c.state == qp.ERR && was != qp.ERR:
		c.flush()
	}
	c.drained()
}

// Transmit is like [RC.Transmit]. The work requests in dst complete in [UC.Sent], which must be
// called after dst was sent: only then may the program reuse its buffers.
func (c *UC) Transmit(now Time, path *packet.Path, dst *packet.Batch, limit int) (more bool) {
	x := transmission{core: &c.core, now: now, path: path, dst: dst, framesLeft: limit}
	sq := c.qp.SQ
	for c.maySend() && c.cur != sq.Tail() {
		w := sq.At(c.cur)
		if !w.Started {
			if c.state == qp.SQD {
				break
			}
			if w.Opcode.IsLocal() {
				if !c.local(w) {
					break
				}
				continue
			}
			if status := c.start(w); status != qp.WCSuccess {
				c.failAt(status)
				break
			}
		}
		if !c.sendPacket(&x, w) {
			break
		}
	}
	return x.full
}

// start is startWQE for UC, which supports fewer opcodes. It returns success, or the status with
// which w fails.
func (c *UC) start(w *qp.SendWQE) qp.WCStatus {
	if !w.Opcode.Allowed(qp.UC) {
		return qp.WCLocQPOpErr
	}
	return c.startWQE(w, c.next)
}

// local executes the local work request at cur, which sends nothing, and reports whether the next
// request may begin.
func (c *UC) local(w *qp.SendWQE) bool {
	// The local invalidate fence (IBA 10.6.5.1): earlier requests may still read memory through the
	// key until they are sent.
	if w.Opcode == qp.WRLocalInv && c.cur != c.qp.SQ.Head() {
		return false
	}
	if status := c.execute(w); status != qp.WCSuccess {
		c.failAt(status)
		return false
	}
	w.Started = true
	c.cur++
	c.sent = c.cur
	return true
}

// sendPacket sends the next packet of w. It returns false if the batch has no room, or if the
// payload cannot be read, which fails w.
func (c *UC) sendPacket(x *transmission, w *qp.SendWQE) bool {
	i := distance(w.FirstPSN, c.next)
	off := uint64(i) * uint64(c.mtu)
	n := min(w.Length-off, uint64(c.mtu))
	last := i == w.Packets-1
	// AckReq stays clear in all packets: nothing may answer them (IBA 9.8).
	p := c.packetOf(ucOpcode(requestOps[w.Opcode].pick(i == 0, last)), c.next)
	c.requestHeaders(p, w, last)
	f := x.frame(p, n)
	if f == nil {
		return false
	}
	x.source = readSource{sends: c.qp.SQ, index: c.cur}
	if !x.payload(f, w, off, n, x.bytesAhead(w.Length-off, c.mtu)) {
		x.dst.Drop()
		c.failAt(qp.WCLocProtErr)
		return false
	}
	// If the payload changed while the packet is sent, its ICRC would be wrong, and UC never sends
	// it again.
	f.Volatile = true
	c.next = c.next.Add(1)
	if last {
		c.cur++
		c.sent = c.cur
	}
	return true
}

// ucOpcode returns the opcode of UC that corresponds to one of RC: the upper three bits select the
// service, the lower five the operation (IBA 9.2.1).
func ucOpcode(rc bth.Opcode) bth.Opcode { return rc | bth.UCSendFirst }

// Receive takes one packet for this queue pair; see [RC.Receive]. SQE stops only the send queue
// (IBA 10.3.1.6).
func (c *UC) Receive(_ Time, p *bth.Packet) Verdict {
	c.count.ReceivedPackets++
	info := p.Opcode.Info()
	// An opcode of another service, or a reserved one, is an invalid field (IBA C9-165).
	if !info.Valid || info.Service != bth.ServiceUC {
		return WrongService
	}
	switch c.state {
	case qp.RTR, qp.RTS, qp.SQD, qp.SQE:
	default:
		return WrongState
	}
	c.raiseCommEst()
	// Whatever the PSN, the next one becomes the expected one: a lost packet is never sent again,
	// so a responder must not wait for it (IBA 9.8.2.2.1).
	gap := p.PSN != c.expected
	c.expected = p.PSN.Add(1)
	if gap {
		// The message in progress misses a packet (IBA 9.8.2.2.1, C9-166). Packets are accepted
		// again from the start of a message on. A duplicate cannot be told from a gap.
		c.count.OutOfSequence++
		c.inside = false
	}
	if gap || info.Starts() {
		// The message in progress is dropped, and with it what is held back of it.
		c.storeBatch.drop(&c.core)
	}
	if info.Starts() {
		c.startMessage(info.Op)
		if v := c.begin(p, info); v != Accepted {
			c.inside = false
			return v
		}
	} else if !c.continues(info.Op) {
		// The opcode does not continue the message (IBA C9-167).
		c.inside = false
		return OutOfSequence
	}
	if v := c.store(p, info); v != Accepted {
		c.inside = false
		return v
	}
	c.inside = !info.Ends()
	return Accepted
}

// begin prepares for a message: a receive for a SEND, a region for a WRITE.
func (c *UC) begin(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	if info.Op == bth.OpSend {
		return c.takeCheckedReceive()
	}
	return c.verdictOf(c.beginWrite(&c.inbound, p.RETH))
}

// verdictOf returns the verdict on a packet that an RC would answer with this NAK; Accepted for
// noNAK.
func (c *UC) verdictOf(nak bth.Syndrome) Verdict {
	if nak == noNAK {
		return Accepted
	}
	return fatal(nak).verdict
}

// takeCheckedReceive takes a receive, unless c has one from a dropped message, and checks its
// memory. A receive with invalid memory completes with LOC_PROT_ERR and puts the queue pair into
// ERR. Without a receive, the message is dropped: UC has no RNR NAK.
func (c *UC) takeCheckedReceive() Verdict {
	// The receive of a dropped message serves this one.
	if c.hasRecv {
		return Accepted
	}
	if !c.takeReceive() {
		return NoReceive
	}
	if resolve(&c.keys, c.qp.Recv.PD(), c.recv.SG, mr.LocalWrite) != mr.OK {
		c.completeReceive(qp.WC{Status: qp.WCLocProtErr})
		c.enterError()
		return LocalError
	}
	return Accepted
}

// store stores the payload of a packet of the message in progress. A WRITE may have stored its
// first packets when a later one is dropped; a program can rely only on the completion of a WRITE
// with immediate data.
func (c *UC) store(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	// FIRST and MIDDLE have exactly the path MTU (IBA 9.8.2.1). A message that fails here or below
	// is dropped as a whole, and its receive serves the next one.
	if !payloadFits(info.Pos, len(p.Payload), c.mtu) {
		return InvalidRequest
	}
	if info.Op == bth.OpSend {
		if c.storeBatch.scatter(c, p.PSN, c.recv.SG, c.receivedBytes, p.Payload, info.Ends()) != mr.OK {
			return InvalidRequest
		}
		c.receivedBytes += uint64(len(p.Payload))
		if info.Ends() {
			c.completeWithSuccess(p, info, qp.WCRecv, c.receivedBytes)
		}
		return Accepted
	}
	// Too much or too little data for the DMA length of the RETH.
	if !c.writeFits(len(p.Payload), info.Ends()) {
		return InvalidRequest
	}
	imm := info.Headers&bth.HasImmDt != 0
	// The receive is taken at the last packet, because only that one has the immediate data. A
	// WRITE that fails consumes none (IBA C10-87).
	if imm {
		if v := c.takeCheckedReceive(); v != Accepted {
			return v
		}
	}
	if v := c.verdictOf(c.write(c.storeBatch, c, p, info.Ends())); v != Accepted {
		return v
	}
	if imm {
		c.completeWithSuccess(p, info, qp.WCRecvWriteImm, c.length)
	}
	return Accepted
}
