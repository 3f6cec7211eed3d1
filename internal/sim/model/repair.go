package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// If the peer keeps packets after a gap (see proven), a requester repairs a loss: it retransmits
// only the packet at una. It probes for a loss earlier than the local ACK timeout.

// pace models the round-trip time estimate (RFC 6298) and the probe timer derived from it.
type pace struct {
	srtt, rttvar scenario.Time
	timing       bool  // whether a packet is being timed
	timed        int64 // PSN of that packet
	timedAt      scenario.Time

	probeAt scenario.Time // time of the next probe, 0: never
	probes  int           // number of probes since una last advanced
	lone    bool          // the last probe advanced una by exactly one
}

// sample ends the RTT sample in progress if its packet is acknowledged.
func (r *requester) sample(now scenario.Time) {
	if !r.timing || r.una <= r.timed {
		return
	}
	r.timing = false
	t := now - r.timedAt
	if r.srtt == 0 {
		r.srtt, r.rttvar = max(1, t), t/2
		return
	}
	off := t - r.srtt
	r.srtt = max(1, r.srtt+off/8)
	if off < 0 {
		off = -off
	}
	r.rttvar += (off - r.rttvar) / 4
}

// plan schedules the next probe.
func (e *end) plan() {
	r := &e.requester
	r.probeAt = 0
	least := e.spec.Config.ProbeAfter
	if least == 0 {
		least = transport.DefaultConfig().ProbeAfter
	}
	if at := e.net.Now + max(least, r.srtt+4*r.rttvar)<<r.probes; r.proven && r.srtt > 0 && at < r.deadline {
		r.probeAt = at
	}
}

// probe handles the probe timeout: it retransmits the packet at una, or goes back if the last
// probe advanced una by only one packet.
func (e *end) probe() {
	r := &e.requester
	r.probeAt = 0
	if r.cursor == r.una {
		return
	}
	if r.lone {
		r.goBack()
	} else {
		r.repairDue, r.timing = true, false
	}
	r.armed = true
	r.probes++
	e.plan()
}

// onSequenceNAK reacts to a sequence NAK for una, once until una advances. vain reports that the
// previous repair was in vain: see inVain.
func (e *end) onSequenceNAK(st *step, vain bool) {
	r := &e.requester
	if r.reactedToNAK {
		return
	}
	r.reactedToNAK = true
	if !e.triesOnNAK(st) {
		return
	}
	if vain || r.vainRepairs >= 3 {
		e.onLoss(r.cursor - r.una)
		r.goBack()
		r.wentBackForNAK = true
		return
	}
	r.armed, r.timing = false, false
	r.repairDue, r.repairingForNAK, r.repaired = true, true, r.una+1
	for _, x := range r.reads {
		if x.first <= r.una && r.una < x.end {
			r.repaired = x.end
		}
	}
	e.onLoss(r.repaired - r.una)
}

// maxUnacked returns how many PSNs may be unacknowledged with a request of type op. While a NAK is
// being repaired the window doubles, except for READs, atomics and FLUSHes: the packets sent after
// the lost one are no longer in transit.
func (r *requester) maxUnacked(op qp.WROpcode) int64 {
	if r.repairingForNAK && r.proven && (!hasResponse(op) || op == qp.WRAtomicWrite) {
		return 2 * r.window
	}
	return r.window
}

// inVain reports whether a repair advanced una exactly past the repaired packet, so the peer had
// kept nothing after it. If so, inVain counts it.
func (r *requester) inVain() bool {
	if !r.repairingForNAK || r.una != r.repaired {
		return false
	}
	r.repairingForNAK = false
	r.vainRepairs++
	return true
}

// repairs checks a packet that repairs a loss.
func (e *end) repairs(p *bth.Packet, info *bth.OpcodeInfo, s *sent, seq int64) {
	r := &e.requester
	if seq != r.una || !p.AckReq {
		e.fail("%s is number %d, asks for an acknowledgement: %t; the one to be repaired is %d", info.Name, seq,
			p.AckReq, r.una)
	}
	r.repairDue, r.sinceAck = false, 0
	if !r.armed {
		e.arm()
	}
	e.checkRequest(p, info, s, seq)
}
