package trace

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// response processes a READ response or the response to an atomic. End to of c sent the request.
func (a *Analyzer) response(c *conn, to int) {
	p, st := a.p, c.side(to)
	s := p.BTH.PSN
	strange := a.meet(st, s, s.Add(1))
	st.heard = a.at
	w := st.works.find(s)
	if strange && w == nil {
		w = st.reach(s)
	}
	if w == nil || w.answerOp() != a.info.Op {
		a.line.op(a.info).text(" to a request that is not in the capture")
		if !st.onlyAcks && s.Diff(st.began) >= 0 {
			a.note(NotGoBackN, Warning, fmt.Sprintf(
				"response to PSN %d without a captured request: the capture missed it, or the responder is faulty",
				s), p.Number)
		} else if st.onlyAcks && st.una.Diff(s) <= 0 {
			st.una = s.Add(1)
		}
		return
	}
	p.Message = w.m
	a.before(c, st, w)
	if a.info.Op == bth.OpAtomicAck {
		a.atomicAck(c, st, w)
	} else {
		a.readResponse(c, st, w)
	}
	st.acked, st.rnrs = p.Number, 0
	a.advance(st)
}

// reach returns the newest READ if its number of responses is not yet known and one of them can
// have PSN s; otherwise nil.
func (st *stream) reach(s bth.PSN) *work {
	w := st.works.newest()
	if w == nil || w.whole || w.op != bth.OpReadRequest || s.Diff(w.first) < 0 ||
		uint64(s.Diff(w.first)) > w.total/256 {
		return nil
	}
	return w
}

// before handles what a response to w implies for earlier requests: they are acknowledged, or a
// response was lost.
func (a *Analyzer) before(c *conn, st *stream, w *work) {
	if st.exact && w.first.Diff(st.una) <= 0 {
		return
	}
	a.beyond(c, st, w.first)
	if missing, _ := a.complete(c, st, w.first); missing != nil {
		a.impliedBy(c, st, missing)
	}
}

// readResponse processes a response of a READ, or the empty response to a FLUSH or ATOMIC WRITE.
func (a *Analyzer) readResponse(c *conn, st *stream, w *work) {
	p, m := a.p, w.m
	s := p.BTH.PSN
	a.learnMTU(c)
	a.learnSpan(c, st, w)
	if r := st.at(w.first); s == w.first && r != nil && r.times == 1 && s.Diff(w.high) >= 0 {
		a.roundTrip(c, r.at)
	}
	switch d := s.Diff(w.high); {
	case d < 0:
		p.Again = true
		c.Again++
		m.Again++
		if s.Diff(w.resp) < 0 {
			a.note(Duplicate, Info, fmt.Sprintf(
				"response PSN %d was captured before; its request was retransmitted", s), p.Number)
		}
	default:
		m.Packets++
		w.got += uint64(a.size)
		if d == 0 || s == w.resp {
			a.delivered(c, a.size)
		}
		if d > 0 {
			c.LostBefore += uint64(d)
			a.noteGap(w.high, int(d), fmt.Sprintf("%s of the responses to the READ of frame %d %s missing before this packet: lost before the capture point, or missed by the capture",
				psns(w.high, s.Sub(1)), m.Frames[0], isOrAre(d)), m.Frames[0], p.Number)
		}
		w.high = s.Add(1)
	}
	if s.Diff(w.resp) > 0 && !w.over && a.good {
		a.impliedBy(c, st, w)
	}
	if s == w.resp && a.good {
		w.resp = s.Add(1)
		if st.exact && st.una == s || !st.exact {
			st.una, st.exact = s.Add(1), true
		}
		st.expected = later(st.expected, w.end)
	}
	m.Frames[1] = max(m.Frames[1], p.Number)
	ends := w.whole && w.resp == w.end
	if ends && !w.over {
		a.checkRead(w)
		a.answered(w)
	}
	st.skipAnswered()
	a.sayResponse(w, s)
}

// skipAnswered moves una past READs and atomics whose responses were captured while an earlier
// response was missing.
func (st *stream) skipAnswered() {
	for w := st.works.find(st.una); w != nil && w.over && w.dataOp() && w.first == st.una; w = st.works.find(st.una) {
		st.una = w.end
	}
}

// learnSpan determines the number of responses of a READ that was requested before the path MTU
// was known.
func (a *Analyzer) learnSpan(c *conn, st *stream, w *work) {
	if w.whole || w.op != bth.OpReadRequest {
		return
	}
	switch {
	case a.info.Pos == bth.First || a.info.Pos == bth.Middle:
		if n, ok := packets(w.total, c.MTU); ok {
			st.grow(c, w, n)
		}
	case a.p.BTH.PSN == w.first, a.info.Pos == bth.Last:
		st.grow(c, w, uint32(a.p.BTH.PSN.Diff(w.first))+1)
	}
}

// later returns the newer of two PSNs.
func later(x, y bth.PSN) bth.PSN {
	if y.Diff(x) > 0 {
		return y
	}
	return x
}

// atomicAck processes the response to an atomic, which carries the original value.
func (a *Analyzer) atomicAck(c *conn, st *stream, w *work) {
	p := a.p
	found := p.BTH.AtomicAck
	w.answers++
	if w.answers > 1 {
		p.Again = true
		c.Again++
		w.m.Again++
	}
	switch {
	case w.answers > 1 && found != w.value:
		a.note(AtomicReplay, Error, fmt.Sprintf(
			"the duplicate %s of frame %d returned %#x and the first %#x: the responder executed it twice, or the memory changed in between",
			w.m.Verb, w.m.Frames[0], found, w.value), w.m.Frames[0], p.Number)
	case w.answers > 1:
		a.note(AtomicReplay, Info, fmt.Sprintf(
			"the duplicate %s is answered with the saved result, %#x, and not executed a second time",
			w.m.Verb, found), w.m.Frames[0], p.Number)
	}
	w.value = found
	if r := st.at(w.first); r != nil && r.times == 1 && w.answers == 1 {
		a.roundTrip(c, r.at)
	}
	if !w.over {
		w.resp = w.end
		a.answered(w)
		if !st.exact || w.first.Diff(st.una) <= 0 { // otherwise an earlier response is missing
			st.una, st.exact = later(st.una, w.end), true
			st.skipAnswered()
		}
		st.expected = later(st.expected, w.end)
	}
	a.line.message(w.m)
	switch {
	case w.op == bth.OpFetchAdd:
		a.line.text(" completed: the value before the addition was ").hex(found)
	case found == w.compare:
		a.line.text(" found ").hex(found).text(" and stored ").hex(w.swap)
	default:
		a.line.text(" found ").hex(found).text(", not ").hex(w.compare).text(", and stored nothing")
	}
	a.line.latency(w.m)
}
