package transport

// A Share limits how many PSNs several requesters have outstanding together. Without it, the
// requesters of one host overrun the receive buffer of a peer address, however small each window
// is: a thousand windows of 256 KiB are more than any socket buffer.
//
// A requester without room in the share stops ([RC.Blocked]), and its caller calls Transmit again
// when there is room. Only new requests wait for the share, not acknowledgements, NAKs, responses
// and repairs. A requester with nothing outstanding sends one packet or READ request after
// shareWait in any case, because the PSNs of the others may never be acknowledged.
//
// All members of a share must be driven by one goroutine at a time.
type Share struct {
	limit   uint32 // maximum number of outstanding PSNs
	turn    uint32 // PSNs that must be free for a requester to begin to send
	used    uint32 // outstanding PSNs of all members, sum of their inShare
	members int    // number of members
}

// shareWait is the maximum time for which other members keep a requester with nothing outstanding
// from sending: 100 ms.
const shareWait Time = 100_000_000

// NewShare returns a share of at most limit PSNs, at least 1. While other members have PSNs
// outstanding, a requester begins to send only when turn PSNs are free, at most limit. Otherwise
// it would send short trains, as in the silly window syndrome (RFC 9293, section 3.8.6.2.1).
func NewShare(limit, turn int) *Share {
	limit = max(1, limit)
	return &Share{limit: uint32(limit), turn: uint32(min(max(1, turn), limit))}
}

// Left returns how many more PSNs may be outstanding.
func (s *Share) Left() int { return max(0, int(s.limit)-int(s.used)) }

// Members returns the number of requesters in the share.
func (s *Share) Members() int { return s.members }

// shareMember is the part of a requester that belongs to its share.
type shareMember struct {
	share        *Share // nil for none
	inShare      uint32 // PSNs of this requester in share.used
	sentNew      bool   // packets other than repairs were sent in this Transmit
	blocked      bool   // sending stopped because the share has no room
	blockedSince Time   // time since which the requester is blocked, 0 if it is not
}

// Join moves c from its share to s; nil means none.
func (c *RC) Join(s *Share) {
	r := &c.req.shareMember
	if r.share == s {
		return
	}
	if r.share != nil {
		r.share.members--
		r.share.used -= r.inShare
	}
	*r = shareMember{share: s}
	if s != nil {
		s.members++
		c.account()
	}
}

// Blocked reports whether the last Transmit stopped because the share has no room.
func (c *RC) Blocked() bool { return c.req.blocked }

// account updates the share with the outstanding PSNs of c. Each exported method that may change
// them ends with it.
func (c *RC) account() {
	r := &c.req
	if r.share == nil {
		return
	}
	n := uint32(0)
	if r.started {
		n = r.outstanding()
	} else {
		r.blocked = false
	}
	r.share.used += n - r.inShare
	r.inShare = n
}

// shareLeft returns how many PSNs fit into the share, beyond those sent since account was called.
// It returns 0 if fewer than turn are free, unless the requester has begun to send in this Transmit
// or uses the share alone.
func (r *requester) shareLeft(now Time) uint32 {
	if r.share == nil {
		return maxOutstanding
	}
	out := r.outstanding()
	left := int64(r.share.limit) - int64(r.share.used) - int64(out) + int64(r.inShare)
	if left >= int64(r.share.turn) || left > 0 && (r.sentNew || r.share.used == r.inShare) {
		return uint32(min(left, maxOutstanding))
	}
	if out == 0 && r.overdue(now) {
		return 1
	}
	return 0
}

// shareAdmits reports whether the share has room for a request of n PSNs at a position; if not, it
// marks the requester as blocked. Repairs need no room. A READ request cannot be made smaller, so a
// requester with nothing outstanding may send one if no other member has PSNs outstanding, or if
// the requester is overdue.
func (r *requester) shareAdmits(now Time, at cursor, n uint32) bool {
	switch {
	case at.repair, n <= r.shareLeft(now):
		return true
	case r.outstanding() == 0 && (r.share.used == r.inShare || r.overdue(now)):
		return true
	}
	r.blocked = true
	return false
}

// overdue reports whether the requester has been blocked for shareWait.
func (r *requester) overdue(now Time) bool {
	return r.blockedSince != 0 && now-r.blockedSince >= shareWait
}

// shareIsUsed reports whether other requesters use the share. The last packet of a Transmit then
// has AckReq, because they may use up the share before the next packet is sent.
func (r *requester) shareIsUsed() bool { return r.share != nil && r.share.members > 1 }

// noteBlocked updates blockedSince at the end of a Transmit. was is the number of outstanding PSNs
// at its beginning. If the number has changed, something was sent, and the wait starts anew.
func (r *requester) noteBlocked(now Time, was uint32) {
	switch {
	case !r.blocked:
		r.blockedSince = 0
	case r.blockedSince == 0 || r.outstanding() != was:
		r.blockedSince = now
	}
}
