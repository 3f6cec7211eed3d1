package summary

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/latency"
)

// Options configure a [Summary]. The zero value is usable.
type Options struct {
	Worst     int     // maximum length of the lists of a report; 0 means 20
	LinkSpeed float64 // for pause times, in bits per second; 0 means congestion.DefaultLinkSpeed
}

const (
	defaultWorst = 20
	maxHosts     = 4096
	maxPairs     = 8192
)

// Summary collects a report. It is an output of a [trace.Pipeline].
type Summary struct {
	worst      int
	totals     Totals
	begin, end time.Time // earliest and latest time of a packet
	latency    *latency.Table
	congestion *congestion.Table
	kinds      kinds
	flows      []Flow // the worst flows that ended
	hosts      map[netip.Addr]*Host
	pairs      map[hostPair]*Pair
	clock      clock
	untimed    uint64
}

type hostPair struct{ src, dst netip.Addr }

// New returns a Summary without packets.
func New(o Options) *Summary {
	if o.Worst <= 0 {
		o.Worst = defaultWorst
	}
	s := &Summary{
		worst: o.Worst, latency: latency.New(), congestion: congestion.New(), kinds: newKinds(),
		hosts: map[netip.Addr]*Host{}, pairs: map[hostPair]*Pair{},
	}
	if o.LinkSpeed > 0 {
		s.congestion.LinkSpeed = o.LinkSpeed
	}
	return s
}

// AddPause counts a pause frame; see [congestion.Table.AddPause].
func (s *Summary) AddPause(class int, d time.Duration) { s.congestion.AddPause(class, d) }

// Foreign counts pause and PFC frames.
func (s *Summary) Foreign(f *trace.Foreign) error {
	s.time(f.Time)
	return s.congestion.Foreign(f)
}

// Frame takes the time of a frame without packets.
func (s *Summary) Frame(f *capture.Frame) error {
	s.time(f.Time)
	return nil
}

// time takes the time of a frame.
func (s *Summary) time(t time.Time) {
	if t.IsZero() {
		s.untimed++
		return
	}
	s.clock.tick(t)
}

// Packet counts p.
func (s *Summary) Packet(p *trace.Packet) error {
	if p.Part == 1 {
		s.time(p.Time)
	}
	t := &s.totals
	t.Packets++
	t.Bytes += uint64(p.Len)
	t.Payload += uint64(p.Delivered)
	if !p.Time.IsZero() {
		if s.begin.IsZero() || p.Time.Before(s.begin) {
			s.begin = p.Time
		}
		if p.Time.After(s.end) {
			s.end = p.Time
		}
	}
	if p.Events != (trace.Events{}) {
		s.events(p)
	}
	for i := range p.Findings {
		s.finding(p, &p.Findings[i])
	}
	return s.congestion.Packet(p)
}

// events adds the events of p to the totals and the hosts.
func (s *Summary) events(p *trace.Packet) {
	e := eventsOf(p.Events)
	s.totals.Events.add(&e)
	if p.Flow == nil {
		return
	}
	from, to := s.host(p.Src.Addr()), s.host(p.Dst.Addr())
	if from == nil || to == nil {
		return
	}
	// What a response reports happened to the packets of its receiver.
	own := Events{Again: e.Again, Duplicates: e.Duplicates, LostBefore: e.LostBefore, CE: e.CE, Timeouts: e.Timeouts,
		Undecided: e.Undecided}
	other := Events{LostBehind: e.LostBehind, NAKs: e.NAKs, RNRs: e.RNRs, CNPs: e.CNPs}
	from.Events.add(&own)
	from.NAKsSent += e.NAKs
	from.RNRsSent += e.RNRs
	from.CNPsSent += e.CNPs
	from.LostTo += e.LostBehind
	to.Events.add(&other)
	to.LostTo += e.LostBefore
	to.CEFrom += e.CE
}

func (s *Summary) finding(p *trace.Packet, f *trace.Finding) {
	switch f.Level {
	case trace.Error:
		s.totals.Errors++
	case trace.Warning:
		s.totals.Warnings++
	}
	s.kinds.add(p, f)
	if f.Level == trace.Info {
		return
	}
	if h := s.host(p.Src.Addr()); h == nil {
		return
	} else if f.Level == trace.Error {
		h.Errors++
	} else {
		h.Warnings++
	}
}

// host returns the state of a host, nil if there are too many.
func (s *Summary) host(a netip.Addr) *Host {
	h := s.hosts[a]
	if h == nil {
		if len(s.hosts) >= maxHosts {
			s.totals.Omitted++
			return nil
		}
		h = &Host{Addr: a}
		s.hosts[a] = h
	}
	return h
}

// Message counts m.
func (s *Summary) Message(m *trace.Message) error {
	s.totals.Messages++
	return s.latency.Message(m)
}

