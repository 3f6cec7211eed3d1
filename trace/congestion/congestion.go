// Package congestion measures the congestion control of RoCEv2 in a trace: the share of packets
// with ECN Congestion Experienced, the congestion notification packets (CNPs) that answer them, and
// the pause time of priority flow control.
//
// # Meaning of the numbers
//
// A switch marks packets of ECN-capable senders (RFC 3168). The receiver answers marked packets
// with CNPs (IBA A17.9.3), usually at most one per flow in a fixed time. The CE-to-CNP delay is the
// time from the first marked packet since the previous CNP to the CNP, at the capture point. A
// capture point before the congested switch shows CNPs without marked packets, and no delays.
package congestion

import (
	"cmp"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace"
)

const (
	// maxFlows limits the flows that are measured one by one. At the limit, flows without marked
	// packets and CNPs are forgotten.
	maxFlows = 16384
	// minForgotten is the number of flows that must be forgotten at the limit; if fewer are, the
	// table is full when it reaches the limit again.
	minForgotten = maxFlows / 16
	numDSCPs     = 64
	// UnknownDSCP is the DSCP in the row of CNPs about packets that the capture does not have.
	UnknownDSCP = -1
)

// DefaultLinkSpeed is the default of Table.LinkSpeed: 100 Gbit/s.
const DefaultLinkSpeed = 100e9

// Table measures the packets of a trace. It is an output of a [trace.Pipeline].
type Table struct {
	// LinkSpeed is the speed of the links, in bits per second, with which the times of pause frames
	// are computed: the frames have them in bit times. New sets it to DefaultLinkSpeed.
	LinkSpeed float64

	flows   map[*trace.Flow]*flow
	latest  *trace.Flow        // flow of the latest packet
	state   *flow              // of latest
	dscps   [numDSCPs + 1]*Row // the last one is for CNPs about packets of unknown DSCP
	pauses  [numClasses]Pause
	full    bool   // nearly maxFlows flows have marked packets or CNPs: none is forgotten any more
	omitted uint64 // packets of flows that are not measured one by one
}

// flow is the state of a flow.
type flow struct {
	Row
	// For the requests and responses that each end sends: the DSCP of the latest packet, and the
	// time of the first marked one since the previous CNP (zero: none).
	dscp   [2]int8
	marked [2]time.Time
}

// Row has the numbers of a flow, or of the packets with one DSCP. The DSCP in the row of a flow is
// that of its latest packet.
type Row struct {
	Flow *trace.Flow `json:"-"` // nil in a row of a DSCP
	DSCP int         `json:"dscp"`
	// Packets are without CNPs. Capable of these are from an ECN-capable sender: they have ECT(0),
	// ECT(1) or CE. CE of these have Congestion Experienced.
	Packets uint64 `json:"packets"`
	Capable uint64 `json:"ecn_capable"`
	CE      uint64 `json:"ce"`
	// CNPs are the notifications about these packets. CNPDSCP is the DSCP of the latest CNP itself,
	// -1 without one.
	CNPs    uint64 `json:"cnps"`
	CNPDSCP int    `json:"cnp_dscp"`
	Delay   Delay  `json:"ce_to_cnp"`

	Duration time.Duration `json:"duration_ns"` // from the first to the latest packet
	first    time.Time
}

// Delay summarizes CE-to-CNP delays.
type Delay struct {
	Count uint64        `json:"count"`
	Min   time.Duration `json:"min_ns"`
	Max   time.Duration `json:"max_ns"`
	Sum   time.Duration `json:"sum_ns"`
}

// Mean returns the mean delay, 0 without delays.
func (d Delay) Mean() time.Duration {
	if d.Count == 0 {
		return 0
	}
	return time.Duration(int64(d.Sum) / int64(d.Count))
}

// maxDelay is the longest delay that is counted. A CNP follows within microseconds; a longer time
// comes from clocks that jump. It also keeps the sum from overflowing.
const maxDelay = 10 * time.Second

func (d *Delay) add(t time.Duration) {
	if t < 0 || t > maxDelay {
		return
	}
	if d.Count == 0 || t < d.Min {
		d.Min = t
	}
	d.Max = max(d.Max, t)
	d.Sum += t
	d.Count++
}

// Share returns the share of marked packets, 0 to 1.
func (r *Row) Share() float64 {
	if r.Packets == 0 {
		return 0
	}
	return float64(r.CE) / float64(r.Packets)
}

// Rate returns the CNPs per second, 0 if the duration is unknown or the row has no packets: then
// its duration is that between the CNPs.
func (r *Row) Rate() float64 {
	if r.Duration <= 0 || r.Packets == 0 {
		return 0
	}
	return float64(r.CNPs) / r.Duration.Seconds()
}

// New returns an empty table.
func New() *Table { return &Table{flows: map[*trace.Flow]*flow{}, LinkSpeed: DefaultLinkSpeed} }

// Packet measures p.
func (t *Table) Packet(p *trace.Packet) error {
	if p.Err != nil || p.MAD != nil {
		return nil
	}
	var f *flow
	if p.Flow != nil {
		f = t.flow(p.Flow)
	}
	if p.Role == trace.CNP {
		t.notification(p, f)
		return nil
	}
	dscp := int8(p.IP.TrafficClass >> 2)
	t.dscp(dscp, p.Time).add(p)
	if f == nil {
		t.omitted++
		return nil
	}
	f.DSCP = int(dscp)
	f.add(p)
	end := sender(p)
	f.dscp[end] = dscp
	if p.IP.CE() && f.marked[end].IsZero() {
		f.marked[end] = p.Time
	}
	return nil
}

