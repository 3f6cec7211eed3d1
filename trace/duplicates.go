package trace

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// onSkippedPSNs handles a request with PSN s whose predecessors are missing: they were lost, the
// capture missed them, or the requester skipped PSNs that were acknowledged in the meantime.
func (a *Analyzer) onSkippedPSNs(c *conn, st *stream, s bth.PSN) {
	from := st.latestEnd
	if b := &st.back; b.on && !b.goBackN && s.Diff(b.from) >= 0 {
		from = later(from, b.from) // after a repair of single packets the requester continues where it was
	}
	if st.exact && st.una.Diff(from) > 0 {
		from = st.una
	}
	a.missing(c, st, from, s)
}

// missing notes that the PSNs in [from, s) are missing before the current packet.
func (a *Analyzer) missing(c *conn, st *stream, from, s bth.PSN) {
	if w := st.readAt(s); w != nil {
		s = w.first // a request for the rest of a READ implies that the earlier responses arrived
	}
	n := int(s.Diff(from))
	if n <= 0 {
		return
	}
	c.LostBefore += uint64(n)
	frames := []int{a.p.Number}
	if r := st.at(from.Sub(1)); r != nil && r.latest() > 0 {
		frames = []int{r.latest(), a.p.Number}
	}
	st.room(s, &a.use)
	for i := max(0, n-len(st.recs)+1); i < n; i++ {
		r := st.slot(from.Add(uint32(i)), &a.use)
		r.setMissed(a.p.Number)
		if r.times == 0 {
			r.at = a.at
		}
	}
	what := psns(from, s.Sub(1))
	why := "lost before the capture point, or missed by the capture"
	switch {
	case c.Service == bth.ServiceUC:
		why += "; UC does not retransmit, so the receiver drops the message"
	case from.Diff(st.next) < 0:
		why = "the retransmission was lost, too, or missed by the capture"
	}
	a.noteGap(from, n, fmt.Sprintf("%s %s missing before this packet: %s", what, isOrAre(n), why), frames...)
}

// isNetworkDuplicate reports whether a request with PSN s, which is older than the latest, is not a
// retransmission but a packet that the network duplicated or reordered.
func (a *Analyzer) isNetworkDuplicate(c *conn, st *stream, s bth.PSN) bool {
	r := st.at(s)
	seen := r != nil && r.times > 0
	numbered := a.p.IP.ID > maxReusedID && st.id > maxReusedID
	unreliable := c.Service == bth.ServiceUC
	switch {
	case seen && (unreliable || numbered && a.p.IP.ID == r.id || !numbered && s.Add(1) == st.latestEnd &&
		a.since(r.at) < int64(copyTime)):
		a.p.Again = true
		c.Duplicates++
		a.note(Duplicate, Warning, fmt.Sprintf(
			"PSN %d was captured before, in frame %d: the network duplicated that packet", s, r.latest()),
			r.latest(), a.p.Number)
		return true
	case unreliable && (seen || r == nil || r.missed() == 0):
		return true
	case seen || r == nil || r.missed() == 0 || st.back.on || !numbered && st.nak.fresh && st.nak.psn == s:
		return false
	case unreliable, numbered && int16(a.p.IP.ID-st.id) < 0, !numbered && a.since(r.at) < int64(overtaken):
		c.LostBefore -= min(c.LostBefore, 1)
		a.note(Reordered, Warning, fmt.Sprintf(
			"PSN %d arrives after frame %d, which was sent later: the network reordered them", s, r.missed()),
			r.missed(), a.p.Number)
		r.setMissed(0)
		return true
	}
	return false
}

const (
	// maxReusedID is the highest IP identification that does not identify a packet: senders with
	// segmentation offload use low numbers repeatedly.
	maxReusedID = 64
	// copyTime is the maximum delay of a network duplicate, if its IP identification does not tell.
	// A requester's timer takes longer.
	copyTime = 20 * time.Microsecond
	// reactionMargin is the time that a requester needs to react to a NAK, in addition to the RTT.
	reactionMargin = time.Millisecond
	// overtaken is the maximum delay of a reordered packet, if its IP identification does not tell.
	overtaken = 100 * time.Microsecond
)

