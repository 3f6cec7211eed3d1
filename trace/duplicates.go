package trace

import (
	"fmt"
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
	// overtaken is the maximum delay of a reordered packet, if its IP identification does not tell.
	overtaken = 100 * time.Microsecond
)

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
