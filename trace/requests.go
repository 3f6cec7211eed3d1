package trace

import (
	"math"

	"github.com/gorxe/gorxe/bth"
)

// maxPSNDistance is the maximum distance of two PSNs of one conversation. A packet beyond it shows
// that the connection began anew.
const maxPSNDistance = 1 << 17

// request processes a packet that end from of c sent: a request, or a UC packet.
func (a *Analyzer) request(c *conn, from int) {
	p, st := a.p, c.side(from)
	s := p.BTH.PSN
	a.settleRest(c, st, s)
	st.settleRead(c, s)
	a.enter(c, st, s)
	a.learnMTU(c)
	again := s.Diff(st.next) < 0
	old := st.at(s)
	missed := old != nil && old.times == 0 && old.missed() > 0
	inTurn := true
	switch d := s.Diff(st.latestEnd); {
	case (d > 0 || d == 0 && !st.back.goBackN && !st.back.beganAfter(&st.nak)) && again && st.nak.fresh &&
		s == st.nak.psn:
		a.goBack(c, st, s) // a retransmission follows another
	case d > 0:
		a.onSkippedPSNs(c, st, s)
	case d == 0 && again && st.back.on && a.since(st.back.at) > maxReaction(c):
		a.goBack(c, st, s) // after that time it is no longer the same retransmission
	case d == 0 && again:
		st.back.goBackN = st.back.goBackN || !st.exact || s.Diff(st.una) > 0
	case d < 0:
		inTurn = !a.isNetworkDuplicate(c, st, s)
		if inTurn {
			a.goBack(c, st, s)
		}
	}
	if !again {
		a.missedResponse(c, st)
		st.back.on = false
	} else if st.exact && s.Diff(st.una) < 0 && st.works.find(s) == nil {
		a.onForgottenDuplicate(c, st, s)
		return
	}
	w := a.workOf(c, from, st, s)
	n := a.span(c, w)
	end := s.Add(n)
	r := st.slot(s, &a.use)
	if r.times == 0 && n > 1 {
		st.notLost(c, s.Add(1), end)
	}
	a.compare(r)
	a.repeated(c, st, w, r, again && inTurn)
	if inTurn && st.back.on {
		st.back.end, st.back.at = end, a.at
	}
	a.take(c, st, w, r, again && !missed && r.missed() == 0 && s.Diff(st.began) >= 0)
	a.deliver(c, st, s, end)
	if inTurn {
		st.latestEnd = end
	}
	if end.Diff(st.next) > 0 {
		st.next = end
	}
	if a.info.Service == bth.ServiceRC {
		c.Window = max(c.Window, int(st.next.Diff(st.una)))
	}
	st.id = p.IP.ID
	p.Message = w.m
	a.setRequest()
	a.sayRequest(c, st, w, r, again)
	a.upperLayer(c, from, w)
	if a.info.Service == bth.ServiceUC {
		a.arrived(st, w)
	}
	a.bound(st)
}

// beganAfter reports whether b is going on and began after n, with an older PSN. Its next packet
// may have the PSN of n without answering n.
func (b *goingBack) beganAfter(n *nak) bool { return b.on && n.frame < b.frame }

// onForgottenDuplicate handles a packet of a message that was acknowledged too long ago to be
// remembered.
func (a *Analyzer) onForgottenDuplicate(c *conn, st *stream, s bth.PSN) {
	a.p.Again = true
	c.Again++
	st.latestEnd = s.Add(1)
	a.line.text(verb(a.info)).text(" with PSN ").psn(s).
		text(", retransmitted although its message was acknowledged before")
}

// enter starts st at PSN s if st is not open, or if s is too far from its PSNs to belong to the
// same conversation.
func (a *Analyzer) enter(c *conn, st *stream, s bth.PSN) {
	switch d := s.Diff(st.next); {
	case !st.open, d > maxPSNDistance, d < -maxPSNDistance:
		if st.open && !c.MTUExact {
			c.MTU = 0
		}
		a.finishOpen(st, "the connection began anew", false)
		st.start(s)
	case st.onlyAcks:
		st.onlyAcks = false
		if d := s.Diff(st.una); d < 0 || d > maxInFlight {
			st.start(s)
			return
		}
		st.began, st.latestEnd, st.next, st.expected, st.countedEnd = s, s, s, s, s
	}
}

// settleRead determines the end of the newest READ, if its number of responses is unknown, from the
// PSN s of the next request.
func (st *stream) settleRead(c *conn, s bth.PSN) {
	w := st.works.newest()
	if w == nil || w.whole || w.op != bth.OpReadRequest || s.Diff(w.end) < 0 {
		return
	}
	n := uint64(s.Diff(w.first))
	for mtu := uint64(256); mtu <= bth.MaxPayload; mtu *= 2 {
		if (w.total+mtu-1)/mtu == n {
			if n > 1 { // a single response fits any larger path MTU
				c.MTU = max(c.MTU, int(mtu))
			}
			st.grow(c, w, uint32(n))
			return
		}
	}
}

