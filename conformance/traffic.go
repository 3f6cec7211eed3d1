package conformance

import (
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// measurement is a kind of measurement that the packets of any case yield.
type measurement uint8

const (
	ackLatency measurement = iota
	gapLatency
	nakLatency
	rnrLatency
	readLatency
	atomicLatency
	duplicateLatency
	coalesced
	segment
	segmentInterval
	cnpInterval
	measurements // number of kinds
)

// quantities are the name and unit of each kind.
var quantities = [measurements]Value{
	ackLatency:       {Name: "request to ACK", Unit: "µs"},
	gapLatency:       {Name: "gap to NAK", Unit: "µs"},
	nakLatency:       {Name: "invalid request to NAK", Unit: "µs"},
	rnrLatency:       {Name: "request to RNR NAK", Unit: "µs"},
	readLatency:      {Name: "READ to response", Unit: "µs"},
	atomicLatency:    {Name: "atomic to response", Unit: "µs"},
	duplicateLatency: {Name: "duplicate to reply", Unit: "µs"},
	coalesced:        {Name: "requests with AckReq per ACK"},
	segment:          {Name: "payload of READ FIRST, MIDDLE", Unit: "bytes"},
	segmentInterval:  {Name: "between READ response packets", Unit: "µs"},
	cnpInterval:      {Name: "between CNPs", Unit: "µs"},
}

// traffic measures how the device replied in the packets of a case, which are in order of time. The
// times to replies are of requests that were alone in flight, except of a gap.
func traffic(entries []Entry, conns []*Conn) []Value {
	m := meter{values: quantities, sent: map[bth.QPN]*requests{}, received: map[bth.QPN]*requests{}}
	for _, c := range conns {
		if c.Target.QPN != 0 {
			q := &requests{all: map[bth.PSN]*request{}}
			m.sent[c.Target.QPN], m.received[c.Local.QPN] = q, q
		}
	}
	for i := range entries {
		e := &entries[i]
		var p bth.Packet
		if p.Decode(e.Bytes) != nil {
			continue
		}
		switch info := p.Opcode.Info(); {
		case e.Sent && info.Service == bth.ServiceRC && info.Request():
			if q := m.sent[p.DestQP]; q != nil {
				q.send(e.At, &p)
			}
		case !e.Sent:
			if q := m.received[p.DestQP]; q != nil {
				m.reply(q, e.At, &p)
			}
		}
	}
	return slices.DeleteFunc(m.values[:], func(v Value) bool { return len(v.Samples) == 0 })
}

// meter measures. The requests of each connection are found by the QPN of the device in packets
// that were sent, and by that of the tester in packets that were received.
type meter struct {
	values         [measurements]Value
	sent, received map[bth.QPN]*requests
}

func (m *meter) add(k measurement, x float64) {
	m.values[k].Samples = append(m.values[k].Samples, x)
}

func (m *meter) since(k measurement, begin, end time.Time) {
	m.add(k, float64(end.Sub(begin).Nanoseconds())/1e3)
}

// requests are the requests of a connection.
type requests struct {
	all     map[bth.PSN]*request
	pending []bth.PSN // not answered
	// since are the requests since the last reply, in order.
	since []*request
	// segment is the time of the last packet of a READ response that continues, cnp that of the
	// last CNP.
	segment, cnp time.Time
}

// request is the latest packet of the tester with a PSN.
type request struct {
	psn       bth.PSN
	at        time.Time
	op        bth.Operation
	ackReq    bool // and answered with an ACK
	answered  bool
	duplicate bool // and not yet answered again
}

func (q *requests) send(at time.Time, p *bth.Packet) {
	r := q.all[p.PSN]
	if r == nil {
		r = &request{psn: p.PSN}
		q.all[p.PSN] = r
		q.pending = append(q.pending, p.PSN)
	}
	r.at, r.op = at, p.Opcode.Info().Op
	r.ackReq = p.AckReq && (r.op == bth.OpSend || r.op == bth.OpWrite)
	r.duplicate = r.answered
	q.since = append(q.since, r)
}

// answer marks the requests up to psn as answered, and returns the number of those that asked for
// an ACK.
func (q *requests) answer(psn bth.PSN) (n int) {
	q.pending = slices.DeleteFunc(q.pending, func(p bth.PSN) bool {
		if p.Diff(psn) > 0 {
			return false
		}
		r := q.all[p]
		if r.answered = true; r.ackReq {
			n++
		}
		return true
	})
	return n
}

// reply measures a packet of the device.
func (m *meter) reply(q *requests, at time.Time, p *bth.Packet) {
	r := q.all[p.PSN]
	switch p.Opcode.Info().Op {
	case bth.OpCNP:
		if !q.cnp.IsZero() {
			m.since(cnpInterval, q.cnp, at)
		}
		q.cnp = at
		return
	case bth.OpAck:
		m.acknowledge(q, r, at, p)
	case bth.OpAtomicAck:
		m.respond(atomicLatency, q, r, at)
		q.answer(p.PSN)
	case bth.OpReadResponse:
		m.data(q, r, at, p)
		q.answer(p.PSN)
	default:
		return
	}
	q.since = nil
}

// acknowledge measures an ACK or NAK of r, which is nil if no request has its PSN.
func (m *meter) acknowledge(q *requests, r *request, at time.Time, p *bth.Packet) {
	switch s := p.AETH.Syndrome; {
	case s.IsAck():
		if r != nil && r.ackReq {
			m.respond(ackLatency, q, r, at)
		}
		if n := q.answer(p.PSN); n > 0 {
			m.add(coalesced, float64(n))
		}
	case s == bth.NakPSNSequence:
		i := slices.IndexFunc(q.since, func(r *request) bool { return r.psn.Diff(p.PSN) > 0 })
		if i >= 0 {
			m.since(gapLatency, q.since[i].at, at)
		}
	case !q.alone(r):
	case s.IsRNR():
		m.since(rnrLatency, r.at, at)
	case s.IsNak():
		m.since(nakLatency, r.at, at)
	}
}

// alone reports whether r is the only request in flight, and nothing was received since it was
// sent: then the time to its reply is that of the device. r may be nil.
func (q *requests) alone(r *request) bool {
	switch n := len(q.since); {
	case n == 0 || q.since[n-1] != r:
		return false
	case len(q.pending) == 0:
		return r.duplicate
	default:
		return len(q.pending) == 1 && r.psn == q.pending[0]
	}
}

// respond measures the reply to r.
func (m *meter) respond(k measurement, q *requests, r *request, at time.Time) {
	if !q.alone(r) {
		return
	}
	if r.duplicate {
		k, r.duplicate = duplicateLatency, false
	}
	m.since(k, r.at, at)
}

// data measures a packet of a READ response. r is its request if it is the first one.
func (m *meter) data(q *requests, r *request, at time.Time, p *bth.Packet) {
	info := p.Opcode.Info()
	if info.Starts() && r != nil && r.op == bth.OpReadRequest { // not FLUSH or ATOMIC WRITE
		m.respond(readLatency, q, r, at)
	}
	if !info.Starts() && !q.segment.IsZero() {
		m.since(segmentInterval, q.segment, at)
	}
	q.segment = time.Time{}
	if !info.Ends() {
		q.segment = at
		m.add(segment, float64(len(p.Payload)))
	}
}
