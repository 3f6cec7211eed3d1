package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file processes responses. The PSN of a response decides first: a response acknowledges all
// requests before its PSN, or implies a NAK of a READ or atomic among them whose data is missing
// (IBA 9.7.5.1.2). Then comes its meaning for the request that has this PSN.

// response processes a response. A response with a PSN before una is a duplicate; a response with a
// PSN that was never sent is a ghost. Both are ignored. Credits and MSN in the AETH are ignored, as
// in Linux rxe: this package uses no end-to-end flow control, so a SEND without a receive costs an
// RNR NAK.
func (c *RC) response(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.req
	if !r.started {
		return GhostResponse
	}
	s := p.AETH.Syndrome
	// The PSN of a response must be outstanding.
	if !r.inFlight(p.PSN) {
		if p.PSN.Diff(r.una) < 0 {
			return Duplicate
		}
		return GhostResponse
	}
	// READ and atomic responses also have an AETH, but their opcode decides: they are never NAKs,
	// and MIDDLE has none.
	if info.Op == bth.OpReadResponse {
		return c.readResponse(now, p, info)
	}
	if info.Op == bth.OpAtomicAck {
		return c.atomicAck(now, p)
	}
	switch {
	// The upper three bits of the syndrome distinguish ACK, RNR NAK and NAK; the lower five are the
	// credits, the timer code and the NAK code (IBA 9.7.5). Reserved ones are ignored.
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

// acknowledge advances una up to end and completes the requests before it: a response acknowledges
// all earlier requests (IBA 9.7.5.1.2). It stops at a READ or atomic whose data has not arrived,
// and reports whether it reached end. A READ or atomic is acknowledged only by its own responses,
// because they carry its data.
func (c *RC) acknowledge(now Time, end bth.PSN) bool {
	r := &c.req
	was := r.una
	for r.una != end {
		w := c.qp.SQ.At(c.qp.SQ.Head())
		if waitsForData(w) {
			break
		}
		// The request at the head of the queue uses the PSNs up to stop.
		stop := w.FirstPSN.Add(w.Packets)
		// end is inside the message: una advances, but the request is not complete.
		if distance(r.una, end) < distance(r.una, stop) {
			r.una = end
			break
		}
		r.una = stop
		// The acknowledgement of a later request also ends an ATOMIC WRITE.
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

// ack processes an ACK, which acknowledges all PSNs up to psn. If it passes a READ or an atomic
// whose data has not arrived, it is an implied NAK of that request (IBA 9.7.5.1.2).
func (c *RC) ack(now Time, psn bth.PSN) Verdict {
	if !c.acknowledge(now, psn.Add(1)) {
		return c.impliedNAK(now)
	}
	// The peer acknowledged the repaired packet but kept nothing behind it.
	if c.req.takeVainRepair() {
		c.goBack()
	}
	return Accepted
}

// impliedNAK goes back to the oldest READ or atomic whose data is missing, but only once until una
// advances. Each response that follows the loss implies the same NAK; only the first of them takes
// a retry.
func (c *RC) impliedNAK(now Time) Verdict {
	// Each response behind the lost response leads here, until the retransmitted response arrives.
	if c.req.actedOnNAK {
		return OutOfSequence
	}
	c.count.ImpliedNAKs++
	if c.spendRetryOnNAK() {
		c.req.onNAK(now, LossSequence, c.req.outstanding())
		c.goBack()
		c.req.actedOnNAK = true
	}
	return OutOfSequence
}

// sequenceNAK processes NAK PSN sequence error: the peer has executed all requests before psn and
// expects psn (IBA 9.7.5.2). Only the first NAK causes a retransmission until una advances: further
// NAKs name the same packet.
func (c *RC) sequenceNAK(now Time, psn bth.PSN) Verdict {
	r := &c.req
	c.count.SequenceNAKsTaken++
	// A NAK acknowledges all requests before its PSN (IBA 9.7.5.1.2).
	c.acknowledge(now, psn)
	vain := r.takeVainRepair()
	// A NAK while una is about to be sent again costs nothing: the retransmission answers it.
	if r.rnrWaiting || r.actedOnNAK || r.send == r.una {
		return SequenceNAK
	}
	if c.spendRetryOnNAK() {
		c.repairOrGoBack(now, vain)
		r.actedOnNAK = true
	}
	return SequenceNAK
}

// rnrNAK processes an RNR NAK: the peer had no receive for psn. The requester waits for the time
// that the timer code means and then goes back to psn, up to rnr_retry times (IBA 9.7.5.2.8). Only
// the timer, or an acknowledgement of psn, ends the wait.
func (c *RC) rnrNAK(now Time, psn bth.PSN, code uint8) Verdict {
	r := &c.req
	c.count.RNRNAKsTaken++
	if !c.acknowledge(now, psn) {
		return c.impliedNAK(now)
	}
	// During the wait, and before anything is sent again, further RNR NAKs are of requests sent
	// before the wait. They neither prolong it nor cost a retry.
	if r.rnrWaiting || r.send == r.una {
		return RNRWait
	}
	// RNR NAKs have a retry budget of their own, rnr_retry (IBA 9.7.5.2.8).
	if r.rnrRetry != infiniteRNR {
		if r.rnrTries == 0 {
			c.count.RNRRetryExceeded++
			c.fail(qp.WCRNRRetryExcErr)
			return RNRWait
		}
		r.rnrTries--
	}
	r.onNAK(now, LossRNR, r.outstanding())
	c.goBack()
	r.rnrWaiting = true
	r.rnrUntil = now + Time(bth.RNRDelay(code))
	return RNRWait
}

// errorNAK fails the request at psn (IBA 9.7.5.2): the status is that of the NAK code, and all
// later requests are flushed. Earlier requests were executed. But if data of an earlier READ was
// lost, it cannot be requested again: the READ then fails with the status, and the request at psn
// is flushed.
func (c *RC) errorNAK(now Time, psn bth.PSN, s bth.Syndrome) Verdict {
	c.count.ErrorNAKsTaken++
	c.acknowledge(now, psn)
	c.fail(fatal(s).status)
	return RemoteError
}

// readResponse stores the data of one READ response. Only the response with the PSN una is
// accepted. One ahead of it is an implied NAK: earlier responses were lost (IBA 9.7.5.1.2).
func (c *RC) readResponse(now Time, p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	r := &c.req
	if !c.acknowledge(now, p.PSN) {
		return c.impliedNAK(now)
	}
	w := c.qp.SQ.At(c.qp.SQ.Head())
	if w.Opcode == qp.WRFlush || w.Opcode == qp.WRAtomicWrite {
		return c.emptyResponse(now, p, info)
	}
	// A response with data for a SEND or WRITE is ignored.
	if w.Opcode != qp.WRRead {
		return BadResponse
	}
	// Each READ request of the work request, of w.Chunk PSNs, has a response that ends with LAST or
	// ONLY.
	i := distance(w.FirstPSN, p.PSN)
	off := uint64(i) * uint64(c.mtu)
	last := i == w.Packets-1 || (i+1)%w.Chunk == 0
	if info.Ends() != last || !r.beginsRight(p.PSN, info, i%w.Chunk == 0) {
		c.fail(qp.WCBadRespErr)
		return BadResponse
	}
	// Every response but the last of the work request has the length of the path MTU.
	if uint64(len(p.Payload)) != min(w.Length-off, uint64(c.mtu)) {
		c.fail(qp.WCLocLenErr)
		return BadResponse
	}
	if f := c.storeBatch.scatter((*requestingRC)(c), p.PSN, w.SG, off, p.Payload, i == w.Packets-1); f != mr.OK {
		if c.state != qp.ERR { // otherwise storeFailed has failed an earlier request
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

// beginsRight reports whether a READ response to the PSN una begins a response exactly where it
// may (IBA 9.9.2). first reports whether the PSN is the first one of its chunk, where every
// response begins. Behind it, a response continues with MIDDLE or LAST. Only if the rest of the
// chunk was requested again from this PSN on, a response may also begin there: that of an RNIC
// does, and that of Linux rxe continues.
func (r *requester) beginsRight(psn bth.PSN, info *bth.OpcodeInfo, first bool) bool {
	if info.Starts() {
		return first || psn == r.resumed
	}
	return !first
}
