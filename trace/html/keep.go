package html

import (
	"slices"
	"sort"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/ulp"
)

// rank is the importance of a packet for a page that cannot contain all.
type rank uint8

const (
	quiet     rank = iota // far from any finding
	nearAgain             // context of a packet of rank again
	again                 // warning like earlier ones of its flow
	near                  // context of a packet of rank problem
	problem               // error, one of the first warnings of its kind in its flow, or a lesson

	numRanks = int(iota)
)

const (
	// contextBefore and contextAfter are the numbers of packets of the same flow that a packet with
	// a warning or error takes along.
	contextBefore = 16
	contextAfter  = 8
	// lookBack is the maximum distance at which contextBefore is searched, in packets.
	lookBack = 1024
	// firstWarnings is the number of warnings of a kind in a flow that have rank problem.
	firstWarnings = 3
	// maxCounted limits the pairs of flow and kind that are counted; warnings of others have rank
	// again.
	maxCounted = 1 << 14
	// maxContexts limits the flows in which the context after a finding is collected at a time.
	maxContexts = 4096
)

// kept is a copy of a packet, without its payload.
type kept struct {
	packet   trace.Packet // Bytes has headers only; Frame, Comments and BTH.Payload are nil
	captured int          // number of captured bytes, from BTH to ICRC
	seq      int          // number of selected packets before this one
	nth      int          // number of selected packets of its flow up to this one; 0: not counted
	rank     rank
	lessons  []int // indexes in lessons

	// Values that filters used at the time of the packet: later packets may change them.
	ends [2]trace.End // of the flow
	ulp  ulp.Protocol // of the flow
	verb string       // of the message

	headers []group // fields that need the payload, or nil: see headers
	grh     fabric.GRH
	lrh     fabric.LRH
}

// selection keeps up to max packets. Of a larger capture it keeps the packets with findings and
// those around them, and then the first ones.
type selection struct {
	max  int
	list []*kept // in capture order; up to limit
	free []*kept // for reuse
	seen int     // number of packets

	counted  map[flowKind]uint8
	contexts map[*trace.Flow]context
}

type flowKind struct {
	flow *trace.Flow
	kind trace.Kind
}

// context is the number of packets after a finding whose ranks are still to be raised.
type context struct{ near, nearAgain int }

func newSelection(max int) selection {
	return selection{max: max, counted: map[flowKind]uint8{}, contexts: map[*trace.Flow]context{}}
}

// limit returns the length at which list is shortened to max packets. The distance makes the cost
// of shortening constant per packet.
func (s *selection) limit() int { return s.max + s.max/4 + 64 }

// omitted returns the number of packets that are not kept.
func (s *selection) omitted() int { return s.seen - min(len(s.list), s.max) }

// add keeps a copy of k for now. k is the nth packet of its flow; lessons are the lessons that it
// demonstrates.
func (s *selection) add(k *trace.Packet, nth int, lessons []int) {
	e := s.copyOf(k)
	e.seq, e.nth, e.lessons = s.seen, nth, lessons
	s.seen++
	e.rank = s.rankOf(k)
	around := quiet
	switch e.rank {
	case problem:
		around = near
	case again:
		around = nearAgain
	}
	if len(lessons) > 0 {
		e.rank = problem
	}
	s.after(e, around)
	if around != quiet {
		s.before(e, around)
	}
	if s.list = append(s.list, e); len(s.list) >= s.limit() {
		s.shorten(min(lookBack, s.max/4))
	}
}

// copyOf returns a copy of what a page shows of k.
func (s *selection) copyOf(k *trace.Packet) *kept {
	var e *kept
	if n := len(s.free); n > 0 {
		e, s.free = s.free[n-1], s.free[:n-1]
	} else {
		e = &kept{}
	}
	bytes, outer := e.packet.Bytes[:0], e.packet.Outer[:0]
	n := maxHeaders
	if k.MAD != nil {
		n = len(k.Bytes) // the fields of the message are in it
	}
	*e = kept{packet: *k, captured: len(k.Bytes)}
	if k.Flow != nil {
		e.ends, e.ulp = k.Flow.Ends, k.Flow.ULP
	}
	if k.Message != nil {
		e.verb = k.Message.Verb
		if k.Message.ULP != nil && k.BTH.Opcode.Info().Starts() {
			e.headers = headers(k)
		}
	}
	p := &e.packet
	p.Bytes, p.Outer = append(bytes, k.Bytes[:min(n, len(k.Bytes))]...), append(outer, k.Outer...)
	if k.GRH != nil {
		e.grh = *k.GRH
		p.GRH = &e.grh
	}
	if k.LRH != nil {
		e.lrh = *k.LRH
		p.LRH = &e.lrh
	}
	p.Frame, p.Comments, p.BTH.Payload = nil, nil, nil
	p.MAD = cloneMAD(k.MAD)
	p.Findings = slices.Clone(k.Findings)
	for i := range p.Findings {
		p.Findings[i].Frames = slices.Clone(p.Findings[i].Frames)
	}
	return e
}

