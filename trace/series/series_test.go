package series_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/series"
)

var start = time.Unix(1000, 0)

// packet returns a packet of f at a time after start, of 100 bytes of which 60 are delivered.
func packet(f *trace.Flow, at time.Duration) *trace.Packet {
	addr := netip.MustParseAddrPort("10.0.0.1:1")
	return &trace.Packet{Flow: f, Time: start.Add(at), Len: 100, Delivered: 60, Src: addr, Dst: addr, Part: 1}
}

func add(t *testing.T, c *series.Collector, all ...*trace.Packet) {
	t.Helper()
	for _, p := range all {
		if err := c.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARowHasTheNumbersOfItsInterval(t *testing.T) {
	c := series.New(series.Options{Interval: time.Millisecond})
	f := &trace.Flow{Number: 1}
	a, b, d := packet(f, 0), packet(f, 999*time.Microsecond), packet(f, 3*time.Millisecond)
	a.InFlight, a.Outstanding, a.RTT = 7, 2, 10*time.Microsecond
	b.InFlight, b.Outstanding, b.RTT = 5, 3, 30*time.Microsecond
	a.IP.TrafficClass, b.IP.TrafficClass = 3, 2
	a.Events = trace.Events{CE: 1, Again: 1, NAKs: 2, LostBefore: 3, LostBehind: 1}
	d.Role, d.IP.TrafficClass = trace.CNP, 2
	add(t, c, a, b, d)
	want := []series.Row{
		{Index: 0, Packets: 2, Bytes: 200, Delivered: 120, Capable: 2, InFlight: 7, Outstanding: 3, Events: a.Events,
			RTT: trace.RTT{Count: 2, Min: 10 * time.Microsecond, Max: 30 * time.Microsecond,
				Sum: 40 * time.Microsecond}},
		{Index: 3, Packets: 1, Bytes: 100, Delivered: 60},
	}
	if diff := cmp.Diff(want, c.Rows()); diff != "" {
		t.Error(diff)
	}
	r := &c.Rows()[0]
	if r.Lost() != 4 || r.CEShare() != 0.5 || r.Goodput(time.Millisecond) != 960_000 ||
		r.Throughput(time.Millisecond) != 1_600_000 || r.Goodput(0) != 0 {
		t.Errorf("lost %d, CE share %v, goodput %v, throughput %v", r.Lost(), r.CEShare(),
			r.Goodput(time.Millisecond), r.Throughput(time.Millisecond))
	}
	all := c.Series()
	if len(all) != 2 || all[0].Kind != series.Total || all[1].Kind != series.OneFlow || all[1].Flow != f ||
		!cmp.Equal(all[1].Rows, want) {
		t.Errorf("%+v", all)
	}
	if d, doubled := c.Interval(); d != time.Millisecond || doubled || !c.BeginTime().Equal(start) {
		t.Errorf("interval %v, doubled %v, begin %v", d, doubled, c.BeginTime())
	}
}

func TestTheIntervalDoublesToKeepTheNumberOfRows(t *testing.T) {
	for _, n := range []int{2, 3, 10, 256} {
		c := series.New(series.Options{Rows: n})
		f := &trace.Flow{Number: 1}
		const packets = 10_000
		for i := range packets {
			add(t, c, packet(f, time.Duration(i)*7*time.Microsecond))
			if got := len(c.Rows()); got > n {
				t.Fatalf("limit %d: %d rows after %d packets", n, got, i)
			}
		}
		sum := uint64(0)
		for _, r := range c.Rows() {
			sum += r.Packets
		}
		if sum != packets || len(c.Rows()) <= n/2-1 {
			t.Errorf("limit %d: %d rows with %d packets", n, len(c.Rows()), sum)
		}
		if _, doubled := c.Interval(); !doubled {
			t.Errorf("limit %d: the interval has not doubled", n)
		}
	}
}

// Whatever the order of times, doubling yields the rows that the final interval yields at once.
func TestDoublingYieldsTheRowsOfTheFinalInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var times []time.Duration
		for range 200 {
			times = append(times, time.Duration(r.Int64N(1<<uint(10+round/2)))-time.Duration(r.Int64N(1<<12)))
		}
		a := series.New(series.Options{Rows: 16})
		f := &trace.Flow{Number: 1}
		for _, x := range times {
			add(t, a, packet(f, x))
		}
		interval, _ := a.Interval()
		b := series.New(series.Options{Interval: interval, Rows: 1000})
		for _, x := range times {
			add(t, b, packet(f, x))
		}
		if diff := cmp.Diff(b.Rows(), a.Rows()); diff != "" {
			t.Fatalf("round %d, interval %v: %s", round, interval, diff)
		}
	}
}

func TestTimesThatFitNoIntervalAreCounted(t *testing.T) {
	c := series.New(series.Options{})
	unknown := packet(nil, 0)
	unknown.Time = time.Time{}
	far := packet(nil, 0)
	far.Time = time.Unix(1<<55, 0)
	add(t, c, packet(nil, 0), unknown, far)
	late := packet(nil, math.MaxInt64-time.Hour)
	add(t, c, late)
	if c.Untimed() < 2 || len(c.Rows()) > 2 {
		t.Errorf("%d packets without interval, %d rows", c.Untimed(), len(c.Rows()))
	}
}

