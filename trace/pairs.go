package trace

import (
	"cmp"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

func sortByNumber(all []*conn) {
	slices.SortFunc(all, func(x, y *conn) int { return cmp.Compare(x.Number, y.Number) })
}

// packetDirection returns the direction that the current packet belongs to. It begins a
// conversation if the direction is new.
func (a *Analyzer) packetDirection() *direction {
	p := a.p
	key := directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, net: a.net}
	h := a.table.find(key)
	if h != nil && h.service == bth.ServiceCNP {
		a.identify(h)
	} else if h != nil && h.service != 0 && h.service != a.info.Service {
		h = nil // the queue pair number was reused for another service
	}
	if h == nil {
		h = a.begin(key)
	}
	h.service = a.info.Service
	h.port = p.Src.Port()
	a.table.touch(h.conn)
	return h
}

// begin creates the conversation of a direction that is new. The requester becomes its first end.
func (a *Analyzer) begin(key directionKey) *direction {
	c := a.table.add(a.info.Service, a.p)
	from := 0
	if a.info.Response() {
		from = 1
	}
	c.Ends[from].Addr = key.src
	c.Ends[1-from] = End{Addr: key.dst, QPN: key.to}
	c.BeganBefore = !a.info.Starts() || a.info.Response()
	h := a.table.attach(key, c, from)
	a.table.addUnpaired(h)
	return h
}

// identify makes the flow of h, of which only CNPs were captured so far, that of the connection
// that the current packet belongs to.
func (a *Analyzer) identify(h *direction) {
	c := h.conn
	c.Service = a.info.Service
	if a.info.Response() {
		h.from = 1
		c.Ends[0], c.Ends[1] = c.Ends[1], c.Ends[0]
		c.notified[0], c.notified[1] = c.notified[1], c.notified[0]
	}
	c.BeganBefore = !a.info.Starts() || a.info.Response()
	a.table.addUnpaired(h)
}

// Points for how well two directions match.
const (
	fitsPort   = 8 // UDP source port is the one that Linux derives from the two queue pair numbers
	fitsExact  = 4 // response to such a request, or acknowledgement of a packet with AckReq
	fitsSource = 2 // both directions use the same UDP source port
	fitsRange  = 1 // the PSN awaits a response
)

// maxRivals limits the directions that are remembered as equally good matches.
const maxRivals = 32

// A search for the other direction of a packet examines up to a few thousand directions. The number
// of all examined directions is limited, so that a capture in which most searches find nothing does
// not take hours: once they exceed the limits, directions stay unpaired.
const (
	searchBurst     = 1 << 24 // directions that may be examined at any time
	searchPerPacket = 64      // directions that may be examined in addition, per packet of the capture
)

// A BTH has only the destination queue pair number. Messages of the connection manager name both
// queue pairs. Without them a response is matched to the requests that await its PSN and kind. The
// UDP source port that Linux derives from both queue pair numbers weighs more; for an unreliable
// connection it is the only criterion.
//
// A packet may match several directions equally well, for example if all queue pairs begin with PSN
// 0. Then those that match a later packet, too, remain, until one is left. If the directions are in
// step, they stay unpaired, and causes that depend on the other direction are undecided.

// pair returns the conversation of h. If the other direction is unknown, pair tries to find it with
// the current packet.
func (a *Analyzer) pair(h *direction) *conn {
	if h.paired {
		return h.conn
	}
	s := a.p.BTH.PSN
	if h.alone && a.info.Op == bth.OpReadResponse && !a.info.Starts() && s == h.aloneEnd {
		h.aloneEnd = s.Add(1)
		return h.conn
	}
	h.alone = false
	points := 0
	best := a.rivals[:0]
	back := a.table.unpaired[h.hosts().back()]
	if back == nil || a.searches <= 0 {
		return h.conn
	}
	for o := range back.Find(h.port, s) {
		a.searches--
		if o.service != a.info.Service || o.conn == h.conn {
			continue
		}
		switch n := a.fit(h, o, back); {
		case n > points:
			best, points = append(best[:0], o), n
		case n > 0 && n == points && !slices.Contains(best, o) && len(best) <= maxRivals:
			best = append(best, o)
		}
	}
	a.rivals = best
	switch {
	case len(best) == 0:
		h.alone, h.aloneEnd = true, s.Add(1)
		return h.conn
	case len(best) > 1:
		if best = h.narrow(best); len(best) != 1 {
			return h.conn
		}
	case points < fitsExact && a.crowded(h, best[0], maxInFlight):
		h.alone, h.aloneEnd = true, s.Add(1)
		return h.conn
	case points < fitsPort && a.info.Op == bth.OpAck && a.crowded(h, best[0], inStep):
		if best = h.narrow(best); len(best) != 1 || h.ambiguous < 2 {
			return h.conn
		}
	}
	return a.join(h, best[0])
}

