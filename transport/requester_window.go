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

// narrow halves what may be outstanding, measured by what is: not even the last of it was
// answered, so the peer, or something on the way to it, may be taking less than it is sent.
func (r *requester) narrow() { r.window, r.lost = max(1, distance(r.una, r.send)/2), true }

// growth is how the window goes on beyond what every peer is granted.
type growth struct {
	full  bool   // all of the window was outstanding
	lost  bool   // something was: it grows slowly
	acked uint32 // since it last grew slowly

	sinceNAK uint32 // PSNs acknowledged since a NAK was last obeyed
	vainNAKs uint8  // in a row, that found hardly anything acknowledged; it stays at maxVainNAKs
}

// widen lets as many more PSNs be outstanding as were acknowledged, up to the whole window. A window that was full, and that
// the peer has room for, grows beyond: what is under way while both ends sleep and are woken is more than a window of rxe's.
func (c *RC) widen(acked uint32) {
	r := &c.req
	switch {
	case r.window < c.window:
		r.window = min(r.window+acked, c.window)
	case !r.full || r.window >= c.most || c.peer == peerRxe:
	case !r.lost:
		r.full, r.window = false, min(r.window+acked, c.most)
	default:
		if r.acked += acked; r.acked >= 4*r.window {
			r.full, r.acked = false, 0
			r.window = min(r.window+c.step(), c.most)
		}
	}
}

// shed answers a loss that the peer told of: it hears, but may have room for less than it was sent.
func (c *RC) shed() {
	r := &c.req
	r.naked()
	r.lost, r.acked = true, 0
	if r.window > c.window {
		half := r.window / 2
		r.window = max(c.window, half-half%c.step())
	}
}

// A NAK has everything sent again that is outstanding, so a peer that acknowledges a packet with each of its NAKs gets a
// window of them for it. The window stays while that is a loss now and then. It is halved when maxVainNAKs NAKs in a row
// found not more than a part of what was outstanding acknowledged since the one before.
const (
	maxVainNAKs = 8
	vainPart    = 4
)

// naked counts a sequence or RNR NAK that is obeyed.
func (r *requester) naked() {
	used := distance(r.una, r.send)
	if vain := vainPart*r.sinceNAK <= used; !vain {
		r.vainNAKs = 0
	} else if r.vainNAKs = min(r.vainNAKs+1, maxVainNAKs); r.vainNAKs == maxVainNAKs {
		r.narrow()
	}
	r.sinceNAK = 0
}

// step is what a window beyond c.window changes by: 64 KiB of the longest packets. A message that the window cuts
// in two takes the host another datagram, and most long ones are multiples of that.
func (c *RC) step() uint32 { return max(1, c.window/4) }
