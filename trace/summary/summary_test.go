package summary_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/summary"
)

var start = time.Unix(1000, 0)

func host(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

func newFlow(number, from, to int) *trace.Flow {
	return &trace.Flow{Number: number, Ends: [2]trace.End{{Addr: host(from), QPN: 0x11}, {Addr: host(to), QPN: 0x22}}}
}

// packet returns a packet that end from of f sends at a time after start.
func packet(f *trace.Flow, from int, at time.Duration) *trace.Packet {
	return &trace.Packet{
		Flow: f, Number: int(at) + 1, Part: 1, Parts: 1, Time: start.Add(at), Len: 100,
		Src: netip.AddrPortFrom(f.Ends[from].Addr, 1), Dst: netip.AddrPortFrom(f.Ends[1-from].Addr, 4791),
	}
}

func add(t *testing.T, s *summary.Summary, all ...*trace.Packet) {
	t.Helper()
	for _, p := range all {
		if err := s.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindingsAreSortedByLevelWeightAndFrequency(t *testing.T) {
	s := summary.New(summary.Options{})
	find := func(flow, from int, k trace.Kind, l trace.Level) {
		p := packet(newFlow(flow, flow, 100), from, time.Duration(flow))
		p.Findings = []trace.Finding{{Kind: k, Level: l, Text: fmt.Sprint("text of flow ", flow)}}
		add(t, s, p)
	}
	find(3, 0, trace.Gap, trace.Warning)
	find(4, 0, trace.SequenceNAK, trace.Warning)
	find(5, 0, trace.Gap, trace.Warning)
	find(6, 0, trace.ErrorNAK, trace.Error)
	find(7, 1, trace.AckCoalesced, trace.Info)
	for range 5 {
		find(8, 0, trace.Congestion, trace.Warning)
	}
	find(9, 0, trace.AfterTimeout, trace.Warning)
	r := s.Report(summary.Input{})
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s %s %d flows=%d frame=%d worst=%d/%d host=%s/%d %s", f.LevelName, f.Kind,
			f.Count, f.Flows, f.FirstFrame, f.WorstFlow, f.WorstCount, f.WorstHost, f.HostCount, f.Text))
	}
	want := []string{
		"error nak_error 1 flows=1 frame=7 worst=6/1 host=10.0.0.6/1 text of flow 6",
		"warning again_after_timeout 1 flows=1 frame=10 worst=9/1 host=10.0.0.9/1 text of flow 9",
		"warning gap 2 flows=2 frame=4 worst=3/1 host=10.0.0.3/1 text of flow 3",
		"warning nak_sequence 1 flows=1 frame=5 worst=4/1 host=10.0.0.4/1 text of flow 4",
		"warning cnp 5 flows=5 frame=9 worst=8/1 host=10.0.0.8/5 text of flow 8",
		"info ack_coalesced 1 flows=1 frame=8 worst=7/1 host=10.0.0.100/1 text of flow 7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Totals.Errors != 1 || r.Totals.Warnings != 9 {
		t.Errorf("%d errors, %d warnings", r.Totals.Errors, r.Totals.Warnings)
	}
	if h := r.Hosts[0]; h.Addr != host(6) || h.Errors != 1 || h.Warnings != 0 {
		t.Errorf("the worst host: %+v", h)
	}
}

func TestEventsBelongToTheHostWhosePacketsTheyAreAbout(t *testing.T) {
	s := summary.New(summary.Options{})
	f := newFlow(1, 1, 2)
	request, nak, cnp := packet(f, 0, 0), packet(f, 1, 1), packet(f, 1, 2)
	request.Events = trace.Events{Again: 5, LostBefore: 3, Timeouts: 1, CE: 2, Duplicates: 1, Undecided: 1}
	nak.Events = trace.Events{NAKs: 1, LostBehind: 4}
	cnp.Role, cnp.Events = trace.CNP, trace.Events{CNPs: 1, RNRs: 1}
	add(t, s, request, nak, cnp)
	r := s.Report(summary.Input{})
	want := []summary.Host{
		{Addr: host(1), Events: summary.Events{Again: 5, LostBefore: 3, Timeouts: 1, CE: 2, Duplicates: 1, Undecided: 1,
			LostBehind: 4, NAKs: 1, CNPs: 1, RNRs: 1}},
		{Addr: host(2), LostTo: 7, NAKsSent: 1, RNRsSent: 1, CNPsSent: 1, CEFrom: 2},
	}
	if diff := cmp.Diff(want, r.Hosts, cmp.Comparer(func(x, y netip.Addr) bool { return x == y })); diff != "" {
		t.Error(diff)
	}
	if r.Totals.Events != want[0].Events || r.Totals.Events.Lost() != 7 {
		t.Errorf("totals: %+v", r.Totals.Events)
	}
}

