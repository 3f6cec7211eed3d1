package transport

// A Share bounds how many PSNs several requesters together have outstanding. The requesters of one
// host towards one peer address overrun its receive buffer otherwise, however small the window of
// each is: a thousand windows of 256 KiB are more than any socket buffer.
//
// A requester that finds no room in the share stops ([RC.Blocked]) and its caller calls Transmit again
// when there is room. Nothing else waits for the share: acknowledgements, NAKs, responses and repairs
// leave all the same. A requester with nothing outstanding sends one packet or READ request after it
// has waited for shareWait: what is outstanding of others may never be acknowledged.
//
// All members of a share must be driven by one goroutine at a time.
type Share struct {
	limit   uint32
	turn    uint32
	used    uint32 // PSNs outstanding of all members
	members int
}

// shareWait is the longest time for which the members of a share keep another one from sending.
const shareWait Time = 100_000_000

// NewShare returns a share of at most limit PSNs, at least 1. While others have some outstanding, a requester
// begins to send only when turn of them are free, at most limit: it would send short trains otherwise, as
// with the silly window syndrome (RFC 9293, section 3.8.6.2.1).
func NewShare(limit, turn int) *Share {
	limit = max(1, limit)
	return &Share{limit: uint32(limit), turn: uint32(min(max(1, turn), limit))}
}

// Left returns how many PSNs more may be outstanding.
func (s *Share) Left() int { return max(0, int(s.limit)-int(s.used)) }

// Members returns how many requesters share.
func (s *Share) Members() int { return s.members }

// shared is what a requester knows of its share.
type shared struct {
	share   *Share // nil for none
	counted uint32 // PSNs of this requester in share.used
	begun   bool   // something was sent in this turn
	blocked bool   // sending stopped for want of room
	since   Time   // when it began to be blocked; holds while blocked is set
}

// Join makes c a member of s instead of the share that it is a member of; nil is none.
func (c *RC) Join(s *Share) {
	r := &c.req.shared
	if r.share == s {
		return
	}
	if r.share != nil {
		r.share.members--
		r.share.used -= r.counted
	}
	*r = shared{share: s}
	if s != nil {
		s.members++
		c.account()
	}
}

// Blocked reports whether the last Transmit stopped for want of room in the share.
func (c *RC) Blocked() bool { return c.req.blocked }

// account brings the share up to date with what is outstanding. Each exported method that may change
// that ends with it.
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
	r.share.used += n - r.counted
	r.counted = n
}

// shareLeft returns how many PSNs the share has room for, besides those sent since account was called.
func (r *requester) shareLeft(now Time) uint32 {
	if r.share == nil {
		return maxOutstanding
	}
	out := r.outstanding()
	left := int64(r.share.limit) - int64(r.share.used) - int64(out) + int64(r.counted)
	if left >= int64(r.share.turn) || left > 0 && (r.begun || r.share.used == r.counted) {
		return uint32(min(left, maxOutstanding))
	}
	if out == 0 && r.overdue(now) {
		return 1
	}
	return 0
}

// shareAdmits reports whether the share has room for a request of n PSNs at a position, and notes it where
// there is none. Repairs need no room. A READ request cannot be made smaller: one is allowed where nothing
// else is outstanding.
func (r *requester) shareAdmits(now Time, at cursor, n uint32) bool {
	switch {
	case at.repair, n <= r.shareLeft(now):
		return true
	case r.outstanding() == 0 && (r.share.used == r.counted || r.overdue(now)):
		return true
	}
	r.blocked = true
	return false
}

// overdue reports whether the requester has been blocked for shareWait.
func (r *requester) overdue(now Time) bool { return r.since != 0 && now-r.since >= shareWait }

// contended reports whether the last packet of a turn must ask for an acknowledgement: other members
// may use up the share before the next one of this requester leaves.
func (r *requester) contended() bool { return r.share != nil && r.share.members > 1 }

// waits notes whether a turn to send that began with was PSNs outstanding ended for want of room in the
// share.
func (r *requester) waits(now Time, was uint32) {
	switch {
	case !r.blocked:
		r.since = 0
	case r.since == 0 || r.outstanding() != was:
		r.since = now
	}
}
