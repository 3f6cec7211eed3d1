package trace

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/bth"
)

// evidence is what the capture shows of the cause of a retransmission from PSN s on.
type evidence struct {
	s bth.PSN
	r *record // latest request for s, or nil
	n *nak    // NAK that may request s
	// asked and implied report whether n or st.implied requests s, and not too long ago for the
	// reaction of the requester. unheard describes one that is too old.
	asked, implied bool
	unheard        string
	timer          timerState
	waited         int64 // time since the request, 0: unknown
}

// goBack processes the first packet, with PSN s, of a retransmission and determines the cause.
func (a *Analyzer) goBack(c *conn, st *stream, s bth.PSN) {
	p := a.p
	e := a.gather(c, st, s)
	n, r := e.n, e.r
	if !st.exact && s.Diff(st.una) < 0 {
		st.una = s // the requester goes back to its oldest unacknowledged PSN
	}
	b := goingBack{on: true, from: st.latestEnd, until: st.next, frame: p.Number}
	if st.back.on && !st.back.goBackN {
		b.from = later(b.from, st.back.from)
	}
	var text string
	b.kind, b.cause, text = a.causeOf(c, st, &e)
	switch b.kind {
	case AfterTimeout:
		c.Timeouts++
		a.learnTimer(st, r)
	case AfterUnknown:
		c.Undecided++
	}
	st.earlier.fresh, st.implied.fresh = false, false
	if s.Diff(n.psn) >= 0 {
		n.answered, n.fresh = n.fresh, false
	} else {
		n.passed = true // the requester may still react to it
	}
	st.back = b
	if r != nil && r.times == 0 && b.kind != AfterTimeout && b.kind != AfterUnknown {
		text += "; it was not captured before"
	}
	frames := []int{p.Number}
	switch {
	case b.cause > 0 && r != nil && r.latest() > 0 && r.latest() < b.cause:
		frames = []int{r.latest(), b.cause, p.Number}
	case b.cause > 0:
		frames = []int{b.cause, p.Number}
	case r != nil && r.latest() > 0:
		frames = []int{r.latest(), p.Number}
	}
	a.note(b.kind, Warning, text, frames...)
	from := st.una
	if e.asked {
		from = later(from, n.psn)
	}
	if st.exact && from.Diff(s) < 0 {
		a.missing(c, st, from, s)
	}
}

// gather returns the evidence for a retransmission from PSN s on, whose first packet is the current
// one.
func (a *Analyzer) gather(c *conn, st *stream, s bth.PSN) evidence {
	e := evidence{s: s, n: st.nakFor(s), r: st.requestOf(s)}
	e.setTimer(a, c, st)
	n := e.n
	e.asked = n.fresh && s.Diff(n.psn) >= 0 && s.Diff(n.psn) < nearPSNs && !(n.passed && st.una.Diff(n.psn) > 0)
	if e.asked && !n.syndrome.IsRNR() && a.since(n.at) > n.reactionTime(c) {
		e.asked = false
		if !n.late {
			e.unheard = fmt.Sprintf("; the sequence NAK in frame %d requested it %s earlier and was probably lost",
				n.frame, lasting(a.since(n.at)))
		}
	}
	e.implied = st.implied.fresh && st.impliedAt(s)
	if e.implied && a.since(st.implied.at) > maxReaction(c) {
		e.implied = false
		e.unheard = fmt.Sprintf("; frame %d implied it %s earlier and was probably lost", st.implied.frame,
			lasting(a.since(st.implied.at)))
	}
	return e
}