// Flow counts f, which has ended.
func (s *Summary) Flow(f *trace.Flow) error {
	t, e := &s.totals, flowEvents(f)
	t.Flows++
	if f.Err != "" {
		t.Failed++
	}
	if f.Evicted {
		t.Evicted++
	}
	ends := [2]netip.Addr{f.Ends[0].Addr, f.Ends[1].Addr}
	for i, a := range ends {
		if i == 1 && a == ends[0] {
			break
		}
		if h := s.host(a); h != nil {
			h.Flows++
			h.Payload += f.Payload
		}
	}
	s.pair(hostPair{ends[0], ends[1]}, f, &e)
	if f.Err == "" && !e.any() {
		return nil
	}
	t.Troubled++
	vni := (*uint32)(nil)
	if f.HasVNI {
		vni = &f.VNI
	}
	s.rank(Flow{
		VNI:  vni,
		Flow: f.Number, Service: f.Service.String(), FirstFrame: f.First, Packets: f.Packets, Payload: f.Payload,
		Events: e, Err: f.Err, Ends: [2]End{{f.Ends[0].Addr, f.Ends[0].QPN}, {f.Ends[1].Addr, f.Ends[1].QPN}},
	})
	return nil
}

func (s *Summary) pair(k hostPair, f *trace.Flow, e *Events) {
	p := s.pairs[k]
	if p == nil {
		if len(s.pairs) >= maxPairs {
			s.totals.Omitted++
			return
		}
		p = &Pair{Src: k.src, Dst: k.dst}
		s.pairs[k] = p
	}
	p.Flows++
	p.Packets += f.Packets
	p.Payload += f.Payload
	p.Events.add(e)
	if f.Err != "" {
		p.Failed++
	}
}

// rank keeps f if it is one of the worst flows.
func (s *Summary) rank(f Flow) {
	i, _ := slices.BinarySearchFunc(s.flows, f, compareFlows)
	if i >= s.worst {
		return
	}
	s.flows = slices.Insert(s.flows, i, f)
	s.flows = s.flows[:min(len(s.flows), s.worst)]
}

// compareFlows sorts failed flows first, then those with the most problems.
func compareFlows(x, y Flow) int {
	failed := func(f *Flow) int { return min(len(f.Err), 1) }
	return cmp.Or(cmp.Compare(failed(&y), failed(&x)), y.Events.compare(&x.Events), cmp.Compare(x.Flow, y.Flow))
}

// Report returns the report of all packets so far. read is what the Pipeline has read. Flows and
// messages are in it when they have ended.
func (s *Summary) Report(read Input) *Report {
	// Lists without entries are not nil: their JSON form is [].
	r := &Report{
		Totals: s.totals, Findings: s.kinds.report(), Flows: append([]Flow{}, s.flows...), Hosts: []Host{},
		Pairs: []Pair{}, Verbs: append([]latency.Verb{}, s.latency.Verbs()...),
		Latency: append([]latency.Row{}, s.latency.Rows()...),
		DSCPs:   append([]congestion.Row{}, s.congestion.DSCPs()...),
		Pauses:  append([]congestion.Pause{}, s.congestion.Pauses()...),
	}
	if !s.begin.IsZero() {
		if y := s.begin.UTC().Year(); y >= 0 && y <= 9999 { // RFC 3339
			r.Totals.Begin = new(s.begin.UTC())
		}
		r.Totals.Duration = max(0, s.end.Sub(s.begin))
	}
	r.Totals.Hosts, r.Totals.Pairs = uint64(len(s.hosts)), uint64(len(s.pairs))
	slices.SortStableFunc(r.Latency, func(x, y latency.Row) int { return cmp.Compare(y.Count, x.Count) })
	for _, h := range s.hosts {
		r.Hosts = append(r.Hosts, *h)
	}
	slices.SortFunc(r.Hosts, compareHosts)
	for _, p := range s.pairs {
		r.Pairs = append(r.Pairs, *p)
	}
	slices.SortFunc(r.Pairs, comparePairs)
	r.Hosts, r.Pairs = r.Hosts[:min(len(r.Hosts), s.worst)], r.Pairs[:min(len(r.Pairs), s.worst)]
	r.Capture = Capture{
		Frames: read.Frames, Missing: read.Missing, Copies: read.Copies, Truncated: read.Cut,
		WrongICRC: read.Wrong, Failed: read.Failed, Merged: read.Merged, Untimed: s.untimed, Clock: s.clock.Clock,
		Protocols: read.Protocols,
	}
	for i, n := range read.Skipped {
		if n > 0 {
			if r.Capture.Skipped == nil {
				r.Capture.Skipped = map[string]uint64{}
			}
			r.Capture.Skipped[trace.Skip(i).String()] = n
		}
	}
	return r
}

func compareHosts(x, y Host) int {
	ex, ey := x.Events, y.Events
	ex.LostBefore += x.LostTo
	ey.LostBefore += y.LostTo
	return cmp.Or(ey.compare(&ex), cmp.Compare(y.Errors, x.Errors), cmp.Compare(y.Payload, x.Payload),
		x.Addr.Compare(y.Addr))
}

func comparePairs(x, y Pair) int {
	return cmp.Or(cmp.Compare(y.Failed, x.Failed), y.Events.compare(&x.Events), cmp.Compare(y.Payload, x.Payload),
		x.Src.Compare(y.Src), x.Dst.Compare(y.Dst))
}
