package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Go-back-N sends all outstanding packets again. That is a waste if the peer keeps the packets
// behind a gap: it needs only the missing one. The peer shows whether it keeps them. The requester
// sends only the packet that the NAK names (a repair) and continues with new packets. If the answer
// covers only the repaired packet and not the packets behind the gap, the repair was in vain. After
// maxVainRepairs repairs in vain in a row, the requester goes back after each NAK, until an
// acknowledgement covers packets that were not sent again.
//
// The IBA neither requires nor forbids this: a responder may acknowledge what it has executed at
// any time, and it treats a packet sent twice as a duplicate. Linux rxe does not keep early
// packets, so towards it each NAK is followed by go-back-N.
//
// A NAK names only the first missing PSN, so each gap of a window costs a round trip. New packets
// are sent meanwhile.

// maxVainRepairs is the maximum number of repairs in vain in a row. It allows the loss of two
// packets in a row.
const maxVainRepairs = 3

// repairs is the state of the current repair and what a requester knows about the peer: whether it
// keeps early packets. Only the first NAK before una advances is acted on, so at most one NAK is
// being repaired.
type repairs struct {
	vainRepairsLeft uint8 // remainder of maxVainRepairs
	peerKeepsEarly  bool  // the peer has kept early packets on this connection

	repair          span    // PSNs to be sent again, before any other packet
	repairingForNAK bool    // the repair answers a NAK: the peer has received packets behind it
	repairEnd       bth.PSN // PSN behind the repaired packet, if repairingForNAK

	wentBackForNAK bool // went back after a sequence NAK, and una has not advanced; never for Linux rxe
}

// repairOrGoBack does what a sequence NAK for una requests. vain means that the last repair was in
// vain; in that case everything is sent again.
func (c *RC) repairOrGoBack(now Time, vain bool) {
	r := &c.req
	if vain || r.vainRepairsLeft == 0 || c.peer == peerRxe {
		r.onNAK(now, LossSequence, r.outstanding())
		c.goBack()
		r.wentBackForNAK = c.peer != peerRxe
		return
	}
	missing := span{r.una, c.endOfHeadPacket()}
	r.onNAK(now, LossSequence, distance(missing.first, missing.end))
	c.repair(missing)
	r.repairingForNAK, r.repairEnd = true, missing.end
}

// repair makes s the next packets to be sent, all of which were sent before. The timer starts
// with the first of them.
func (c *RC) repair(s span) {
	r := &c.req
	r.repair = s
	r.armed = false
	r.sampling = false
}

// endOfHeadPacket returns the PSN behind the packet at una; if that is a READ, behind its chunk. A
// lost READ request and a lost response are repaired in the same way: the rest of the chunk is
// requested.
func (c *RC) endOfHeadPacket() bth.PSN {
	r := &c.req
	w := c.qp.SQ.At(c.qp.SQ.Head())
	if w.Opcode != qp.WRRead {
		return r.una.Add(1)
	}
	i := distance(w.FirstPSN, r.una)
	return r.una.Add(min(w.Chunk-i%w.Chunk, w.Packets-i))
}

// updateRepairs updates repairs after an answer has advanced una. An acknowledgement beyond a
// repaired packet, or beyond what was sent again, proves that the peer keeps early packets.
func (r *requester) updateRepairs() {
	mended := r.repairingForNAK && r.una.Diff(r.repairEnd) > 0
	if mended || r.wentBackForNAK && r.una.Diff(r.send) > 0 {
		r.vainRepairsLeft, r.peerKeepsEarly = maxVainRepairs, true
	}
	r.wentBackForNAK, r.repair = false, span{}
	r.repairingForNAK = r.repairingForNAK && !mended
}

// takeVainRepair counts a repair in vain and returns true if the answer that has just advanced una
// covers the repaired packet and nothing behind it, so that the requester must go back. The peer
// has not kept those packets: it has no room, keeps none, or the next one was lost too. After
// maxVainRepairs of them, every NAK leads to go-back-N, as the IBA describes it (IBA 9.7.5.1.2).
func (r *requester) takeVainRepair() bool {
	if !r.repairingForNAK || r.una != r.repairEnd {
		return false
	}
	r.vainRepairsLeft--
	r.repairingForNAK = false
	return true
}

