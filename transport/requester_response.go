package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// response takes a packet that answers a request of ours.
func (c *RC) response(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.req
	if !r.started {
		return GhostResponse
	}
	s := p.AETH.Syndrome
	if !r.inFlight(p.PSN) {
		if p.PSN.Diff(r.una) < 0 {
			return Duplicate
		}
		return GhostResponse
	}
	if info.Op == bth.OpReadResponse {
		return c.readResponse(now, p, info)
	}
	if info.Op == bth.OpAtomicAck {
		return c.atomicAck(now, p)
	}
	switch {
	case s.IsAck():
		return c.ack(now, p.PSN)
	case s.IsRNR():
		return c.rnrNAK(now, p.PSN, s.RNRTimer())
	case s == bth.NakPSNSequence:
		return c.sequenceNAK(now, p.PSN)
	case s.IsNak():
		return c.errorNAK(now, p.PSN, s)
	}
	return ReservedSyndrome
}

// acknowledge moves una up to end, completing what lies before it. It stops at a
// request whose response data has not arrived, and reports whether it got to end.
func (c *RC) acknowledge(now Time, end bth.PSN) bool {
	r := &c.req
	was := r.una
	for r.una != end {
		w := c.qp.SQ.At(c.qp.SQ.Head())
		if waitsForData(w) {
			break
		}
		stop := w.FirstPSN.Add(w.Packets)
		if distance(r.una, end) < distance(r.una, stop) {
			r.una = end
			break
		}
		r.una = stop
		if usesReadSlot(w) && r.reads > 0 {
			r.reads--
		}
		c.finishHead()
	}
	if r.una != was {
		c.progressed(now, distance(was, r.una))
	}
	return r.una == end
}

// ack handles a positive acknowledgement up to and including psn. One that passes a
// READ without its data is an implied NAK of that READ (IBA 9.7.5.1.2).
func (c *RC) ack(now Time, psn bth.PSN) Verdict {
	if !c.acknowledge(now, psn.Add(1)) {
		return c.impliedNAK(now)
	}
	if c.req.inVain() {
		c.goBack()
	}
	return Accepted
}

// impliedNAK goes back to the oldest READ whose data is missing, once until
// something moves.
func (c *RC) impliedNAK(now Time) Verdict {
	if c.req.wentBack {
		return OutOfSequence
	}
	c.count.ImpliedNAKs++
	if c.spendRetryOnNAK() {
		c.req.naked(now, LossSequence)
		c.goBack()
		c.req.wentBack = true
	}
	return OutOfSequence
}

// sequenceNAK handles NAK PSN sequence error: the peer has all before psn and
// expects psn (IBA 9.7.5.2).
func (c *RC) sequenceNAK(now Time, psn bth.PSN) Verdict {
	r := &c.req
	c.count.SequenceNAKsTaken++
	c.acknowledge(now, psn)
	vain := r.inVain()
	if r.waiting || r.wentBack || r.send == r.una {
		return SequenceNAK
	}
	if c.spendRetryOnNAK() {
		c.req.naked(now, LossSequence)
		c.obey(vain)
		r.wentBack = true
	}
	return SequenceNAK
}

// rnrNAK handles a receiver that was not ready for psn: wait, then send again. The
// wait is over when the timer says so and not before (IBA 9.7.5.2.8).
func (c *RC) rnrNAK(now Time, psn bth.PSN, code uint8) Verdict {
	r := &c.req
	c.count.RNRNAKsTaken++
	if !c.acknowledge(now, psn) {
		return c.impliedNAK(now)
	}
	if r.waiting || r.send == r.una {
		return RNRWait
	}
	if r.rnrRetry != infiniteRNR {
		if r.rnrTries == 0 {
			c.count.RNRRetryExceeded++
			c.fail(qp.WCRNRRetryExcErr)
			return RNRWait
		}
		r.rnrTries--
	}
	r.naked(now, LossNotReady)
	c.goBack()
	r.waiting = true
	r.rnrUntil = now + Time(bth.RNRDelay(code))
	return RNRWait
}

// errorNAK fails the request at psn. Those before it were executed; a READ among
// them whose data was lost cannot be asked for again, so it takes the error.
func (c *RC) errorNAK(now Time, psn bth.PSN, s bth.Syndrome) Verdict {
	c.count.ErrorNAKsTaken++
	c.acknowledge(now, psn)
	c.fail(fatal(s).status)
	return RemoteError
}

// readResponse stores one packet of a READ's data. Responses count only in strict
// PSN order; one that is ahead tells that others were lost (IBA 9.7.5.1.2).
func (c *RC) readResponse(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.req
	if !c.acknowledge(now, p.PSN) {
		return c.impliedNAK(now)
	}
	w := c.qp.SQ.At(c.qp.SQ.Head())
	if w.Opcode == qp.WRFlush || w.Opcode == qp.WRAtomicWrite {
		return c.emptyResponse(now, p, info)
	}
	if w.Opcode != qp.WRRead {
		return BadResponse
	}
	i := distance(w.FirstPSN, p.PSN)
	off := uint64(i) * uint64(c.mtu)
	last := i == w.Packets-1 || (i+1)%w.Chunk == 0
	// The responder may begin a repeated READ with FIRST or, as Linux rxe does, go
	// on with MIDDLE: only whether it ends here has to be right.
	ends := info.Pos == bth.Last || info.Pos == bth.Only
	if ends != last {
		c.fail(qp.WCBadRespErr)
		return BadResponse
	}
	if uint64(len(p.Payload)) != min(w.Length-off, uint64(c.mtu)) {
		c.fail(qp.WCLocLenErr)
		return BadResponse
	}
	if f := c.gather.scatter((*requestingRC)(c), p.PSN, w.SG, off, p.Payload, i == w.Packets-1); f != mr.OK {
		if c.state != qp.ERR { // or else what came before could not be stored
			c.fail(qp.WCLocProtErr)
		}
		return LocalError
	}
	if last && r.reads > 0 {
		r.reads--
	}
	r.una = r.una.Add(1)
	if i == w.Packets-1 {
		c.finishHead()
	}
	c.progressed(now, 1)
	return Accepted
}
