package trace

import (
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/ulp"
)

// Message is the message of one work request.
type Message struct {
	Number int // in its flow, from 1
	Flow   *Flow
	From   int // index in Flow.Ends of the requester
	Verb   string
	Op     bth.Operation
	First  bth.PSN // PSN of its first packet
	Last   bth.PSN // PSN of its last packet; final if Done, or if a RETH specified the length
	// Bytes is the length: for WRITE and READ from the RETH, for SEND the payload so far.
	Bytes   uint64
	Packets int // request packets, or response packets of a READ; without retransmissions
	Again   int // retransmitted packets
	Begin   time.Time
	End     time.Time // time of the acknowledgement or of the last response
	Frames  [2]int    // numbers of its first and last frame
	Done    bool      // acknowledged or answered
	Failed  string    // why it failed, or ""
	Partial bool      // its first packet was not captured
	Evicted bool      // evicted before its end, because of the limit on messages or flows

	// WR and WC describe the work request and its completion, as the comments in gorxe's own traces
	// do; empty in other captures.
	WR, WC string

	// ULP is its role in the upper-layer protocol of the connection; nil if that is unknown, or if
	// the message has none that can be told.
	ULP *ulp.Role

	selected bool // a Pipeline selected a packet of it
}

// Latency returns the time from the first packet to the last response, 0 if unknown; see
// [Message.HasLatency].
func (m *Message) Latency() time.Duration {
	if !m.Done {
		return 0
	}
	return elapsed(m.Begin, m.End)
}

// HasLatency reports whether the message was answered and its latency is known. The latency is
// unknown if timestamps are missing or go back.
func (m *Message) HasLatency() bool {
	return m.Latency() > 0 || m.Done && !m.End.IsZero() && m.End.Equal(m.Begin)
}

// workBetween returns the message of the current packet, a retransmission with PSN s that lies
// before the newest message but in none of those known, or nil for a new message: the packet
// extends the message before it, or one whose beginning was not captured so far.
func (a *Analyzer) workBetween(c *conn, st *stream, s bth.PSN) *work {
	q := &st.works
	i := q.after(s)
	var before *work
	if i > 0 {
		before = q.get(i - 1)
	}
	extends := before != nil && before.open && before.end == s && before.op == a.info.Op && !a.info.Starts()
	switch begins := i < q.n && a.beginsBefore(c, q.get(i), s); {
	case begins && extends:
		before.end = s.Add(1)
		a.unite(c, st, i-1)
		return q.get(i - 1)
	case extends:
		before.end = s.Add(1)
		return before
	case begins:
		w := q.get(i)
		w.first, w.resp, w.high, w.m.First = s, s, s, s
		if a.info.Pos == bth.First {
			w.m.Partial = false
			if a.info.Headers&bth.HasRETH != 0 {
				a.useRETH(c, w)
			}
		}
		return w
	}
	return nil
}

// beginsBefore reports whether the current packet, with PSN s, belongs to w, whose captured packets
// have newer PSNs.
func (a *Analyzer) beginsBefore(c *conn, w *work, s bth.PSN) bool {
	if w.op != a.info.Op || !w.m.Partial || w.over || a.info.Pos != bth.First && a.info.Pos != bth.Middle {
		return false
	}
	if s.Add(1) == w.first {
		return true
	}
	if w.op != bth.OpWrite || a.info.Pos != bth.First {
		return false // there may be the end of a message in between
	}
	n, ok := packets(uint64(a.p.BTH.RETH.DMALen), c.MTU)
	return ok && n <= maxSpan && w.first.Diff(s) < int32(n)
}

// unite unites message i of st with the next one, the rest of it. The number of the rest, which was
// captured first, is kept.
func (a *Analyzer) unite(c *conn, st *stream, i int) {
	q := &st.works
	first, w := *q.get(i), q.get(i+1)
	m := w.m
	w.first, w.resp, w.high, w.got = first.first, first.first, first.first, w.got+first.got
	m.First, m.Partial = first.first, first.m.Partial
	m.Packets += first.m.Packets
	m.Again += first.m.Again
	if first.reth {
		w.reth, w.total, w.va, w.rkey = true, first.total, first.va, first.rkey
		m.Bytes = w.total
	} else {
		m.Bytes = w.got
	}
	if first.m.Number == int(c.Messages) {
		c.Messages--
	}
	q.remove(i)
	a.use.works--
}

// arrived completes the UC message w if the current packet is its last one; UC has no responses.
func (a *Analyzer) arrived(st *stream, w *work) {
	if w.over || !a.info.Ends() {
		return
	}
	if got := int(w.end.Diff(w.first)); !w.m.Partial && w.m.Packets < got {
		w.m.Failed = "packets are missing, so the receiver drops the message"
	}
	a.finish(w)
	st.una, st.exact = w.end, false
	a.advance(st)
}

// bound evicts the oldest open messages of st while it has more than Options.Outstanding, or more
// than minWorks when all streams together have more than totalWorks.
func (a *Analyzer) bound(st *stream) {
	q := &st.works
	for n := q.n - q.done; n > a.o.Outstanding || n > minWorks && a.use.works > totalWorks; n = q.n - q.done {
		w := q.get(q.done)
		if !w.over {
			w.m.Evicted = true
			a.finish(w)
		}
		a.advance(st)
	}
}