// sendRepair sends the packets that are to be sent again, and reports whether it has sent all of
// them.
func (c *RC) sendRepair(x *transmission) bool {
	r := &c.req
	for !r.repair.empty() {
		at, w := c.locate(r.repair.first)
		at.repair = true
		took := c.emit(x, w, at)
		if took == 0 || !r.started { // no room, or the queue pair failed because the memory was deregistered
			return false
		}
		r.repair.first = r.repair.first.Add(took)
		c.count.Retransmitted++
		if !r.armed {
			c.arm(x.now)
		}
	}
	return true
}

// If a repair, a NAK or the last acknowledgement is lost, only the local ACK timeout would
// recover, after thousands of round trips. Towards a peer that keeps early packets, the requester
// therefore sends the packet at una once more (a probe) if there was no answer for longer than
// the RTT samples predict, as the tail loss probe of TCP does (RFC 8985). A probe costs no retry
// and does not restart the local ACK timer.

// rttEstimator is the RTT estimator of RFC 6298 and the probe timer derived from it.
type rttEstimator struct {
	srtt, rttvar Time    // smoothed RTT and its variation
	sampling     bool    // an RTT sample is being taken
	samplePSN    bth.PSN // PSN of its packet, which was sent once
	sampleAt     Time    // time at which that packet was sent

	probeAt            Time  // time of the next probe, 0 for none
	probes             uint8 // probes since the last progress
	probeAnsweredAlone bool  // the answer to the last probe acknowledged its packet alone
}

// startSample starts an RTT sample with a packet that has AckReq, if the peer may be probed and no
// sample is being taken. It starts none while a packet is missing, because the answer would take
// longer. One sample per round trip is enough (RFC 6298, section 3).
func (r *requester) startSample(now Time, psn bth.PSN) {
	if r.peerKeepsEarly && !r.sampling && !r.actedOnNAK && r.probes == 0 {
		r.sampling, r.samplePSN, r.sampleAt = true, psn, now
	}
}

// endSample ends the RTT sample if una has advanced past its packet. The first sample R sets SRTT
// to R and RTTVAR to R/2; each later one has the weight 1/8 in SRTT and 1/4 in RTTVAR (RFC 6298,
// rules 2.2 and 2.3). Both are in nanoseconds; 0 in srtt means that there is no sample yet.
func (r *requester) endSample(now Time) {
	if !r.sampling || r.una.Diff(r.samplePSN) <= 0 {
		return
	}
	r.sampling = false
	rtt := now - r.sampleAt
	if r.srtt == 0 {
		r.srtt, r.rttvar = max(1, rtt), rtt/2
		return
	}
	off := rtt - r.srtt
	r.srtt = max(1, r.srtt+off/8)
	r.rttvar += (max(off, -off) - r.rttvar) / 4
}

// scheduleProbe schedules the next probe. The first follows after the retransmission timeout of RFC
// 6298, SRTT + 4 RTTVAR, but at least Config.ProbeAfter. The time doubles for each further probe
// (rule 5.5). RFC 6298 recommends a minimum of one second; ProbeAfter replaces it, because a probe
// is one packet and does not reduce the window. A probe that would be due after the local ACK
// timeout is not scheduled.
func (c *RC) scheduleProbe(now Time) {
	r := &c.req
	r.probeAt = 0
	if !r.peerKeepsEarly || r.srtt == 0 {
		return
	}
	silence := max(c.cfg.ProbeAfter, r.srtt+4*r.rttvar) << min(r.probes, 16)
	if at := now + silence; at < r.deadline {
		r.probeAt = at
	}
}

// probe sends the packet at una again. The tail loss probe of TCP may send new data instead
// (RFC 8985, section 7.3). Here the oldest packet is the better choice: if it was lost, the probe
// repairs the loss; if not, the responder answers the duplicate at once. If the answer to the last
// probe acknowledged its packet alone, further packets are missing, and so much time is lost
// already that all are sent again.
func (c *RC) probe(now Time) {
	r := &c.req
	r.probeAt = 0
	if r.send == r.una {
		return
	}
	c.count.Probes++
	// A probe must not restart the local ACK timer, so the deadline stays.
	deadline := r.deadline
	if r.probeAnsweredAlone {
		c.goBack()
	} else {
		c.repair(span{r.una, c.endOfHeadPacket()})
	}
	r.armed, r.deadline = true, deadline
	r.probes++
	c.scheduleProbe(now)
}