// notification measures the CNP p, of f. Its receiver sent the marked packets.
func (t *Table) notification(p *trace.Packet, f *flow) {
	own := int(p.IP.TrafficClass >> 2)
	if f == nil {
		t.omitted++
		return
	}
	end := 1 - sender(p)
	for _, r := range [2]*Row{&f.Row, t.dscp(f.dscp[end], p.Time)} {
		r.CNPs++
		r.CNPDSCP = own
		r.seen(p.Time)
		if !f.marked[end].IsZero() {
			r.Delay.add(p.Time.Sub(f.marked[end]))
		}
	}
	f.marked[end] = time.Time{}
}

// sender returns the index in Flow.Ends of the sender of p.
func sender(p *trace.Packet) int {
	ends := &p.Flow.Ends
	from := ends[0].Addr != p.Src.Addr()
	if ends[0].Addr == ends[1].Addr {
		from = p.BTH.DestQP == ends[0].QPN
	}
	if from {
		return 1
	}
	return 0
}

func (r *Row) add(p *trace.Packet) {
	r.Packets++
	if p.IP.TrafficClass&3 != 0 {
		r.Capable++
	}
	if p.IP.CE() {
		r.CE++
	}
	r.seen(p.Time)
}

// seen updates the duration for a packet at time at.
func (r *Row) seen(at time.Time) {
	if r.first.IsZero() {
		r.first = at
	}
	r.Duration = max(r.Duration, at.Sub(r.first))
}

// dscp returns the row of DSCP n, or of UnknownDSCP.
func (t *Table) dscp(n int8, at time.Time) *Row {
	i := int(n)
	if n == UnknownDSCP {
		i = numDSCPs
	}
	r := t.dscps[i]
	if r == nil {
		r = &Row{DSCP: int(n), CNPDSCP: -1, first: at}
		t.dscps[i] = r
	}
	return r
}

// flow returns the state of f, nil if there are too many flows.
func (t *Table) flow(f *trace.Flow) *flow {
	if t.latest == f {
		return t.state
	}
	s := t.flows[f]
	if s == nil {
		if len(t.flows) >= maxFlows && !t.full {
			t.forgetQuiet()
		}
		if len(t.flows) >= maxFlows {
			return nil
		}
		s = &flow{Row: Row{Flow: f, DSCP: UnknownDSCP, CNPDSCP: -1}, dscp: [2]int8{UnknownDSCP, UnknownDSCP}}
		t.flows[f] = s
	}
	t.latest, t.state = f, s
	return s
}

// forgetQuiet removes the flows without marked packets and CNPs. If few flows are quiet, t is full:
// otherwise forgetQuiet would examine all flows for nearly every new one.
func (t *Table) forgetQuiet() {
	for f, s := range t.flows {
		if s.CE == 0 && s.CNPs == 0 {
			delete(t.flows, f)
		}
	}
	t.latest, t.state = nil, nil
	t.full = len(t.flows) > maxFlows-minForgotten
}

// Omitted returns the number of packets that are in the rows of DSCPs but, because of the limit on
// flows or because their flow is unknown, in no row of a flow.
func (t *Table) Omitted() uint64 { return t.omitted }

// Flows returns the rows of the flows with marked packets or CNPs, those with the most CNPs first,
// then those with the most marked packets.
func (t *Table) Flows() []Row {
	merged := map[*trace.Flow]*Row{}
	var rows []*Row
	for f, s := range t.flows {
		if s.CE == 0 && s.CNPs == 0 && f.Current() == f {
			continue
		}
		f = f.Current()
		if merged[f] == nil {
			merged[f] = &Row{Flow: f, DSCP: UnknownDSCP, CNPDSCP: -1}
			rows = append(rows, merged[f])
		}
		merged[f].include(&s.Row)
	}
	rows = slices.DeleteFunc(rows, func(r *Row) bool { return r.CE == 0 && r.CNPs == 0 })
	slices.SortFunc(rows, func(x, y *Row) int {
		return cmp.Or(cmp.Compare(y.CNPs, x.CNPs), cmp.Compare(y.CE, x.CE), cmp.Compare(x.Flow.Number, y.Flow.Number))
	})
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = *r
	}
	return out
}

// include adds the numbers of o, a row of the same flow.
func (r *Row) include(o *Row) {
	r.Packets += o.Packets
	r.Capable += o.Capable
	r.CE += o.CE
	r.CNPs += o.CNPs
	r.CNPDSCP = max(r.CNPDSCP, o.CNPDSCP)
	r.Duration = max(r.Duration, o.Duration)
	if o.Packets > 0 {
		r.DSCP = o.DSCP
	}
	if o.Delay.Count == 0 {
		return
	}
	if r.Delay.Count == 0 || o.Delay.Min < r.Delay.Min {
		r.Delay.Min = o.Delay.Min
	}
	r.Delay.Max = max(r.Delay.Max, o.Delay.Max)
	r.Delay.Sum += o.Delay.Sum
	r.Delay.Count += o.Delay.Count
}

// DSCPs returns the rows of the DSCPs that occur, in ascending order, UnknownDSCP last.
func (t *Table) DSCPs() []Row {
	var rows []Row
	for _, r := range t.dscps {
		if r != nil {
			rows = append(rows, *r)
		}
	}
	return rows
}