// settleRest determines the end of the newest READ, if its number of responses is unknown, when the
// current packet, with PSN s, requests the rest of it again: the address tells the path MTU.
func (a *Analyzer) settleRest(c *conn, st *stream, s bth.PSN) {
	if a.info.Op != bth.OpReadRequest {
		return
	}
	w := st.works.newest()
	if w == nil || w.whole || w.op != bth.OpReadRequest {
		return
	}
	r, n := &a.p.BTH.RETH, s.Diff(w.first)
	if n <= 0 || r.RKey != w.rkey || r.VA <= w.va || r.VA+uint64(r.DMALen) != w.va+w.total {
		return
	}
	for mtu := uint64(256); mtu <= bth.MaxPayload; mtu *= 2 {
		if mtu*uint64(n) == r.VA-w.va {
			c.MTU = max(c.MTU, int(mtu))
			st.grow(c, w, uint32((w.total+mtu-1)/mtu))
			return
		}
	}
}

// grow sets the number of PSNs of w to n, and moves the PSNs of st that equal the old end of w.
func (st *stream) grow(c *conn, w *work, n uint32) {
	was := w.end
	w.end, w.whole = w.first.Add(n), true
	w.m.Last = w.end.Sub(1)
	for _, x := range [...]*bth.PSN{&st.latestEnd, &st.next, &st.expected, &st.countedEnd, &st.back.from,
		&st.back.until} {
		if *x == was {
			*x = w.end
		}
	}
	st.notLost(c, w.first.Add(1), w.end)
	c.Window = max(c.Window, int(st.next.Diff(st.una)))
}

// notLost corrects Flow.LostBefore for the PSNs in [from, end), which turn out to be those of the
// responses to a READ: a gap that contained its request counted them as packets.
func (st *stream) notLost(c *conn, from, end bth.PSN) {
	for n := min(int(end.Diff(from)), len(st.recs)); n > 0; n-- {
		if r := st.at(from); r != nil && r.times == 0 && r.missed() > 0 {
			c.LostBefore -= min(c.LostBefore, 1)
			*r = record{}
		}
		from = from.Add(1)
	}
}

// workOf returns the message that the current packet, with PSN s, belongs to. It creates a new
// message if necessary.
func (a *Analyzer) workOf(c *conn, from int, st *stream, s bth.PSN) *work {
	w := st.works.newest()
	if w == nil || s.Diff(w.first) < 0 {
		if w = st.works.find(s); w == nil {
			w = a.workBetween(c, st, s)
		}
	} else if s.Diff(w.end) >= 0 {
		if w.open && !a.info.Starts() && w.op == a.info.Op {
			w.end = s.Add(1)
			return w
		}
		if w.open {
			w.open, w.end = false, s
		}
		w = nil
	}
	if w != nil && (w.first == s || !a.info.Starts() || w.op == bth.OpReadRequest || w.split &&
		a.info.Op == bth.OpWrite && a.info.Pos == bth.Only) {
		return w
	}
	end := s.Add(1)
	if w != nil { // the end of one message and the beginning of another were lost
		if a.info.Pos == bth.First {
			end = w.end
		}
		w.end, w.whole = s, true
	}
	w = st.works.insert(s)
	a.use.works++
	w.end = end
	a.create(c, from, w)
	return w
}

// create creates the message of w. The current packet is the first of it that was seen.
func (a *Analyzer) create(c *conn, from int, w *work) {
	p, b := a.p, &a.p.BTH
	c.Messages++
	w.op = a.info.Op
	w.open = a.info.Pos == bth.First || a.info.Pos == bth.Middle
	w.request = p.Number
	w.m = &Message{
		Number: int(c.Messages), Flow: c.Flow, From: from, Op: w.op, Verb: verb(a.info),
		First: w.first, Last: w.end.Sub(1), Begin: p.Time, Frames: [2]int{p.Number, p.Number},
		Partial: !a.info.Starts(),
	}
	switch {
	case a.info.Headers&bth.HasRETH != 0:
		a.useRETH(c, w)
		a.createSplit(w)
	case a.info.Headers&bth.HasAtomicETH != 0:
		w.va, w.rkey = b.AtomicETH.VA, b.AtomicETH.RKey
		w.compare, w.swap = b.AtomicETH.Compare, b.AtomicETH.SwapAdd
		w.total, w.m.Bytes = 8, 8
	}
}