// maxHeaders is the maximum length of BTH and extension headers in bytes: BTH, DETH, RETH and more
// than any combination of the others.
const maxHeaders = bth.BTHLen + bth.DETHLen + bth.RETHLen + bth.AtomicETHLen

// cloneMAD returns a copy of m that shares nothing with it; nil for nil.
func cloneMAD(m *mad.Message) *mad.Message {
	if m == nil {
		return nil
	}
	c := *m
	for _, b := range []*[]byte{
		&c.REQ.PrivateData, &c.MRA.PrivateData, &c.REJ.PrivateData, &c.REJ.ARI, &c.REP.PrivateData, &c.RTU.PrivateData,
		&c.DREQ.PrivateData, &c.DREP.PrivateData, &c.SIDRREQ.PrivateData, &c.SIDRREP.PrivateData,
		&c.SIDRREP.AdditionalInformation,
	} {
		*b = slices.Clone(*b)
	}
	return &c
}

// rankOf returns the rank of k for its own findings.
func (s *selection) rankOf(k *trace.Packet) rank {
	r := quiet
	if k.Err != nil {
		r = problem
	}
	for i := range k.Findings {
		f := &k.Findings[i]
		switch {
		case f.Level >= trace.Error:
			r = problem
		case f.Level == trace.Warning:
			r = max(r, s.count(flowKind{k.Flow, f.Kind}))
		}
	}
	return r
}

// count counts a warning and returns its rank.
func (s *selection) count(key flowKind) rank {
	n, ok := s.counted[key]
	switch {
	case n >= firstWarnings, !ok && len(s.counted) >= maxCounted:
		return again
	}
	s.counted[key] = n + 1
	return problem
}

// after raises the rank of e if it follows a finding of its flow, and begins the context after e
// if e has a finding itself.
func (s *selection) after(e *kept, around rank) {
	flow := e.packet.Flow
	c, ok := s.contexts[flow]
	if !ok && (around == quiet || len(s.contexts) >= maxContexts) {
		return
	}
	switch {
	case c.near > 0:
		e.rank = max(e.rank, near)
	case c.nearAgain > 0:
		e.rank = max(e.rank, nearAgain)
	}
	c.near, c.nearAgain = max(0, c.near-1), max(0, c.nearAgain-1)
	switch around {
	case near:
		c.near = contextAfter
	case nearAgain:
		c.nearAgain = contextAfter
	}
	if c == (context{}) {
		delete(s.contexts, flow)
	} else {
		s.contexts[flow] = c
	}
}

// before raises the ranks of the packets before e in its flow, and of those that its findings
// refer to.
func (s *selection) before(e *kept, around rank) {
	n := contextBefore
	for i := len(s.list) - 1; i >= max(0, len(s.list)-lookBack) && n > 0; i-- {
		if o := s.list[i]; o.packet.Flow == e.packet.Flow {
			o.rank = max(o.rank, around)
			n--
		}
	}
	for i := range e.packet.Findings {
		for _, frame := range e.packet.Findings[i].Frames {
			s.raise(frame, around)
		}
	}
}

// raise raises the ranks of the packets of a frame.
func (s *selection) raise(frame int, r rank) {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].packet.Number >= frame })
	for ; i < len(s.list) && s.list[i].packet.Number == frame; i++ {
		s.list[i].rank = max(s.list[i].rank, r)
	}
}

// shorten shortens the list to max packets: those of the highest ranks and, among packets of the
// same rank, the first. The latest tail packets stay, because they may become context.
func (s *selection) shorten(tail int) {
	if len(s.list) <= s.max {
		return
	}
	old := s.list[:len(s.list)-tail]
	var count [numRanks]int
	for _, e := range old {
		count[e.rank]++
	}
	left, lowest := s.max-tail, numRanks-1 // packets that may stay; lowest rank of which some may
	for lowest > 0 && count[lowest] <= left {
		left -= count[lowest]
		lowest--
	}
	out := s.list[:0]
	for _, e := range old {
		switch {
		case int(e.rank) > lowest:
			out = append(out, e)
		case int(e.rank) == lowest && left > 0:
			out = append(out, e)
			left--
		default:
			s.free = append(s.free, e)
		}
	}
	n := len(out)
	out = out[:n+tail]
	copy(out[n:], s.list[len(s.list)-tail:])
	clear(s.list[len(out):])
	s.list = out
}