func TestPacketsThatNeverExistedAreTakenFromEarlierRows(t *testing.T) {
	c := series.New(series.Options{Interval: time.Millisecond})
	f := &trace.Flow{Number: 1}
	for i, lost := range []int64{4, 2, 1, -5, -10} {
		p := packet(f, time.Duration(i)*time.Millisecond)
		p.Events.LostBefore = lost
		add(t, c, p)
		if i == 3 {
			if got := fmt.Sprint(losses(c.Rows())); got != "[2 0 0 0]" {
				t.Errorf("after the correction: %s", got)
			}
		}
	}
	if got := fmt.Sprint(losses(c.Rows())); got != "[0 0 0 0 0]" {
		t.Errorf("after more corrections than losses: %s", got)
	}
}

func losses(rows []series.Row) (n []int64) {
	for _, r := range rows {
		n = append(n, r.Lost())
	}
	return n
}

func TestTheWorstFlowsHaveSeriesAndTheOthersAreSummed(t *testing.T) {
	c := series.New(series.Options{Interval: time.Millisecond, Flows: 2})
	sum := uint64(0)
	for i := range 5 {
		f := &trace.Flow{Number: i + 1, Timeouts: uint64(i % 4)}
		for j := range 3 {
			add(t, c, packet(f, time.Duration(j)*time.Millisecond))
		}
	}
	var got []string
	for _, s := range c.Series() {
		name := s.Kind.String()
		if s.Flow != nil {
			name = fmt.Sprint(s.Flow.Number)
		}
		got = append(got, fmt.Sprint(name, " ", len(s.Rows)))
		for _, r := range s.Rows {
			if s.Kind != series.Total {
				sum += r.Packets
			}
		}
	}
	if diff := cmp.Diff([]string{"total 3", "4 3", "3 3", "others 3"}, got); diff != "" {
		t.Error(diff)
	}
	if sum != 15 {
		t.Errorf("the series without the total have %d packets", sum)
	}
	none := series.New(series.Options{Flows: -1})
	add(t, none, packet(&trace.Flow{}, 0))
	if s := none.Series(); len(s) != 1 {
		t.Errorf("without flows: %+v", s)
	}
}

func TestAFlowWithProblemsReplacesOneWithout(t *testing.T) {
	c := series.New(series.Options{Interval: time.Millisecond, Flows: 1})
	for i := range 1000 {
		add(t, c, packet(&trace.Flow{Number: i + 1}, 0))
	}
	bad := &trace.Flow{Number: 5000}
	add(t, c, packet(bad, 0), packet(bad, 2*time.Millisecond))
	bad.Timeouts = 1
	p := packet(bad, 5*time.Millisecond)
	p.Events.Timeouts = 1
	add(t, c, p, packet(bad, 6*time.Millisecond))
	all := c.Series()
	if len(all) != 3 || all[1].Flow != bad || all[1].Since != 6 || len(all[1].Rows) != 2 {
		t.Fatalf("%+v", all)
	}
	for i, r := range c.Rows() {
		sum := uint64(0)
		for _, s := range all[1:] {
			for _, x := range s.Rows {
				if x.Index == r.Index {
					sum += x.Packets
				}
			}
		}
		if sum != r.Packets {
			t.Errorf("row %d: %d packets in all series, %d in the total", i, sum, r.Packets)
		}
	}
}

func TestRowsOfAllSeriesAreBounded(t *testing.T) {
	const flows, intervals = 900, 1000
	c := series.New(series.Options{Interval: time.Millisecond, Flows: 4})
	list := make([]*trace.Flow, flows)
	for i := range list {
		list[i] = &trace.Flow{Number: i + 1, Timeouts: uint64(i)}
	}
	for i := range intervals {
		for _, f := range list {
			add(t, c, packet(f, time.Duration(i)*time.Millisecond))
		}
	}
	if d, doubled := c.Interval(); doubled || d != time.Millisecond {
		t.Errorf("the interval is %v: the flows without problems should have lost their rows instead", d)
	}
	total, sum := uint64(0), uint64(0)
	for _, s := range c.Series() {
		for _, r := range s.Rows {
			if s.Kind == series.Total {
				total += r.Packets
			} else {
				sum += r.Packets
			}
		}
		if s.Flow != nil && s.Flow.Number <= flows-4 {
			t.Errorf("flow %d is one of the worst", s.Flow.Number)
		}
	}
	if total != flows*intervals || sum != total {
		t.Errorf("%d packets in the total, %d in the other series", total, sum)
	}
}

func TestCountingAPacketAllocatesNothing(t *testing.T) {
	c := series.New(series.Options{Interval: time.Second})
	f := &trace.Flow{Number: 1}
	p := packet(f, 0)
	add(t, c, p)
	if n := testing.AllocsPerRun(1000, func() { _ = c.Packet(p) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