// useRETH sets the length of w, and the end of a WRITE, from the RETH of the current packet, the
// first of w.
func (a *Analyzer) useRETH(c *conn, w *work) {
	r := &a.p.BTH.RETH
	w.reth, w.total, w.va, w.rkey = true, uint64(r.DMALen), r.VA, r.RKey
	w.m.Bytes = w.total
	if n, ok := packets(w.total, c.MTU); ok && w.op == bth.OpWrite && n <= maxSpan {
		w.end, w.whole = w.first.Add(n), true
		w.m.Last = w.end.Sub(1)
	}
}

// createSplit makes w the whole WRITE whose first packet is the current one, if a [SplitNote] says
// so. All packets of it except the last are as long as the first.
func (a *Analyzer) createSplit(w *work) {
	if w.op != bth.OpWrite || a.info.Pos != bth.Only || a.info.Service != bth.ServiceRC || a.p.Parts != 1 {
		return
	}
	bytes, first, ok := a.notes.split()
	if !ok || first != w.first || a.size == 0 || bytes <= uint64(a.size) {
		return
	}
	n, _ := packets(bytes, a.size)
	if n > maxSpan {
		return
	}
	w.split, w.total, w.m.Bytes = true, bytes, bytes
	w.end, w.whole = w.first.Add(n), true
	w.m.Last = w.end.Sub(1)
}

// maxSpan is the maximum number of PSNs of a message: 2^31 bytes at the smallest path MTU.
const maxSpan = 1 << 23

// packets returns the number of PSNs of n bytes. ok is false if the number depends on the path MTU
// and mtu is 0 (unknown).
func packets(n uint64, mtu int) (count uint32, ok bool) {
	switch {
	case mtu > 0:
		return max(1, uint32((n+uint64(mtu)-1)/uint64(mtu))), true
	case n <= 256:
		return 1, true
	}
	return 1, false
}

// span returns the number of PSNs that the current packet takes: those of all responses for a READ
// request, otherwise 1. If the packet is the first of the READ w, span sets the end of w.
func (a *Analyzer) span(c *conn, w *work) uint32 {
	if a.info.Op != bth.OpReadRequest {
		return 1
	}
	n, ok := packets(uint64(a.p.BTH.RETH.DMALen), c.MTU)
	if n >= maxSpan/2 {
		n, ok = 1, false
	}
	if w.op == bth.OpReadRequest && w.first == a.p.BTH.PSN {
		w.end, w.whole = w.first.Add(n), ok
		w.m.Last = w.end.Sub(1)
	}
	return n
}

// take adds the current packet, whose record is r, to its message. known reports whether the packet
// was counted before, even if r is new because the old record was replaced.
func (a *Analyzer) take(c *conn, st *stream, w *work, r *record, known bool) {
	p, m := a.p, w.m
	first := r.times == 0 && !known
	if r.times < math.MaxUint8 {
		r.times++
	}
	if r.times == 1 {
		r.op, r.size = p.BTH.Opcode, uint16(a.size)
	}
	r.setLatest(p.Number)
	r.at, r.id, r.ackReq = a.at, p.IP.ID, p.BTH.AckReq
	if !a.good {
		r.setMissed(p.Number)
	}
	m.Frames[1] = p.Number
	w.request = p.Number
	if w.op == bth.OpReadRequest {
		return
	}
	if first {
		m.Packets++
		w.got += uint64(a.size)
		if !w.reth {
			m.Bytes = max(w.got, m.Bytes)
		}
	}
	if s := p.BTH.PSN; s.Diff(m.Last) > 0 {
		m.Last = s
	}
	if a.ends(w) && w.op == a.info.Op {
		w.open = false
		if !w.whole {
			w.end, w.whole = p.BTH.PSN.Add(1), true
		}
		m.Last = p.BTH.PSN
		m.Verb = verb(a.info)
	}
	a.checkLengths(c, w)
}

// ends reports whether the current packet is the last one of w.
func (a *Analyzer) ends(w *work) bool {
	if w.split {
		return a.p.BTH.PSN == w.end.Sub(1)
	}
	return a.info.Ends()
}

// deliver updates the responder for the current packet, which takes the PSNs in [s, end): if the
// responder expects s, or for UC, it advances the expected PSN and counts the payload.
func (a *Analyzer) deliver(c *conn, st *stream, s, end bth.PSN) {
	if c.Service == bth.ServiceUC {
		st.expected = end
	} else if !a.good || s != st.expected {
		return
	} else {
		st.expected = end
	}
	if s.Diff(st.countedEnd) >= 0 {
		a.delivered(c, a.size)
		st.countedEnd = end
	}
}
