package why

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

const (
	// maxRecords is the maximum number of flows with a record. Flows that do not match the
	// Complaint have none.
	maxRecords = 1 << 14
	// maxKept is the maximum number of findings and of messages kept of a flow: the first ones.
	maxKept = 16
	// maxAttempts is the maximum number of frames kept of the retransmissions of a PSN.
	maxAttempts = 16
)

// Collector collects what explains a Complaint. It is an Output of a [trace.Pipeline] without a
// Filter; Answer has the result when the Pipeline has run.
type Collector struct {
	c       Complaint
	records map[*trace.Flow]*record
	ended   []*record // flows that ended
	flows   int       // all flows that ended
	omitted int       // packets of flows without a record because of maxRecords
	sweep   int       // value of omitted from which on forgetMerged is called
	others  []string  // the first flows that do not match
}

// NewCollector returns a Collector for c.
func NewCollector(c Complaint) *Collector {
	return &Collector{c: c, records: map[*trace.Flow]*record{}}
}

// record is what is kept of a flow.
type record struct {
	flow     *trace.Flow
	ends     [2]endRecord // what each end of Flow.Ends sends
	findings []kept       // errors, RNR NAKs and rejects
	failed   []trace.Message
	more     int // failed messages that are not kept
	rnrs     [2]counted
}

// kept is a finding with its packet.
type kept struct {
	trace.Finding
	frame int
	at    time.Time
	from  int // index of the end that sent the packet
	psn   bth.PSN
	syn   bth.Syndrome
}

// counted is a number of packets, with the first and the last.
type counted struct {
	n           int
	first, last int // frames
	begin, end  time.Time
	psn, latest bth.PSN // of the first and of the last
}

func (c *counted) add(p *trace.Packet) {
	if c.n++; c.n == 1 {
		c.first, c.begin, c.psn = p.Number, p.Time, p.BTH.PSN
	}
	c.last, c.end, c.latest = p.Number, p.Time, p.BTH.PSN
}

// endRecord is what one end sends.
type endRecord struct {
	requests  counted
	responses counted
	// stuck is the PSN that was retransmitted last, as the first of a run.
	stuck    bth.PSN
	attempts counted
	frames   []int // of attempts
	original int   // first frame of the message of stuck
	// naks are the sequence NAKs for one PSN, and acks the responses up to one PSN: the latest ones
	// from the other end.
	naks, acks counted
	acked      bth.PSN // that of acks
}

// Packet collects from p.
func (c *Collector) Packet(p *trace.Packet) error {
	f := p.Flow
	if f == nil {
		return nil
	}
	r := c.records[f]
	if r == nil {
		if !c.mayMatch(f) {
			return nil
		}
		if len(c.records) >= maxRecords && !c.forgetMerged() {
			c.omitted++
			return nil
		}
		r = &record{flow: f}
		c.records[f] = r
	}
	r.add(p)
	return nil
}

// forgetMerged removes the records of flows that were merged into others, and reports whether it
// removed one. If they are few, it does nothing for the next maxRecords packets without a record:
// else it would examine all flows for nearly every packet.
func (c *Collector) forgetMerged() bool {
	if c.omitted < c.sweep {
		return false
	}
	for f := range c.records {
		if f.Current() != f {
			delete(c.records, f)
		}
	}
	if len(c.records) > maxRecords-maxRecords/16 {
		c.sweep = c.omitted + maxRecords
	}
	return len(c.records) < maxRecords
}

// from returns the index of the end that sent p.
func from(f *trace.Flow, p *trace.Packet) int {
	to := f.Ends[1]
	if p.Src.Addr() == f.Ends[0].Addr && p.Dst.Addr() == to.Addr && (to.QPN == p.BTH.DestQP || to.QPN == 0 ||
		p.Src.Addr() != p.Dst.Addr()) {
		return 0
	}
	return 1
}

