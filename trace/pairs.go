package trace

import (
	"cmp"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

func sortByNumber(all []*conn) {
	slices.SortFunc(all, func(x, y *conn) int { return cmp.Compare(x.Number, y.Number) })
}

// half returns the direction of the conversation that the packet in hand belongs to.
func (a *Analyzer) half() *half {
	p := a.p
	key := halfKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP}
	h := a.table.find(key)
	if h != nil && h.service != 0 && h.service != a.info.Service {
		h = nil // the queue pair's number serves another one
	}
	if h == nil {
		h = a.begin(key)
	}
	h.service = a.info.Service
	h.port = p.Src.Port()
	h.packets++
	a.table.touch(h.conn)
	return h
}

// begin makes a conversation that the capture has nothing of yet. Who asks is at its first end.
func (a *Analyzer) begin(key halfKey) *half {
	c := a.table.add(a.info.Service, a.p)
	from := 0
	if a.info.Response() {
		from = 1
	}
	c.Ends[from].Addr = key.src
	c.Ends[1-from] = End{Addr: key.dst, QPN: key.to}
	c.Running = !a.info.Starts() || a.info.Response()
	h := a.table.attach(key, c, from)
	a.table.loosen(h)
	return h
}

// How well two directions fit, as a number of points.
const (
	fitsPort   = 8 // the UDP source port is the one that Linux derives from the two queue pair numbers
	fitsExact  = 4 // a response to just that kind of request, or an acknowledgement of a packet that asked for one
	fitsSource = 2 // both use the same UDP source port
	fitsRange  = 1 // the PSN is one that waits for an answer
)

// maxAmbiguous is how many acknowledgements a direction may have that fit several others equally well before the first of them
// is taken.
const maxAmbiguous = 16

// pair returns the conversation of h. If its other direction is not known yet, it looks whether the packet in hand tells.
func (a *Analyzer) pair(h *half) *conn {
	if h.paired {
		return h.conn
	}
	var best *half
	points, ties := 0, 0
	back := a.table.loose[way{h.key.src, h.key.dst}.back()]
	for _, o := range back {
		if o.service != a.info.Service || o.conn == h.conn {
			continue
		}
		switch n := a.fit(h, o); {
		case n > points:
			best, points, ties = o, n, 0
		case n > 0 && n == points:
			ties++
		}
	}
	if best == nil {
		return h.conn
	}
	if ties > 0 {
		if h.tries++; h.tries < maxAmbiguous {
			return h.conn
		}
	}
	return a.join(h, best)
}

// fit says how well the packet in hand, of h, goes with the direction o; 0 means not at all.
func (a *Analyzer) fit(h, o *half) int {
	points := 0
	if derivedPort(h.key.to, o.key.to) == h.port && h.port == o.port {
		points += fitsPort
	}
	if h.port == o.port {
		points += fitsSource
	}
	if a.info.Service == bth.ServiceUC {
		if points < fitsPort {
			return 0 // nothing answers in an unreliable connection, so nothing else tells
		}
		return points
	}
	s := a.p.BTH.PSN
	if !a.info.Response() {
		// What o acknowledged before the capture had any request of h is what h goes on from.
		if st := &o.conn.dir[1-o.from]; st.onlyAcks && s.Diff(st.una) >= 0 && s.Diff(st.una) < maxUnder {
			return points + fitsRange
		}
		if points >= fitsPort {
			return points
		}
		return 0
	}
	st := &o.conn.dir[o.from]
	oldest := st.una
	if !st.exact {
		oldest = st.una.Sub(maxUnder) // what was sent before the capture began
	}
	if !st.open || st.onlyAcks || s.Diff(oldest) < 0 || s.Diff(st.next) >= 0 {
		return 0
	}
	r := st.at(s)
	switch w := st.works.find(s); {
	case a.info.Op == bth.OpAck:
		if r != nil && r.ackReq {
			points += fitsExact
		}
	case w == nil || w.answerOp() != a.info.Op:
		return 0
	default:
		points += fitsExact
	}
	return points + fitsRange
}

// maxUnder is how many packets may be under way in a conversation that the capture begins in the middle of.
const maxUnder = 1024

// derivedPort is the UDP source port that Linux gives a connection without a flow label, from both queue pair numbers.
func derivedPort(x, y bth.QPN) uint16 {
	v := uint64(x) * uint64(y)
	v ^= v >> 20
	v ^= v >> 40
	fl := uint32(v & 0xfffff)
	return uint16(0xc000 | (fl&0x3fff ^ fl>>14))
}

// join makes one conversation of two directions. The one that was seen first keeps its flow.
func (a *Analyzer) join(h, o *half) *conn {
	keep, other := h, o
	if o.conn.Number < h.conn.Number {
		keep, other = o, h
	}
	c, d := keep.conn, other.conn
	// other is sent by the end that keep goes to.
	from := 1 - keep.from
	c.Ends[from].Addr = other.key.src
	c.Ends[1-from].QPN = other.key.to
	a.absorb(c, d, from == other.from)
	other.conn, other.from = c, from
	c.halves = append(c.halves, other)
	for _, x := range [...]*half{h, o} {
		x.paired = true
		a.table.tighten(x)
	}
	a.table.unlink(d)
	a.table.count--
	if d.Packets == 0 && d.Number == a.table.number {
		a.table.number-- // nobody was told of it
	}
	a.table.touch(c)
	return c
}

// absorb takes over what was seen of d, whose ends are those of c in the same order or swapped.
func (a *Analyzer) absorb(c, d *conn, same bool) {
	for i := range d.dir {
		j := i
		if !same {
			j = 1 - i
		}
		if d.dir[i].open && (!c.dir[j].open || c.dir[j].onlyAcks && !d.dir[i].onlyAcks) {
			a.giveUp(&c.dir[j], "", false)
			a.use.records -= len(c.dir[j].recs)
			c.dir[j] = d.dir[i]
			c.dir[j].works.adopt(c.Flow, j)
		} else {
			a.giveUp(&d.dir[i], "the connection began anew", false)
			a.use.records -= len(d.dir[i].recs)
		}
		d.dir[i] = stream{} // taken over or given back: d has no claim on it
		c.ce[j] = max(c.ce[j], d.ce[i])
		c.tell[j] = c.tell[j] || d.tell[i]
	}
	f, g := c.Flow, d.Flow
	f.chosen = f.chosen || g.chosen
	f.Packets += g.Packets
	f.Bytes += g.Bytes
	f.Payload += g.Payload
	f.Messages += g.Messages
	f.Again += g.Again
	f.Lost += g.Lost
	f.NAKs += g.NAKs
	f.RNRs += g.RNRs
	f.CNPs += g.CNPs
	f.Timeouts += g.Timeouts
	f.Window = max(f.Window, g.Window)
	f.MTU = max(f.MTU, g.MTU)
	f.Err = cmp.Or(f.Err, g.Err)
	if d.cm != nil && c.cm == nil {
		c.cm, d.cm.c = d.cm, c
	} else {
		a.cms.forget(d)
	}
	if f.Managed == nil {
		f.Managed = g.Managed
	}
}
