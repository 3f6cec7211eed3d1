package trace

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// meet prepares st for a response with PSN s. If the capture has no request so far, st begins with
// the oldest unacknowledged PSN una. strange reports whether s is beyond the newest captured
// request.
func (a *Analyzer) meet(st *stream, s, una bth.PSN) (strange bool) {
	d := s.Diff(st.next)
	switch {
	case !st.open:
		st.start(una)
		st.onlyAcks, st.exact = true, true
	case st.onlyAcks:
		if d >= 0 || d < -maxPSNDistance {
			st.una, st.expected, st.latestEnd, st.next, st.countedEnd = una, una, una, una, una
		}
	case d >= 0:
		return true
	}
	return false
}

// acknowledgement processes an ACK, NAK or RNR NAK for requests that end to of c sent.
func (a *Analyzer) acknowledgement(c *conn, to int) {
	p, st := a.p, c.side(to)
	s, syn := p.BTH.PSN, p.BTH.AETH.Syndrome
	end := s.Add(1)
	if !syn.IsAck() {
		end = s
	}
	if a.meet(st, s, end) {
		a.note(NotGoBackN, Warning, fmt.Sprintf(
			"response to PSN %d, but the newest captured request is PSN %d: the capture missed requests, or the responder is faulty", s, st.next.Sub(1)), p.Number)
		if s.Diff(st.next) > maxInFlight {
			a.line.text("answers PSN ").psn(s).text(", without a request")
			return
		}
		st.expected, st.latestEnd, st.next, st.countedEnd = end, end, end, end
	}
	st.heard = a.at
	switch {
	case syn.IsAck():
		a.ack(c, st, s)
	case syn.IsRNR():
		a.rnrNAK(c, st, s)
	case syn == bth.NakPSNSequence:
		a.sequenceNAK(c, st, s)
	default:
		a.errorNAK(c, st, s)
	}
}

// ack processes a positive acknowledgement up to PSN s.
func (a *Analyzer) ack(c *conn, st *stream, s bth.PSN) {
	p, end := a.p, s.Add(1)
	a.credit(st)
	if st.onlyAcks {
		a.line.text("acknowledges up to PSN ").psn(s)
		return
	}
	if st.exact && end.Diff(st.una) <= 0 {
		st.acks++
		a.line.text("acknowledges up to PSN ").psn(s).text(", which was acknowledged before")
		if end == st.una {
			a.line.text(": response to a duplicate")
		}
		if w := st.works.find(s); w != nil {
			p.Message = w.m
		}
		return
	}
	a.beyond(c, st, end)
	exact := st.exact
	first := st.works.done
	missing, asked := a.complete(c, st, end)
	if !exact {
		st.whole = a.p.BTH.AETH.MSN == uint32(asked)
	}
	if w := st.works.find(s); w != nil && (asked <= 1 || w.open) {
		p.Message = w.m
	}
	if missing != nil {
		a.line.text("acknowledges up to PSN ").psn(s).
			text(", beyond ").message(missing.m).text(", whose response is missing")
	} else {
		a.sayAck(st, s, first)
	}
	a.sayCredit()
	st.acked, st.acks, st.rnrs = p.Number, 0, 0
	if asked > 1 {
		a.note(AckCoalesced, Info, fmt.Sprintf("one acknowledgement for %d messages, up to PSN %d", asked, s), p.Number)
	}
	if missing != nil {
		a.impliedBy(c, st, missing)
	}
	a.advance(st)
}

// beyond handles an acknowledgement of all PSNs before end. If end is beyond the PSNs that arrived
// in order, the responder has kept packets after a gap, or it acknowledges packets that the capture
// shows as missing.
func (a *Analyzer) beyond(c *conn, st *stream, end bth.PSN) {
	if end.Diff(st.expected) <= 0 {
		return
	}
	was := st.expected
	st.expected = end
	a.early(c, st, was, end)
	if b := &st.back; b.kind == AfterNAK && !b.goBackN && b.end.Diff(b.until) < 0 && end.Diff(b.end) > 0 {
		a.note(KeptEarly, Info, fmt.Sprintf("PSNs up to %d are acknowledged, and those after %d were not retransmitted: the responder had kept them (no go-back-N)",
			end.Sub(1), b.end.Sub(1)), b.frame, a.p.Number)
		b.end = b.until
	}
	if !st.exact || !st.whole && st.una.Diff(st.began) < maxInFlight {
		return // the packet may have been sent before the capture began
	}
	for n := 0; was != end && n < nearPSNs; n++ {
		if r := st.at(was); r != nil && r.missed() > r.latest() {
			a.note(NotGoBackN, Warning, fmt.Sprintf(
				"PSN %d is acknowledged, but PSN %d was not captured before: the capture missed it, or the responder violates go-back-N", end.Sub(1), was),
				r.missed(), a.p.Number)
			return
		}
		was = was.Add(1)
	}
}

