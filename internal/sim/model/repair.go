package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A requester whose peer keeps what comes after a gap sends the one packet that is missing
// again, and looks after it sooner than the local ACK timeout does.

// pace is how long answers take (RFC 6298), and what follows of it.
type pace struct {
	srtt, rttvar scenario.Time
	timing       bool // the answer to a packet is timed
	timed        int64
	timedAt      scenario.Time

	probeAt scenario.Time // when una is sent again, 0 is never
	probes  int           // since una last moved
	lone    bool          // the last probe has moved una by one
}

// sample ends what is timed.
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

// plan says when una is to be sent again.
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

// probe is that moment.
func (e *end) probe() {
	r := &e.requester
	r.probeAt = 0
	if r.cursor == r.una {
		return
	}
	if r.lone {
		r.goBack()
	} else {
		r.due, r.timing = true, false
	}
	r.armed = true
	r.probes++
	e.plan()
}

// obeys does what a sequence NAK for una asks for, once until something moves.
func (e *end) obeys(st *step, vain bool) {
	r := &e.requester
	if r.went {
		return
	}
	r.went = true
	if !e.triesOnNAK(st) {
		return
	}
	e.shed()
	if vain || r.vain >= 3 {
		r.goBack()
		r.heard = true
		return
	}
	r.armed, r.timing = false, false
	r.due, r.asked, r.repaired = true, true, r.una+1
	for _, x := range r.reads {
		if x.first <= r.una && r.una < x.end {
			r.repaired = x.end
		}
	}
}

// most is how many PSNs may be unacknowledged with a request. What comes after a packet that
// is repaired is not on its way any more.
func (r *requester) most(op qp.WROpcode) int64 {
	if r.asked && r.proven && (!answers(op) || op == qp.WRAtomicWrite) {
		return 2 * r.window
	}
	return r.window
}

// inVain says that a repair has moved una past its packet and not past what had come after.
func (r *requester) inVain() bool {
	if !r.asked || r.una != r.repaired {
		return false
	}
	r.asked = false
	r.vain++
	return true
}

// repairs checks the packet that is sent again alone.
func (e *end) repairs(p *bth.Packet, info *bth.OpcodeInfo, s *sent, seq int64) {
	r := &e.requester
	if seq != r.una || !p.AckReq {
		e.fail("%s is number %d, asks for an acknowledgement: %t; the one to be repaired is %d", info.Name, seq, p.AckReq, r.una)
	}
	r.due, r.sinceAck = false, 0
	if !r.armed {
		e.arm()
	}
	e.asked(p, info, s, seq)
}