func TestTheWorstFlowsAndPairsAreFirst(t *testing.T) {
	s := summary.New(summary.Options{Worst: 3})
	for _, f := range []struct {
		number, from, to int
		timeouts, again  uint64
		err              string
		evicted          bool
	}{
		{1, 1, 2, 0, 0, "", false}, {2, 1, 2, 0, 9, "", false}, {3, 3, 4, 2, 0, "", true}, {4, 3, 5, 0, 1, "", false},
		{5, 1, 2, 0, 0, "NAK", false}, {6, 6, 6, 0, 0, "", false},
	} {
		x := newFlow(f.number, f.from, f.to)
		x.Timeouts, x.Again, x.Err, x.Payload, x.Evicted = f.timeouts, f.again, f.err, 10, f.evicted
		if err := s.Flow(x); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Report(summary.Input{})
	var got []string
	for _, f := range r.Flows {
		got = append(got, fmt.Sprint("flow ", f.Flow))
	}
	for _, p := range r.Pairs {
		got = append(got, fmt.Sprintf("%s %s flows=%d failed=%d payload=%d", p.Src, p.Dst, p.Flows, p.Failed,
			p.Payload))
	}
	want := []string{
		"flow 5", "flow 3", "flow 2", "10.0.0.1 10.0.0.2 flows=3 failed=1 payload=30",
		"10.0.0.3 10.0.0.4 flows=1 failed=0 payload=10", "10.0.0.3 10.0.0.5 flows=1 failed=0 payload=10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	x := r.Totals
	if x.Flows != 6 || x.Failed != 1 || x.Troubled != 4 || x.Evicted != 1 || x.Hosts != 6 || x.Pairs != 4 {
		t.Errorf("%+v", x)
	}
	for _, h := range r.Hosts {
		if h.Addr == host(6) && h.Flows != 1 {
			t.Errorf("a flow from a host to itself counts %d times", h.Flows)
		}
	}
}

func TestStepsOfTheClockAreCounted(t *testing.T) {
	s := summary.New(summary.Options{})
	f := newFlow(1, 1, 2)
	add(t, s, packet(f, 0, time.Second))
	after := func(s time.Duration) time.Time { return start.Add(s * time.Second) }
	for _, at := range []time.Time{start, after(20), {}, after(30), after(15)} {
		if err := s.Frame(&capture.Frame{Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	counts := trace.Counts{Frames: 6, Cut: 1, Wrong: 2, Failed: 3, Merged: 4}
	counts.Skipped[trace.SkipNotIP] = 5
	want := summary.Capture{
		Frames: 6, Missing: 7, Truncated: 1, WrongICRC: 2, Failed: 3, Merged: 4, Untimed: 1,
		Clock:   summary.Clock{Back: 2, MaxBack: 15 * time.Second, Jumps: 1, MaxJump: 20 * time.Second},
		Skipped: map[string]uint64{"not IP": 5},
	}
	if diff := cmp.Diff(want, s.Report(summary.Input{Counts: counts, Missing: 7}).Capture); diff != "" {
		t.Error(diff)
	}
}

func TestTotalsHaveTheTimeOfThePackets(t *testing.T) {
	s := summary.New(summary.Options{})
	f := newFlow(1, 1, 2)
	a, b, c := packet(f, 0, time.Second), packet(f, 0, 0), packet(f, 0, 2*time.Second)
	a.Delivered = 1000
	add(t, s, a, b, c)
	x := s.Report(summary.Input{}).Totals
	if x.Begin == nil || !x.Begin.Equal(start) || x.Duration != 2*time.Second || x.Packets != 3 || x.Bytes != 300 ||
		x.Goodput() != 4000 {
		t.Errorf("%+v, goodput %v", x, x.Goodput())
	}
	empty := summary.New(summary.Options{}).Report(summary.Input{})
	if empty.Totals.Begin != nil || empty.Totals.Goodput() != 0 {
		t.Errorf("without packets: %+v", empty.Totals)
	}
}

func TestHostsAndPairsAreBounded(t *testing.T) {
	s := summary.New(summary.Options{})
	const n = 10_000
	for i := range n {
		if err := s.Flow(newFlow(i+1, i, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	x := s.Report(summary.Input{}).Totals
	if x.Hosts != 4096 || x.Pairs != 8192 || x.Omitted == 0 || x.Flows != n {
		t.Errorf("%d hosts, %d pairs, %d omitted", x.Hosts, x.Pairs, x.Omitted)
	}
}

func TestAPacketWithoutEventsAllocatesNothing(t *testing.T) {
	s := summary.New(summary.Options{})
	p := packet(newFlow(1, 1, 2), 0, 0)
	add(t, s, p)
	if n := testing.AllocsPerRun(1000, func() { _ = s.Packet(p) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
