package transport

import "github.com/gorxe/gorxe/bth"

// A repair that is lost, or a NAK, or the last acknowledgement, is mended by the local ACK
// timeout, which is thousands of round trips long. To a peer that was seen to keep, the
// requester sends the packet at una once more when it has heard nothing for longer than
// answers took so far (a probe). It costs no retry: the local ACK timeout, which is counted
// from the same moment, goes on behind it.

// pace is how long answers take (RFC 6298), and the probe that follows from it.
type pace struct {
	srtt, rttvar Time
	timing       bool    // an answer is being waited for
	timed        bth.PSN // to the packet with this PSN, which was sent once
	timedAt      Time

	probeAt Time // when the next probe is due, 0 is never
	probes  uint8
	lone    bool // the last probe was answered for its packet alone
}

// time begins to wait for the answer to a packet that asks for one, to a peer that may be probed, unless another is waited
// for, or something is missing: that would take longer.
func (r *requester) time(now Time, psn bth.PSN) {
	if r.proven && !r.timing && !r.wentBack && r.probes == 0 {
		r.timing, r.timed, r.timedAt = true, psn, now
	}
}

// answered takes the time when una has moved past the packet that it is taken of.
func (r *requester) answered(now Time) {
	if !r.timing || r.una.Diff(r.timed) <= 0 {
		return
	}
	r.timing = false
	rtt := now - r.timedAt
	if r.srtt == 0 {
		r.srtt, r.rttvar = max(1, rtt), rtt/2
		return
	}
	off := rtt - r.srtt
	r.srtt = max(1, r.srtt+off/8)
	r.rttvar += (max(off, -off) - r.rttvar) / 4
}

// plan says when the next probe is due: later each time, and never later than the local ACK
// timeout.
func (c *RC) plan(now Time) {
	r := &c.req
	r.probeAt = 0
	if !r.proven || r.srtt == 0 {
		return
	}
	silence := max(c.cfg.ProbeAfter, r.srtt+4*r.rttvar) << min(r.probes, 16)
	if at := now + silence; at < r.deadline {
		r.probeAt = at
	}
}

// probe sends the packet at una again. If the last probe was answered for its packet alone,
// more than that is missing, and so much time was lost that all of it is sent again.
func (c *RC) probe(now Time) {
	r := &c.req
	r.probeAt = 0
	if r.send == r.una {
		return
	}
	c.count.Probes++
	deadline := r.deadline
	if r.lone {
		c.goBack()
	} else {
		c.repair(span{r.una, c.behind()})
	}
	r.armed, r.deadline = true, deadline
	r.probes++
	c.plan(now)
}
