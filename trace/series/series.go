package series

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace"
)

// Options configure a [Collector]. The zero value is usable.
type Options struct {
	// Interval is the initial length of an interval, 0 for one microsecond. It doubles as
	// necessary.
	Interval time.Duration
	// Rows is the maximum number of intervals; 0 means 256 if Interval is 0, and otherwise 65,536.
	// With Interval 0 a capture of more than Rows microseconds has at least half as many intervals.
	Rows int
	// Flows is the number of flows with a series of their own in the result; 0 means 16, negative
	// means none.
	Flows int
}

const (
	defaultInterval = time.Microsecond
	adaptiveRows    = 256
	fixedRows       = 1 << 16
	defaultFlows    = 16
	// maxTracked is the maximum number of flows with own rows while packets are collected.
	maxTracked = 1000
	// maxTotalRows is the maximum number of rows of all series together.
	maxTotalRows = 1 << 18
	// maxInterval is the longest interval.
	maxInterval = math.MaxInt64 / 4
)

// Series are the rows of a flow, of all flows, or of the flows without a series of their own.
type Series struct {
	Kind Kind
	Flow *trace.Flow // nil if Kind is not OneFlow
	// Since is the index of the first interval from which on the rows contain all packets of the
	// flow; earlier packets are in the series of the other flows. 0: from the beginning.
	Since int64
	Rows  []Row
}

// Kind is what a [Series] is about.
type Kind uint8

const (
	Total   Kind = iota // all packets, also those without a flow
	OneFlow             // the packets of Series.Flow
	Others              // the packets of all flows without a series, and packets without a flow
)

func (k Kind) String() string { return [...]string{"total", "flow", "others"}[min(k, Others)] }

// Collector collects the series of a trace. It is an output of a [trace.Pipeline].
type Collector struct {
	o        Options
	interval time.Duration
	begin    time.Time
	begun    bool
	lowest   int64 // smallest index of a row; greater than highest if there is none
	highest  int64 // largest index of a row
	count    int   // number of rows of all series
	doubled  int   // number of times that the interval doubled

	total, others rows
	tracked       map[*trace.Flow]*track
	limit         int         // maximum length of tracked
	replaced      bool        // a flow lost its own rows
	least         *trace.Flow // tracked flow with the fewest problems when makeRoom last looked; nil: unknown
	refused       int         // flows that makeRoom refused since
	latest        *trace.Flow
	state         *track // of latest; nil: it has no own rows
	untimed       uint64
}

// track is the state of a flow with own rows.
type track struct {
	rows
	since int64
}