// inStep is the distance in which the PSNs of two connections are assumed to proceed in step, so
// that one acknowledgement may match the wrong connection.
const inStep = 64

// crowded reports whether other unpaired directions between the hosts of h have PSNs at most near
// away from that of the current packet, as in applications whose queue pairs all begin with PSN 0.
// The range of a PSN then does not show that h and o belong together.
func (a *Analyzer) crowded(h, o *direction, near int32) bool {
	s := a.p.BTH.PSN
	for _, w := range [...]hostPair{h.hosts(), h.hosts().back()} {
		set := a.table.unpaired[w]
		if set == nil {
			continue
		}
		for x := range set.Find(h.port, s) {
			a.searches--
			if x == h || x == o || x.service != h.service || x.conn == h.conn || x.conn == o.conn {
				continue
			}
			for i := range x.conn.dir {
				if st := x.conn.seen(i); st.open && max(s.Diff(st.next), st.next.Diff(s)) < near {
					return true
				}
			}
		}
	}
	return false
}

// narrow returns the directions of best that matched the earlier ambiguous packets of h, too, and
// remembers them.
func (h *direction) narrow(best []*direction) []*direction {
	h.ambiguous++
	if len(best) > maxRivals {
		return h.rivals
	}
	if len(h.rivals) > 0 {
		best = slices.DeleteFunc(slices.Clone(best), func(o *direction) bool { return !slices.Contains(h.rivals, o) })
	}
	h.rivals = append(h.rivals[:0], best...)
	return h.rivals
}

// maxSamePort is the number of unpaired directions with one UDP source port up to which the port
// shows that two directions belong together. One of many has two queue pair numbers from which
// Linux would derive the port by chance.
const maxSamePort = 8

// fit returns the points of o as the other direction of the current packet, which belongs to h. 0
// means that o cannot be the other direction. back are all that can.
func (a *Analyzer) fit(h, o *direction, back *unpairedSet) int {
	points := 0
	if h.port == o.port && derivedPort(h.key.to, o.key.to) == h.port && back.WithPort(h.port) <= maxSamePort {
		points += fitsPort
	}
	if h.port == o.port {
		points += fitsSource
	}
	if a.info.Service == bth.ServiceUC {
		if points < fitsPort {
			return 0 // UC has no responses, so only the port can match
		}
		return points
	}
	s := a.p.BTH.PSN
	if !a.info.Response() {
		// o has acknowledged requests, none of which was captured: this one, the first of h,
		// continues after them.
		if st := o.conn.seen(1 - o.from); st.onlyAcks && o.ambiguous == 0 && !h.conn.seen(h.from).open &&
			s.Diff(st.una) >= 0 && s.Diff(st.una) < maxInFlight && (s > smallPSN || points >= fitsPort) {
			return points + fitsRange
		}
		if points >= fitsPort {
			return points
		}
		return 0
	}
	st := o.conn.seen(o.from)
	oldest := st.una
	if !st.exact {
		oldest = st.una.Sub(maxInFlight) // sent before the capture began
	}
	if !st.open || st.onlyAcks || s.Diff(oldest) < 0 {
		return 0
	}
	r, w := st.at(s), st.works.find(s)
	if s.Diff(st.next) >= 0 {
		if w = st.reach(s); w == nil || a.info.Op == bth.OpAck {
			return 0
		}
	}
	switch {
	case a.info.Op == bth.OpAck:
		if r != nil && r.ackReq {
			points += fitsExact
		}
	case w == nil || w.answerOp() != a.info.Op:
		return 0
	case a.info.Starts() && (r == nil || r.times == 0):
		// The first response to a request has its PSN; this one answers a request for the rest of a
		// READ that was not captured.
	case !a.info.Starts() && s == w.first:
		return 0
	default:
		points += fitsExact
	}
	return points + fitsRange
}

// maxInFlight is the assumed maximum number of packets that are in flight when a capture begins in
// the middle of a conversation.
const maxInFlight = 1024

// smallPSN is the PSN up to which connections that all began with PSN 0 are likely.
const smallPSN = 1 << 16

