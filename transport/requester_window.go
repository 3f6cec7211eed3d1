package transport

import "github.com/gorxe/gorxe/bth"

// room returns how many PSNs from psn on may be outstanding.
func (r *requester) room(psn bth.PSN) uint32 {
	used := distance(r.una, psn)
	if used >= r.window {
		return 0
	}
	return r.window - used
}

// maxOutstanding is the most PSNs of which one can still be told from a duplicate.
const maxOutstanding = 1<<23 - 1

// space returns how many packets of SENDs and WRITEs from psn on may be. While one is repaired, a
// peer that keeps has what came after it, which is not on its way any more: as many again may be.
func (r *requester) space(psn bth.PSN) uint32 {
	used, most := distance(r.una, psn), r.window
	if r.asked && r.proven {
		most = min(2*most, maxOutstanding)
	}
	if used >= most {
		return 0
	}
	return most - used
}

// fits reports whether the request for a READ chunk of n PSNs from psn on may leave. A chunk cannot be
// made smaller, so one is always allowed where nothing before it is outstanding.
func (r *requester) fits(psn bth.PSN, n uint32) bool { return n <= r.room(psn) || psn == r.una }

// outstanding returns how many PSNs are.
func (r *requester) outstanding() uint32 { return distance(r.una, r.send) }

// regulate takes over the window that the congestion control allows now.
func (r *requester) regulate() { r.window = max(1, r.cc.Window()) }

// acked tells the congestion control that una has moved by n PSNs.
func (c *RC) acked(now Time, n uint32) {
	r := &c.req
	r.cc.OnAck(now, Ack{PSNs: n, Limited: r.limited, Grows: c.peer != peerRxe})
	r.limited = false
	r.regulate()
}

// naked tells the congestion control of a NAK that is obeyed.
func (r *requester) naked(now Time, kind LossKind) {
	r.cc.OnLoss(now, Loss{kind, r.outstanding()})
	r.regulate()
}

// notified takes a congestion notification packet.
func (c *RC) notified(now Time) Verdict {
	if !c.req.started {
		return WrongState
	}
	c.count.CNPsTaken++
	c.req.cc.OnCNP(now)
	c.req.regulate()
	return CongestionNotified
}