// advance moves the counter works.done past messages that are over. It then forgets the oldest of
// these: at most kept remain, and none while all streams together have more than totalWorks
// messages.
func (a *Analyzer) advance(st *stream) {
	if st.una != st.advancedTo {
		st.advancedTo, st.advanced = st.una, a.at
	}
	q := &st.works
	for q.done < q.n && q.get(q.done).over {
		q.done++
	}
	for q.done > kept || q.done > 0 && a.use.works > totalWorks {
		q.drop()
		a.use.works--
	}
}

// finish marks w as over and passes its message to the callback.
func (a *Analyzer) finish(w *work) {
	w.over = true
	if a.o.Message != nil {
		a.o.Message(w.m)
	}
}

// finishOpen finishes all open messages of st. RC messages fail with the reason why, unless it is
// "". evicted is the value of Message.Evicted.
func (a *Analyzer) finishOpen(st *stream, why string, evicted bool) {
	q := &st.works
	for i := range q.n {
		if w := q.get(i); !w.over {
			if w.m.Failed == "" && w.m.Flow.Service == bth.ServiceRC {
				w.m.Failed = why
			}
			w.m.Evicted = evicted
			a.finish(w)
		}
	}
	a.use.works -= q.n
	*q = works{ring: q.ring}
	if len(q.ring) > smallRing {
		q.ring = nil // do not keep a large ring for a stream without messages
	}
	clear(q.ring)
}

// verb returns the verb of the message of a request packet, as far as this packet tells.
func verb(info *bth.OpcodeInfo) string {
	switch {
	case info.Headers&bth.HasIETH != 0:
		return "SEND with invalidate"
	case info.Op == bth.OpSend && info.Headers&bth.HasImmDt != 0:
		return "SEND with immediate"
	case info.Op == bth.OpWrite && info.Headers&bth.HasImmDt != 0:
		return "WRITE with immediate"
	}
	return verbs[info.Op]
}

// Verbs returns the verbs that a [Message] can have.
func Verbs() []string {
	var all []string
	for o := range bth.Opcodes() {
		if i := o.Info(); i.Request() && !slices.Contains(all, verb(i)) {
			all = append(all, verb(i))
		}
	}
	return all
}

// verbs are the verbs by operation, without the variants that function verb adds.
var verbs = [...]string{
	bth.OpSend: "SEND", bth.OpWrite: "WRITE", bth.OpReadRequest: "READ", bth.OpCmpSwap: "CAS", bth.OpFetchAdd: "FAA",
	bth.OpFlush: "FLUSH", bth.OpAtomicWrite: "ATOMIC WRITE", bth.OpCNP: "CNP",
}

// maxProbes is the number of SENDs of a flow from which its upper-layer protocol is determined, if
// no REQ tells it.
const maxProbes = 16

// upperLayer determines the role of w, whose current packet end from of c sent, in the upper-layer
// protocol, and appends it to the meaning of the packet with its header or its RETH.
func (a *Analyzer) upperLayer(c *conn, from int, w *work) {
	reth := a.info.Headers&bth.HasRETH != 0
	if c.upper == nil && c.probes >= maxProbes || !reth && (a.info.Op != bth.OpSend || !a.info.Starts()) ||
		c.Service != bth.ServiceRC {
		return
	}
	if w.m.ULP == nil && a.good {
		if reth {
			w.m.ULP = a.transfer(c, from)
		} else {
			w.m.ULP = a.header(c, from, w.m)
		}
	}
	if w.m.ULP != nil && !a.line.quiet {
		a.line.b = w.m.ULP.Append(append(a.line.b, "; "...))
	}
}

// transfer returns the role of a WRITE or READ.
func (a *Analyzer) transfer(c *conn, from int) *ulp.Role {
	if c.upper == nil || a.info.Op != bth.OpWrite && a.info.Op != bth.OpReadRequest {
		return nil
	}
	r := &a.p.BTH.RETH
	return c.upper.Transfer(from, a.info.Op == bth.OpWrite, r.VA, uint64(r.DMALen), r.RKey)
}

// header returns the role of the SEND m, whose first packet is the current one.
func (a *Analyzer) header(c *conn, from int, m *Message) *ulp.Role {
	b := &a.p.BTH
	x := ulp.Sent{From: from, Payload: b.Payload, Length: a.size, Message: m.Number, Frame: a.p.Number,
		Invalidate: a.info.Headers&bth.HasIETH != 0, Key: b.InvalidateRKey}
	if !a.info.Ends() {
		x.Length = ulp.UnknownLen
	}
	if a.at != noTime {
		x.At = a.p.Time
	}
	if c.upper == nil {
		c.probes++
		a.setUpper(c, ulp.FromSEND(from, x.Payload, x.Length, &a.uppers))
	}
	if c.upper == nil {
		return nil
	}
	return c.upper.Send(&x)
}

// setUpper sets the session of c, unless s is nil.
func (a *Analyzer) setUpper(c *conn, s *ulp.Session) {
	if s != nil {
		c.upper, c.ULP = s, s.Protocol()
	}
}

// dropUpper closes the session of c, which ends.
func (c *conn) dropUpper() {
	if c.upper != nil {
		c.upper.Close()
		c.upper = nil
	}
}

// absorbUpper moves the session of d to c, into which d is merged. same reports whether the ends of
// both have the same order.
func (a *Analyzer) absorbUpper(c, d *conn, same bool) {
	if c.upper == nil && d.upper != nil {
		if !same {
			d.upper.SwapEnds()
		}
		a.setUpper(c, d.upper)
		d.upper = nil
	}
	d.dropUpper()
}
