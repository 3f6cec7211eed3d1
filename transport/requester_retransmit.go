package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Go-back-N repeats all that is unacknowledged. To a peer that keeps what came after a gap
// that is a waste: it needs the one packet. Whether it keeps, it shows: the packet of the NAK
// alone is sent again (a repair), new ones go on behind what was sent, and the answer covers
// what came after the gap, or does not. After faith repairs in a row that were in vain the
// requester goes back, until it sees an acknowledgement of what it has not repeated since. The
// IBA asks for neither half of it and forbids none: a responder may acknowledge what it has
// executed at any time, and takes a duplicate for one. Linux rxe does not keep, and gets
// everything again from the first NAK on.

// faith is how many repairs in a row may be in vain: two packets in a row may be lost.
const faith = 3

// repairs is what a requester knows of its peer and of the repair under way.
type repairs struct {
	faith  uint8 // how many repairs more may be in vain
	proven bool  // the peer has kept something, on this connection

	again span    // is to be sent again, before anything else
	asked bool    // for a NAK: the peer has something behind it
	end   bth.PSN // behind the packet that was repaired, if asked

	heard bool // went back for a sequence NAK, and nothing has moved since
}

// obey does what a sequence NAK for una asks for. A repair in vain is followed by all that
// it was to spare.
func (c *RC) obey(vain bool) {
	r := &c.req
	if vain || r.faith == 0 || c.peer == peerRxe {
		c.goBack()
		r.heard = c.peer != peerRxe
		return
	}
	c.repair(span{r.una, c.behind()})
	r.asked, r.end = true, r.again.end
}

// repair makes packets that were sent the next to be sent. The timer starts anew with them.
func (c *RC) repair(s span) {
	r := &c.req
	r.again = s
	r.armed = false
	r.timing = false
}

// behind is the PSN behind the packet at una.
func (c *RC) behind() bth.PSN {
	r := &c.req
	w := c.qp.SQ.At(c.qp.SQ.Head())
	if w.Opcode != qp.WRRead {
		return r.una.Add(1)
	}
	i := distance(w.FirstPSN, r.una)
	return r.una.Add(min(w.Chunk-i%w.Chunk, w.Packets-i))
}

// moved draws from an answer that has moved una past PSNs what it says of the peer.
func (r *requester) moved() {
	mended := r.asked && r.una.Diff(r.end) > 0
	if mended || r.heard && r.una.Diff(r.send) > 0 {
		r.faith, r.proven = faith, true
	}
	r.heard, r.again = false, span{}
	r.asked = r.asked && !mended
}

// inVain reports whether the answer that has just moved una covers the packet that was
// repaired and nothing of what had been sent behind it, which calls for going back. The peer
// has not kept that: it has no room, or does not keep, or lost the next one as well.
func (r *requester) inVain() bool {
	if !r.asked || r.una != r.end {
		return false
	}
	r.faith--
	r.asked = false
	return true
}

// sendRepair sends what is to be sent again and reports whether there was room for all of it.
func (c *RC) sendRepair(x *transmission) bool {
	r := &c.req
	for !r.again.empty() {
		at, w := c.locate(r.again.first)
		at.repair = true
		took := c.emit(x, w, at)
		if took == 0 || !r.started { // its memory may be gone, and the queue pair has failed then
			return false
		}
		r.again.first = r.again.first.Add(took)
		c.count.Retransmitted++
		if !r.armed {
			c.arm(x.now)
		}
	}
	return true
}

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