// New returns a Collector without packets.
func New(o Options) *Collector {
	if o.Rows <= 0 {
		if o.Rows = adaptiveRows; o.Interval > 0 {
			o.Rows = fixedRows
		}
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	switch {
	case o.Flows == 0:
		o.Flows = defaultFlows
	case o.Flows < 0:
		o.Flows = 0
	}
	o.Rows = max(o.Rows, 2)
	o.Flows = min(o.Flows, maxTracked)
	o.Interval = min(o.Interval, maxInterval)
	return &Collector{o: o, interval: o.Interval, tracked: map[*trace.Flow]*track{},
		limit: maxTracked, lowest: 1}
}

// Begin sets the begin of interval 0. The default is the time of the first packet.
func (c *Collector) Begin(t time.Time) {
	if !c.begun && !t.IsZero() {
		c.begin, c.begun = t, true
	}
}

// Packet counts p. Packets without a time are in no interval.
func (c *Collector) Packet(p *trace.Packet) error {
	if p.Time.IsZero() {
		c.untimed++
		return nil
	}
	c.Begin(p.Time)
	index, ok := c.index(p.Time)
	if !ok {
		c.untimed++
		return nil
	}
	c.add(&c.total, index, p)
	switch t := c.track(p, index); {
	case t != nil:
		c.add(&t.rows, index, p)
	case c.o.Flows > 0:
		c.add(&c.others, index, p)
	}
	for c.count > maxTotalRows && (c.shrink() || c.double()) {
	}
	return nil
}

// index returns the index of the interval of time t. It doubles the interval until the number of
// intervals is within the limit. ok is false if t is too far from the begin to be represented.
func (c *Collector) index(t time.Time) (index int64, ok bool) {
	d := t.Sub(c.begin)
	if d == math.MaxInt64 || d == math.MinInt64 {
		return 0, false
	}
	for {
		index = floor(d, c.interval)
		lo, hi := index, index
		if c.lowest <= c.highest {
			lo, hi = min(c.lowest, index), max(c.highest, index)
		}
		if hi-lo < int64(c.o.Rows) {
			c.lowest, c.highest = lo, hi
			return index, true
		}
		if !c.double() {
			return 0, false
		}
	}
}

// floor returns d/interval, rounded down.
func floor(d, interval time.Duration) int64 {
	n := int64(d / interval)
	if d%interval < 0 {
		n--
	}
	return n
}

// add counts p in the interval with the given index of rs.
func (c *Collector) add(rs *rows, index int64, p *trace.Packet) {
	r, added := rs.row(index)
	if added {
		c.count++
	}
	r.add(p)
	if p.Events.LostBefore < 0 {
		rs.settle(index)
	}
}

// double doubles the interval, unless it is at its limit.
func (c *Collector) double() bool {
	if c.interval > maxInterval/2 {
		return false
	}
	c.interval *= 2
	c.doubled++
	if c.lowest <= c.highest {
		c.lowest, c.highest = c.lowest>>1, c.highest>>1
	}
	c.count = 0
	halve := func(rs *rows) {
		rs.halve()
		c.count += len(rs.list)
	}
	halve(&c.total)
	halve(&c.others)
	for _, t := range c.tracked {
		halve(&t.rows)
		t.since = (t.since + 1) >> 1
	}
	return true
}

// track returns the own rows of the flow of p, nil if it has none.
func (c *Collector) track(p *trace.Packet, index int64) *track {
	switch {
	case p.Flow == nil || c.o.Flows == 0:
		return nil
	case p.Flow == c.latest && (c.state != nil || p.Events == trace.Events{}):
		return c.state
	}
	t := c.tracked[p.Flow]
	if t == nil {
		t = c.enter(p, index)
	}
	c.latest, c.state = p.Flow, t
	return t
}

// enter gives the flow of p own rows, if there is room, or if it is worse than one that has some.
func (c *Collector) enter(p *trace.Packet, index int64) *track {
	t := &track{}
	if len(c.tracked) >= c.limit {
		if p.Events == (trace.Events{}) {
			return nil
		}
		if !c.makeRoom(p.Flow) {
			return nil
		}
	}
	if c.replaced {
		t.since = index + 1 // earlier packets may be in c.others
	}
	c.tracked[p.Flow] = t
	return t
}

// refusals is the number of flows that makeRoom may refuse without a look at all flows.
const refusals = 64

// makeRoom takes their own rows from the flows with the fewest problems, if f is worse than one of
// them. It takes them from an eighth of the flows that will not be in the result, so that it rarely
// has to look at all.
func (c *Collector) makeRoom(f *trace.Flow) bool {
	if c.least != nil && c.refused < refusals && compare(f, c.least) <= 0 {
		c.refused++
		return false
	}
	c.refused = 0
	flows := slices.SortedFunc(maps.Keys(c.tracked), compare)
	if len(flows) == 0 {
		return false
	}
	if c.least = flows[0]; compare(f, c.least) <= 0 {
		return false
	}
	for _, x := range flows[:max(1, (len(flows)-2*c.o.Flows)/8)] {
		c.leave(x)
	}
	c.least = nil
	return true
}

// leave adds the rows of f to those of the other flows.
func (c *Collector) leave(f *trace.Flow) {
	c.replaced = true
	was := len(c.others.list)
	own := &c.tracked[f].rows
	c.others.include(own)
	c.count += len(c.others.list) - was - len(own.list)
	delete(c.tracked, f)
}

// shrink halves the number of flows with own rows, down to twice that of the result. It reports
// whether it did.
func (c *Collector) shrink() bool {
	limit := max(len(c.tracked)/2, 2*c.o.Flows)
	if limit >= len(c.tracked) {
		return false
	}
	flows := slices.SortedFunc(maps.Keys(c.tracked), compare)
	for _, f := range flows[:len(flows)-limit] {
		c.leave(f)
	}
	c.limit, c.latest, c.state, c.least = limit, nil, nil, nil
	return true
}

// compare compares flows by their problems: those that failed, then by what costs the most, then by
// the number of packets.
func compare(x, y *trace.Flow) int {
	failed := func(f *trace.Flow) int { return min(len(f.Err), 1) }
	return cmp.Or(cmp.Compare(failed(x), failed(y)), cmp.Compare(x.Timeouts, y.Timeouts),
		cmp.Compare(x.Undecided, y.Undecided), cmp.Compare(x.LostBefore+x.LostBehind, y.LostBefore+y.LostBehind),
		cmp.Compare(x.RNRs, y.RNRs), cmp.Compare(x.NAKs, y.NAKs), cmp.Compare(x.Again, y.Again),
		cmp.Compare(x.CNPs, y.CNPs), cmp.Compare(x.CE, y.CE), cmp.Compare(x.Packets, y.Packets),
		cmp.Compare(y.Number, x.Number))
}

// Interval returns the length of an interval, and whether it is longer than that of [Options].
func (c *Collector) Interval() (d time.Duration, doubled bool) { return c.interval, c.doubled > 0 }

// BeginTime returns the time at which interval 0 begins, zero without packets.
func (c *Collector) BeginTime() time.Time { return c.begin }

// Untimed returns the number of packets that are in no interval, because they have no time or one
// that is too far from the others.
func (c *Collector) Untimed() uint64 { return c.untimed }

// Rows returns the rows of all packets.
func (c *Collector) Rows() []Row { return c.total.sorted() }

// Series returns the series of all packets, those of the worst flows, the worst first, and, if
// there are more flows, that of the others.
func (c *Collector) Series() []Series {
	own := map[*trace.Flow]*track{}
	for f, t := range c.tracked {
		f = f.Current()
		if old := own[f]; old != nil {
			merged := &track{since: max(old.since, t.since), rows: old.clone()}
			merged.include(&t.rows)
			t = merged
		}
		own[f] = t
	}
	flows := make([]*trace.Flow, 0, len(own))
	for f := range own {
		flows = append(flows, f)
	}
	slices.SortFunc(flows, func(x, y *trace.Flow) int { return compare(y, x) })
	all := []Series{{Kind: Total, Rows: c.total.sorted()}}
	others := c.others.clone()
	for i, f := range flows {
		if i < c.o.Flows {
			all = append(all, Series{Kind: OneFlow, Flow: f, Since: own[f].since, Rows: own[f].sorted()})
		} else {
			others.include(&own[f].rows)
		}
	}
	if len(others.list) > 0 && c.o.Flows > 0 {
		all = append(all, Series{Kind: Others, Rows: others.sorted()})
	}
	return all
}