// join merges the directions h and o into one conversation and returns it. The flow with the lower
// number is kept.
func (a *Analyzer) join(h, o *direction) *conn {
	keep, other := h, o
	if o.conn.Number < h.conn.Number {
		keep, other = o, h
	}
	c, d := keep.conn, other.conn
	// The end that receives keep sends other.
	from := 1 - keep.from
	c.Ends[from].Addr = other.key.src
	c.Ends[1-from].QPN = other.key.to
	a.absorb(c, d, from == other.from)
	other.conn, other.from = c, from
	c.directions = append(c.directions, other)
	for _, x := range [...]*direction{h, o} {
		a.table.setPaired(x)
	}
	a.table.unlink(d)
	a.table.count--
	if a.o.Merged != nil {
		a.o.Merged(c.Flow, d.Flow)
	}
	if d.Packets == 0 && d.Number == a.table.number {
		a.table.number-- // its number was never visible
	}
	a.table.touch(c)
	return c
}

// applyResponses completes the messages of st up to those that the responses in o, captured before
// the directions were paired, answer.
func (a *Analyzer) applyResponses(st, o *stream) {
	if !o.open || !o.onlyAcks || !st.open || st.onlyAcks || o.una.Diff(st.una) > maxPSNDistance {
		return
	}
	if n := &o.nak; n.fresh && st.nak.frame == 0 && n.frame > st.back.frame && n.psn.Diff(st.next) < 0 {
		st.nak = *n
	}
	if o.una.Diff(st.una) <= 0 {
		return
	}
	una, q := o.una, &st.works
	for i := q.done; i < q.n; i++ {
		w := q.get(i)
		if w.first.Diff(una) >= 0 || w.open {
			break
		}
		ends := w.end.Diff(una) <= 0 && (w.whole || w.op != bth.OpReadRequest)
		if i+1 < q.n && q.get(i+1).first.Diff(una) <= 0 {
			ends = true
		}
		switch {
		case w.over:
		case ends:
			w.resp = w.end
			a.answered(w)
		case w.dataOp():
			w.resp, w.high = una, una
		}
	}
	if una.Diff(st.next) > 0 {
		una = st.next // the number of responses to the newest READ is unknown
	}
	st.una, st.exact = una, true
	st.expected = later(st.expected, una)
	a.advance(st)
}

// absorbRequests makes st, of another connection, the state of the requests that end i of c sends,
// if it is open and that of c has no request.
func (a *Analyzer) absorbRequests(c *conn, i int, st *stream) {
	own := c.side(i)
	if !st.open || own.open && (!own.onlyAcks || st.onlyAcks) {
		responses := *st
		a.finishOpen(st, "the connection began anew", false)
		a.use.records -= len(st.recs)
		a.applyResponses(own, &responses)
		return
	}
	responses := *own
	a.finishOpen(own, "", false)
	a.use.records -= len(own.recs)
	c.dir[i] = st
	st.works.adopt(c.Flow, i)
	a.applyResponses(st, &responses)
}

// absorb merges the state of d into c. same reports whether the ends of both have the same order.
func (a *Analyzer) absorb(c, d *conn, same bool) {
	for i := range d.dir {
		j := i
		if !same {
			j = 1 - i
		}
		if st := d.dir[i]; st != nil {
			a.absorbRequests(c, j, st)
			d.dir[i] = nil // moved or released: d must not release it again
		}
		c.ce[j] = max(c.ce[j], d.ce[i])
		c.notified[j] = c.notified[j] || d.notified[i]
	}
	a.absorbUpper(c, d, same)
	c.at, c.busy = max(c.at, d.at), c.busy || d.busy
	f, g := c.Flow, d.Flow
	g.merged, f.reported = f, f.reported.Plus(g.reported)
	f.selected = f.selected || g.selected
	f.Packets += g.Packets
	f.Bytes += g.Bytes
	f.Payload += g.Payload
	f.Messages += g.Messages
	f.Again += g.Again
	f.Duplicates += g.Duplicates
	f.LostBefore += g.LostBefore
	f.LostBehind += g.LostBehind
	f.NAKs += g.NAKs
	f.RNRs += g.RNRs
	f.CNPs += g.CNPs
	f.CE += g.CE
	f.Timeouts += g.Timeouts
	f.Undecided += g.Undecided
	f.Active = max(f.Active, g.Active)
	f.Window = max(f.Window, g.Window)
	f.MTU = max(f.MTU, g.MTU)
	f.Err = cmp.Or(f.Err, g.Err)
	if !f.HasVNI {
		f.VNI, f.HasVNI = g.VNI, g.HasVNI
	}
	if d.cm != nil && c.cm == nil {
		c.cm, d.cm.c = d.cm, c
	} else {
		a.cms.forget(d)
	}
	if f.CM == nil {
		f.CM = g.CM
	}
}