func (r *record) add(p *trace.Packet) {
	i := from(r.flow, p)
	e, o := &r.ends[i], &r.ends[1-i]
	switch p.Role {
	case trace.Request:
		e.requests.add(p)
		if p.Again {
			e.again(p)
		}
	case trace.Response, trace.Ack:
		e.responses.add(p)
		o.answered(p)
		if p.Role == trace.Ack && p.BTH.AETH.Syndrome.IsRNR() {
			r.rnrs[1-i].add(p)
		}
	}
	for _, f := range p.Findings {
		switch f.Kind {
		case trace.ErrorNAK, trace.CMRejected, trace.NotGoBackN, trace.InconsistentLength:
			if len(r.findings) < maxKept {
				r.findings = append(r.findings, kept{f, p.Number, p.Time, i, p.BTH.PSN, p.BTH.AETH.Syndrome})
			}
		}
	}
}

// again processes the retransmission p.
func (e *endRecord) again(p *trace.Packet) {
	d := p.BTH.PSN.Diff(e.stuck)
	switch {
	case e.attempts.n > 0 && d == 0:
	case e.attempts.n > 0 && d > 0 && !e.covered():
		return // it follows the retransmission of an earlier PSN that is not answered yet
	default:
		e.stuck, e.attempts, e.frames, e.original = p.BTH.PSN, counted{}, nil, 0
		if p.Message != nil {
			e.original = p.Message.Frames[0]
		}
	}
	e.attempts.add(p)
	if len(e.frames) < maxAttempts {
		e.frames = append(e.frames, p.Number)
	}
}

// covered reports whether the latest responses cover stuck.
func (e *endRecord) covered() bool { return e.acks.n > 0 && e.acked.Diff(e.stuck) >= 0 }

// requested reports whether the latest sequence NAKs request stuck.
func (e *endRecord) requested() bool { return e.naks.n > 0 && e.naks.psn == e.stuck }

// answered processes p, a response to requests of e.
func (e *endRecord) answered(p *trace.Packet) {
	s, syn := p.BTH.PSN, p.BTH.AETH.Syndrome
	if p.Role == trace.Ack && syn == bth.NakPSNSequence {
		if s != e.naks.psn {
			e.naks = counted{}
		}
		e.naks.add(p)
	}
	if p.Role == trace.Ack && !syn.IsAck() {
		s = s.Sub(1)
	}
	if s != e.acked {
		e.acks, e.acked = counted{}, s
	}
	e.acks.add(p)
}

// Message collects messages that failed, or have no response.
func (c *Collector) Message(m *trace.Message) error {
	r := c.records[m.Flow]
	if r == nil || m.Flow.Service != bth.ServiceRC || m.Done || m.Evicted {
		return nil
	}
	if len(r.failed) >= maxKept {
		r.more++
		return nil
	}
	r.failed = append(r.failed, *m)
	return nil
}

// maxOthers is the maximum number of flows that an Answer without a match lists.
const maxOthers = 16

// Flow ends the record of f.
func (c *Collector) Flow(f *trace.Flow) error {
	c.flows++
	if r := c.records[f]; r != nil {
		delete(c.records, f)
		if c.matches(f) && len(c.ended) < maxRecords {
			c.ended = append(c.ended, r)
			return nil
		}
	}
	if len(c.others) < maxOthers {
		c.others = append(c.others, describe(f))
	}
	return nil
}

// mayMatch reports whether f matches, as far as its ends are known.
func (c *Collector) mayMatch(f *trace.Flow) bool {
	_, ok := c.end(f, true)
	return ok
}

func (c *Collector) matches(f *trace.Flow) bool {
	_, ok := c.end(f, false)
	return ok
}

// end returns the index of the end of f that the line is about; -1 if it may be both. ok reports
// whether f matches. partly accepts queue pairs that are not known yet.
func (c *Collector) end(f *trace.Flow, partly bool) (end int, ok bool) {
	end = -1
	for i := range f.Ends {
		l, r := f.Ends[i], f.Ends[1-i]
		if fits(l, c.c.Local, c.c.QPN, partly) && fits(r, c.c.Remote, c.c.PeerQPN, partly) {
			if ok {
				return -1, true // both directions fit
			}
			end, ok = i, true
		}
	}
	return end, ok
}

// fits reports whether e has the address and the queue pair, of which each may be unknown.
func fits(e trace.End, a netip.Addr, q bth.QPN, partly bool) bool {
	if a.IsValid() && e.Addr.Unmap() != a {
		return false
	}
	return q == 0 || e.QPN == q || partly && e.QPN == 0
}