// goBack processes the first packet, with PSN s, of a retransmission and determines the cause.
func (a *Analyzer) goBack(c *conn, st *stream, s bth.PSN) {
	p, n, r := a.p, st.nakFor(s), st.requestOf(s)
	if !st.exact && s.Diff(st.una) < 0 {
		st.una = s // the requester goes back to its oldest unacknowledged PSN
	}
	b := goingBack{on: true, from: st.latestEnd, until: st.next, frame: p.Number}
	if st.back.on && !st.back.goBackN {
		b.from = later(b.from, st.back.from)
	}
	asked := n.fresh && s.Diff(n.psn) >= 0 && s.Diff(n.psn) < nearPSNs
	unheard := ""
	if asked && !n.syndrome.IsRNR() && a.since(n.at) > n.reactionTime(c) {
		asked = false
		if !n.late {
			unheard = fmt.Sprintf("; the sequence NAK in frame %d requested it %s earlier and was probably lost",
				n.frame, lasting(a.since(n.at)))
		}
	}
	implied := st.implied.fresh && st.impliedAt(s)
	if implied && a.since(st.implied.at) > maxReaction(c) {
		implied = false
		unheard = fmt.Sprintf("; frame %d implied it %s earlier and was probably lost", st.implied.frame,
			lasting(a.since(st.implied.at)))
	}
	var text string
	switch {
	case implied && (!asked || s != n.psn):
		b.kind, b.cause = ImpliedNAK, st.implied.frame
		text = fmt.Sprintf("the request is retransmitted from PSN %d on because frame %d implies that a response was lost (implied NAK)",
			s, st.implied.frame)
	case asked && n.syndrome.IsRNR():
		b.kind, b.cause = AfterRNR, n.frame
		text = fmt.Sprintf(
			"PSN %d is retransmitted %s after the RNR NAK in frame %d, which requires a wait of at least %s",
			s, lasting(a.since(n.at)), n.frame, lasting(bth.RNRDelay(n.syndrome.RNRTimer())))
	case asked:
		b.kind, b.cause = AfterNAK, n.frame
		text = fmt.Sprintf("PSN %d is retransmitted because of the sequence NAK in frame %d", s, n.frame)
	case a.unassigned(c):
		b.kind = AfterUnknown
		text = fmt.Sprintf("PSN %d is retransmitted; the cause is unknown, because the capture has responses of this host to several queue pairs and does not show which are for this one",
			s)
	case unheard == "" && r != nil && r.latest() > 0 && r.missed() <= r.latest() && st.answeredBeyond(s):
		b.kind = AfterUnknown
		text = fmt.Sprintf("the request is retransmitted from PSN %d on, %s after frame %d, although responses were captured: they were lost or reordered after the capture point, or the requester's timer expired",
			s, lasting(a.since(r.at)), r.latest())
	case unheard == "" && a.forgot(st, s):
		b.kind = AfterUnknown
		text = fmt.Sprintf(
			"PSN %d is retransmitted; the cause is unknown, because it was answered too long ago to be remembered", s)
	default:
		b.kind = AfterTimeout
		text = a.timedOut(st, s, r)
		if unheard != "" {
			text = strings.Replace(text, " without a NAK", "", 1) + unheard
		}
	}
	switch b.kind {
	case AfterTimeout:
		c.Timeouts++
	case AfterUnknown:
		c.Undecided++
	}
	st.earlier.fresh, st.implied.fresh = false, false
	if s.Diff(n.psn) >= 0 {
		n.fresh = false // otherwise the requester may still react to it
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
	if asked {
		from = later(from, n.psn)
	}
	if st.exact && from.Diff(s) < 0 {
		a.missing(c, st, from, s)
	}
}

// forgot reports whether the current packet, with PSN psn, requests a READ or atomic again that was
// answered in the capture and is no longer remembered.
func (a *Analyzer) forgot(st *stream, psn bth.PSN) bool {
	switch a.info.Op {
	case bth.OpReadRequest, bth.OpCmpSwap, bth.OpFetchAdd:
		return st.exact && psn.Diff(st.una) < 0 && psn.Diff(st.began) >= 0 && st.works.find(psn) == nil
	}
	return false
}

// unassigned reports whether responses to c may be in the capture that could not be assigned to it.
func (a *Analyzer) unassigned(c *conn) bool {
	if len(c.directions) != 1 || c.directions[0].paired {
		return false
	}
	return a.table.answered(c.directions[0].hosts().back())
}

// nakFor returns the NAK that a retransmission from PSN s on may answer: the latest one, or the one
// before it if the latest requests a newer PSN.
func (st *stream) nakFor(s bth.PSN) *nak {
	if st.earlier.fresh && s.Diff(st.earlier.psn) >= 0 && (!st.nak.fresh || s.Diff(st.nak.psn) < 0) {
		return &st.earlier
	}
	return &st.nak
}

// reactionTime returns the maximum time in nanoseconds within which a requester reacts to the NAK
// n. A late NAK gets a short time, because requesters mostly ignore it.
func (n *nak) reactionTime(c *conn) int64 {
	if n.late {
		return max(int64(c.RTT.Max), int64(reactionMargin))
	}
	return maxReaction(c)
}

// maxReaction returns the maximum time in nanoseconds within which a requester reacts to a NAK or
// an implied NAK, based on the RTTs of c; without an RTT there is no limit.
func maxReaction(c *conn) int64 {
	if c.RTT.Count == 0 {
		return math.MaxInt64
	}
	return 4*int64(c.RTT.Max) + int64(reactionMargin)
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

// answeredBeyond reports whether s is a PSN of a READ or atomic, and both its response and a later
// response were captured. If the requester received only the later one, it retransmits without
// waiting for its timer.
func (st *stream) answeredBeyond(s bth.PSN) bool {
	w := st.readAt(s)
	return w != nil && (w.high.Diff(s) > 1 || (w.high.Diff(s) == 1 || w.answers > 0) && st.una.Diff(s) > 1)
}

// repeated marks the current packet of w, whose record is r, as retransmitted, if again is set.
func (a *Analyzer) repeated(c *conn, st *stream, w *work, r *record, again bool) {
	p := a.p
	if !again {
		return
	}
	p.Again = true
	c.Again++
	w.m.Again++
	if b := &st.back; b.on && b.frame != p.Number {
		text := "PSN %d is retransmitted, too: the requester went back in frame %d (go-back-N)"
		if r.times == 0 && r.missed() > 0 {
			text = "PSN %d, missing until now, is in the retransmission that began in frame %d"
		}
		a.note(b.kind, Info, fmt.Sprintf(text, p.BTH.PSN, b.frame), b.frame, p.Number)
	}
	if w.op == bth.OpReadRequest {
		a.readAgain(w)
	}
}

// readAgain notes a retransmitted request for all or the rest of the READ w.
func (a *Analyzer) readAgain(w *work) {
	p := a.p
	off := p.BTH.PSN.Diff(w.first)
	text := fmt.Sprintf("the request for the whole READ of frame %d is retransmitted: %d bytes",
		w.m.Frames[0], p.BTH.RETH.DMALen)
	if off > 0 {
		text = fmt.Sprintf(
			"the request for the READ of frame %d is retransmitted for the rest, from response %d on: %d bytes at address %#x",
			w.m.Frames[0], off+1, p.BTH.RETH.DMALen, p.BTH.RETH.VA)
	}
	a.note(ReadAgain, Warning, text, w.m.Frames[0], p.Number)
	if at := p.BTH.PSN; at.Diff(w.resp) > 0 && at.Diff(w.end) < 0 && !w.over {
		w.resp = at // the requester has the responses before it, which the capture missed
	}
}