// early counts the payload of the PSNs in [from, end), which arrived out of order and which the
// responder kept.
func (a *Analyzer) early(c *conn, st *stream, from, end bth.PSN) {
	if st.countedEnd.Diff(from) > 0 {
		from = st.countedEnd
	}
	for n := int(end.Diff(from)); n > 0 && n <= len(st.recs); n = int(end.Diff(from)) {
		if r := st.at(from); r != nil && r.times > 0 {
			a.delivered(c, int(r.size))
		}
		from = from.Add(1)
		st.countedEnd = from
	}
}

// complete acknowledges all PSNs before end. missing is the READ or atomic at which it stops
// because response data is missing; done is the number of messages that it completes.
func (a *Analyzer) complete(c *conn, st *stream, end bth.PSN) (missing *work, done int) {
	if r := st.at(end.Sub(1)); r != nil && r.times == 1 && r.ackReq && st.una.Diff(end) < 0 {
		a.roundTrip(c, r.at)
	}
	q := &st.works
	for i := q.done; i < q.n; i++ {
		w := q.get(i)
		if w.first.Diff(end) >= 0 {
			break
		}
		if w.open {
			if i+1 == q.n || q.get(i+1).first.Diff(end) > 0 {
				break
			}
			w.open, w.end = false, q.get(i+1).first // its last packet was not captured
		}
		if w.over {
			continue
		}
		if w.end.Diff(end) > 0 && !w.dataOp() {
			break
		}
		if w.dataOp() {
			if end.Diff(w.first) > 0 {
				st.una, st.exact, st.beyond = w.resp, true, end
				return w, done
			}
			break
		}
		a.answered(w)
		done++
	}
	if !st.exact || end.Diff(st.una) > 0 {
		st.una, st.exact = end, true
	}
	return nil, done
}

// answered completes a message successfully.
func (a *Analyzer) answered(w *work) {
	w.m.Done, w.m.End = true, a.p.Time
	a.recordKeyUse(w)
	w.m.Frames[1] = max(w.m.Frames[1], a.p.Number)
	a.finish(w)
}

// impliedBy notes that the current packet responds to a request after w, whose response is
// missing.
func (a *Analyzer) impliedBy(c *conn, st *stream, w *work) {
	if i := &st.implied; i.fresh {
		old := st.readAt(i.psn)
		if i.psn == w.resp || old != nil && !old.over && old.resp == i.psn && i.psn.Before(w.resp) {
			return // the requester retries from there on
		}
	}
	st.implied = implied{fresh: true, psn: w.resp, frame: a.p.Number, at: a.at}
	what := "the response to the " + w.m.Verb
	if w.resp != w.first {
		what = fmt.Sprintf("response %d to the %s", w.resp.Diff(w.first)+1, w.m.Verb)
	}
	a.note(ImpliedNAK, Warning, fmt.Sprintf(
		"this responds to a request after PSN %d, but %s of frame %d is missing: the requester treats this as a NAK and retries (implied NAK)",
		w.resp, what, w.m.Frames[0]), w.m.Frames[0], a.p.Number)
}

// creditCounts maps credit codes 0 to 30 to numbers of requests.
var creditCounts = [...]int{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
	2048, 3072, 4096, 6144, 8192,
	12288, 16384, 24576, 32768}

// sayCredit appends how many more requests the credits in the current acknowledgement permit, if
// they limit the requests.
func (a *Analyzer) sayCredit() {
	if code := int(a.p.BTH.AETH.Syndrome.Credits()); code < len(creditCounts) {
		a.line.text(", credits for ").int(creditCounts[code]).text(" more")
	}
}

// credit notes an acknowledgement that gives no credits, unless the one before gave none either.
func (a *Analyzer) credit(st *stream) {
	if a.p.BTH.AETH.Syndrome.Credits() != 0 {
		st.noCreditSince = 0
		return
	}
	if st.noCreditSince == 0 {
		st.noCreditSince = a.at
		a.note(NoCredit, Warning,
			"no credit: the responder has no receive left; the requester may send one request and must then wait",
			a.p.Number)
	}
}