// causeOf returns the cause that e shows: its finding, the frame that caused it (0: none), and a
// description. AfterUnknown is the finding if more than one cause is possible.
func (a *Analyzer) causeOf(c *conn, st *stream, e *evidence) (kind Kind, frame int, text string) {
	s, n, r := e.s, e.n, e.r
	var rnrWait int64 // nanoseconds, 0: n is no RNR NAK
	if n.syndrome.IsRNR() {
		rnrWait = bth.RNRDelay(n.syndrome.RNRTimer())
	}
	rnr := rnrWait > 0
	switch {
	case e.asked && e.implied && s == n.psn && n.frame == st.implied.frame:
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted: frame %d requests it and implies that the response to PSN %d was lost (implied NAK); whether the retransmission began there and was lost is not known",
			s, n.frame, st.implied.psn)
	case e.timer == timerExpired && (e.implied || e.asked && (!rnr || a.since(n.at)-rnrWait > maxReaction(c))):
		cause := st.implied.frame
		if e.asked {
			cause = n.frame
		}
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted because frame %d requests it, or because the requester's timer expired, which takes at most %s on this connection",
			s, cause, lasting(st.timer))
	case e.asked && rnr && n.sequence > 0 && a.since(n.at) < rnrWait:
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted earlier than the RNR NAK in frame %d permits: it was lost, and the sequence NAK in frame %d is the cause, or the requester did not wait",
			s, n.frame, n.sequence)
	case e.implied && (!e.asked || s != n.psn):
		return ImpliedNAK, st.implied.frame, fmt.Sprintf(
			"the request is retransmitted from PSN %d on because frame %d implies that a response was lost (implied NAK)",
			s, st.implied.frame)
	case e.asked && rnr:
		return AfterRNR, n.frame, fmt.Sprintf(
			"PSN %d is retransmitted %s after the RNR NAK in frame %d, which requires a wait of at least %s",
			s, lasting(a.since(n.at)), n.frame, lasting(rnrWait))
	case e.asked:
		return AfterNAK, n.frame, fmt.Sprintf("PSN %d is retransmitted because of the sequence NAK in frame %d", s,
			n.frame)
	case a.unassigned(c):
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted; the cause is unknown, because the capture has responses of this host to several queue pairs and does not show which are for this one",
			s)
	case a.mayImply(c, st, e):
		later := ""
		if r != nil && r.latest() > 0 {
			later = fmt.Sprintf(" %s after frame %d,", lasting(a.since(r.at)), r.latest())
		}
		return AfterUnknown, 0, fmt.Sprintf(
			"the request is retransmitted from PSN %d on,%s although responses were captured: they were lost or reordered after the capture point, or the requester's timer expired",
			s, later)
	case e.unheard == "" && a.forgot(st, s) && a.since(st.heard) <= maxReaction(c):
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted; the cause is unknown, because it was answered too long ago to be remembered", s)
	case e.timer == timerRunning:
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted %s after frame %d, too early for the requester's timer: the capture missed a NAK, or an earlier packet of the retransmission was lost before the capture point",
			s, lasting(a.since(r.at)), r.latest())
	case n.answered && s.Diff(n.psn) >= 0 && c.RTT.Count > 0 && a.since(n.at) <= 2*int64(c.RTT.Min):
		return AfterUnknown, 0, fmt.Sprintf(
			"PSN %d is retransmitted twice after the sequence NAK in frame %d: the NAK caused one of the two and the requester's timer the other",
			s, n.frame)
	}
	text = a.timedOut(st, s, r)
	if e.unheard != "" {
		text = strings.Replace(text, " without a NAK", "", 1) + e.unheard
	}
	return AfterTimeout, 0, text
}

// timerState is what the capture shows of the acknowledge timer of a requester that goes back.
type timerState uint8

const (
	timerUnknown timerState = iota // it may have expired
	timerRunning                   // too little time has passed
	timerExpired                   // its time has passed
)

const (
	// minTimer is the shortest acknowledge timer in nanoseconds: 4.096 µs × 2 (IBA 9.7.6.1.3).
	minTimer = 8192
	// minUsualTimer is the time in nanoseconds that timers usually take at least, for use if no RTT
	// is known: 4.096 µs × 2^3.
	minUsualTimer = 32768
)

// setTimer sets e.timer and e.waited. The timer of st is known from its earlier timeouts.
func (e *evidence) setTimer(a *Analyzer, c *conn, st *stream) {
	if e.r == nil || e.r.times == 0 && e.r.missed() == 0 {
		return
	}
	e.waited = a.since(e.r.at) // of a lost request, since it was missed
	longest := e.waited
	if q := st.at(st.una); q != nil && q.times > 0 && e.s.Diff(st.una) > 0 && st.heard != 0 {
		longest = max(longest, a.since(q.at))
	}
	shortest := st.timer / 2
	switch {
	case st.timer > 0:
	case c.RTT.Count == 0:
		shortest = minUsualTimer
	default:
		shortest = max(minTimer, usualTimer*int64(c.RTT.Min))
	}
	switch {
	case longest < shortest:
		e.timer = timerRunning
	case st.timer > 0 && min(e.waited, a.since(st.advanced)) >= st.timer*7/8:
		e.timer = timerExpired
	}
}

// learnTimer reduces the timer of st to the time since the request r, which timed out.
func (a *Analyzer) learnTimer(st *stream, r *record) {
	if r == nil || r.times == 0 {
		return
	}
	if t := a.since(r.at); st.timer == 0 || t < st.timer {
		st.timer = t
	}
}

// forgot reports whether the current packet, with PSN psn, requests a READ or atomic again that was
// answered in the capture and is no longer remembered.
func (a *Analyzer) forgot(st *stream, psn bth.PSN) bool {
	return hasData(a.info.Op) && st.exact && psn.Diff(st.una) < 0 && psn.Diff(st.began) >= 0 &&
		st.works.find(psn) == nil
}

// unassigned reports whether responses to c may be in the capture that could not be assigned to it.
func (a *Analyzer) unassigned(c *conn) bool {
	if len(c.directions) != 1 || c.directions[0].paired {
		return false
	}
	return a.table.answered(c.directions[0].hosts().back())
}

// timedOut describes a retransmission from PSN s on that no NAK requested. r is the record of s, or
// nil.
func (a *Analyzer) timedOut(st *stream, s bth.PSN, r *record) string {
	switch {
	case r == nil || r.latest() == 0:
		return fmt.Sprintf("PSN %d is sent without a NAK after later packets: the requester's timer expired", s)
	case r.missed() > r.latest():
		return fmt.Sprintf("PSN %d is retransmitted %s after frame %d without a NAK: the requester's timer expired; it is missing since frame %d",
			s, lasting(a.since(r.at)), r.latest(), r.missed())
	case st.exact && s.Diff(st.una) < 0:
		return fmt.Sprintf("PSN %d is retransmitted %s after frame %d without a NAK: the requester's timer expired, although the PSN was acknowledged: the acknowledgement was lost after the capture point, or late",
			s, lasting(a.since(r.at)), r.latest())
	case s.Diff(st.expected) < 0:
		text := fmt.Sprintf("PSN %d is retransmitted %s after frame %d without a NAK: the requester's timer expired, although the capture has no gap up to PSN %d",
			s, lasting(a.since(r.at)), r.latest(), st.expected.Sub(1))
		if m := st.at(st.expected); m != nil && m.missed() > m.latest() {
			return text + fmt.Sprintf("; the next PSN is missing since frame %d, without a NAK so far", m.missed())
		}
		return text + ": packets were lost after the capture point, or the acknowledgement was lost or late"
	}
	return fmt.Sprintf("PSN %d is retransmitted %s after frame %d without a NAK: the requester's timer expired", s,
		lasting(a.since(r.at)), r.latest())
}

// readAt returns the READ or atomic that psn belongs to, or nil.
func (st *stream) readAt(psn bth.PSN) *work {
	if w := st.works.find(psn); w != nil && w.dataOp() {
		return w
	}
	return nil
}

// impliedAt reports whether the latest implied NAK requests a retransmission from PSN s on, or from
// one before it that was lost.
func (st *stream) impliedAt(s bth.PSN) bool {
	w, d := st.readAt(st.implied.psn), s.Diff(st.implied.psn)
	return w != nil && (w == st.readAt(s) || d > 0 && d < nearPSNs)
}

// requestOf returns the record of the latest request for PSN s: within a READ, this may be a
// request with an earlier PSN. It returns nil if no request was captured or noticed as missing.
func (st *stream) requestOf(s bth.PSN) *record {
	r := st.at(s)
	w := st.readAt(s)
	if w == nil || r != nil && (r.times > 0 || r.missed() > 0) {
		return r
	}
	for n := len(st.recs); n > 0 && s != w.first; n-- {
		s = s.Sub(1)
		if r := st.at(s); r != nil && r.times > 0 {
			return r
		}
	}
	return st.at(w.first)
}

// mayImply reports whether a response that was captured may have been lost after the capture point,
// so that a later response, which was also captured, was an implied NAK for the requester.
func (a *Analyzer) mayImply(c *conn, st *stream, e *evidence) bool {
	s := e.s
	if a.since(st.heard) > quickReaction(c) {
		return false
	}
	if w := st.readAt(s); w != nil {
		beyond := st.una.Diff(s) > 1 || st.nak.fresh && st.nak.psn.Diff(s) > 0
		return w.high.Diff(s) > 1 || (w.high.Diff(s) == 1 || w.answers > 0) && beyond
	}
	if st.una.Diff(s) <= 0 {
		return false
	}
	i := st.works.index(s)
	if i < 0 && hasData(a.info.Op) {
		return true // responses were captured, the earlier request was not
	}
	if e.waited > usualTimer*int64(c.RTT.Min) {
		return false
	}
	// The retransmission may have begun with a READ or atomic before s, and that request was lost.
	for ; i > 0; i-- {
		next, w := st.works.get(i), st.works.get(i-1)
		if next.over && int64(a.p.Time.Sub(next.m.End)) > quickReaction(c) || s.Diff(w.first) > nearPSNs {
			return false
		}
		if w.dataOp() && w.over {
			return true
		}
	}
	return false
}

// usualTimer is a number of RTTs: the acknowledge timer is usually longer.
const usualTimer = 3

// missedResponse handles that the requester of st sends new requests although an implied NAK is
// outstanding: if it would have reacted by now, it has the response, and the capture missed it.
func (a *Analyzer) missedResponse(c *conn, st *stream) {
	i := &st.implied
	if !i.fresh || a.since(i.at) <= quickReaction(c) {
		return
	}
	w := st.readAt(i.psn)
	if w == nil || w.over || w.resp != i.psn || st.back.frame > w.request {
		return // Linux rxe ignores implied NAKs after a retransmission
	}
	i.fresh = false
	for n := st.works.index(i.psn); n < st.works.n; n++ {
		if w = st.works.get(n); w.end.Diff(st.beyond) > 0 || w.dataOp() && w.resp != i.psn && !w.over {
			break
		}
		if !w.over {
			w.resp, w.m.Done = w.end, true // Message.End stays zero: the time is not known
			a.finish(w)
		}
		st.una = later(st.una, w.end)
	}
	a.advance(st)
}
