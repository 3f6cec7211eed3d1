package topcmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
)

func packetOf(f *trace.Flow, again bool) *trace.Packet {
	return &trace.Packet{Flow: f, Role: trace.Request, Len: 100, Again: again}
}

func TestAMeterCountsEachInterval(t *testing.T) {
	m := newMeter()
	f := &trace.Flow{Number: 1}
	count := func(p *trace.Packet) {
		if err := m.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
	count(&trace.Packet{}) // of no flow
	count(packetOf(f, false))
	count(packetOf(f, true))
	f.Timeouts, f.RTT = 1, trace.RTT{Count: 2, Sum: 6}
	s := m.snapshot(time.Second).samples
	if len(s) != 1 || s[0].packets != 2 || s[0].again != 1 || s[0].resent() != 0.5 || s[0].timeouts != 1 ||
		s[0].rtt() != 3 {
		t.Errorf("%+v", s)
	}
	for i := range keepIdle {
		s = m.snapshot(time.Second).samples
		if len(s) != 1 || s[0].packets != 0 || s[0].resent() != 0 || s[0].rtt() != 0 {
			t.Errorf("idle interval %d: %+v", i, s)
		}
	}
	if s = m.snapshot(time.Second).samples; len(s) != 0 {
		t.Errorf("an idle flow is still shown: %+v", s)
	}
}

func TestAFlowThatEndedIsShownOnceMoreAndAFailureIsNotForgotten(t *testing.T) {
	m := newMeter()
	f := &trace.Flow{Number: 1, Err: "broken"}
	_ = m.Packet(packetOf(f, false))
	_ = m.Flow(f)
	for i, want := range []int{1, 0, 0} {
		if table := m.snapshot(time.Second); len(table.samples) != want || table.failed != 1 || table.flows != 1 {
			t.Errorf("interval %d: %+v", i, table)
		}
	}
}

func TestAMergedFlowIsCountedOnce(t *testing.T) {
	m := newMeter()
	a, b, c := &trace.Flow{Number: 1}, &trace.Flow{Number: 2}, &trace.Flow{Number: 3}
	_ = m.Packet(packetOf(a, false))
	_ = m.Packet(packetOf(b, false))
	m.merged(a, b)
	m.merged(c, a)
	m.merged(c, b) // no packet of it was counted
	table := m.snapshot(time.Second)
	if len(table.samples) != 1 || table.samples[0].packets != 2 || table.samples[0].flow.Number != 3 ||
		table.flows != 1 {
		t.Errorf("%+v", table)
	}
}

func TestTheRowsOfAMeterAreBounded(t *testing.T) {
	m := newMeter()
	add := func(n int) {
		for range n {
			_ = m.Packet(packetOf(&trace.Flow{}, false))
		}
	}
	add(maxRows + 5)
	if table := m.snapshot(time.Second); len(m.rows) != maxRows || table.ignored != 5 {
		t.Errorf("%d rows, %d ignored", len(m.rows), table.ignored)
	}
	m.snapshot(time.Second) // all rows are idle now
	add(3)
	if table := m.snapshot(time.Second); len(m.rows) != 3 || table.ignored != 5 || table.flows != maxRows+3 {
		t.Errorf("%d rows, %d ignored, %d flows", len(m.rows), table.ignored, table.flows)
	}
}

func TestTheWorstFlowIsFirst(t *testing.T) {
	flow := func(n int, err string, c counts) sample { return sample{trace.Flow{Number: n, Err: err}, c} }
	all := []sample{
		flow(9, "", counts{}),
		flow(8, "", counts{packets: 1}),
		flow(7, "", counts{payload: 1}),
		flow(6, "", counts{payload: 2}),
		flow(5, "", counts{cnps: 1}),
		flow(4, "", counts{timeouts: 1}),
		flow(3, "", counts{data: 2, again: 1}),
		flow(2, "", counts{errors: 1}),
		flow(1, "failed", counts{}),
	}
	orders[orderCalled("worst")].sorted(all)
	for i, s := range all {
		if s.flow.Number != i+1 {
			t.Errorf("place %d has flow %d", i+1, s.flow.Number)
		}
	}
	for i := range orders {
		orders[i].sorted(all)
		if !slices.IsSortedFunc(all, func(a, b sample) int { return orders[i].compare(&a, &b) }) {
			t.Errorf("%s: not sorted", orders[i].name)
		}
	}
}

// A reason that contains text of a peer is shown without control characters.
func TestProblemsArePlainText(t *testing.T) {
	table := &table{over: time.Second, samples: []sample{{flow: trace.Flow{Err: "a\x1b[2Jb"}}}}
	if text := strings.Join(table.render(view{style: app.Style{}}), "\n"); strings.ContainsRune(text, 0x1b) {
		t.Errorf("%q", text)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "-", 0.001: "0", 0.126: "0.13", 1: "1", 1.25: "1.25", 12.34: "12.3", 123.4: "123",
		999.4: "999", 999.6: "1k", 1234: "1.23k", 123456: "123k", 1e10: "10G", 5e16: "50000T"} {
		if got := scaled(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "-", 1: "100%", 0.12345: "12.3%", 0.00001: "<0.01%"} {
		if got := percent(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[time.Duration]string{0: "-", 12: "12ns", 1234: "1.23µs", 1234567: "1.23ms", 1234567890: "1.23s"} {
		if got := duration(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func FuzzRenderFitsTheScreen(f *testing.F) {
	f.Add("failed", uint64(5), uint64(7), 40)
	f.Add("\x1b[2J\xff", uint64(1<<63), uint64(1<<60), 1)
	f.Fuzz(func(t *testing.T, why string, a, b uint64, width int) {
		c := counts{packets: a, data: a, again: b, payload: b, naks: b, rtts: a, rttSum: time.Duration(b >> 1)}
		table := &table{over: time.Millisecond, samples: []sample{{flow: trace.Flow{Err: why}, counts: c}}}
		for _, line := range table.render(view{width: width}) {
			n := len([]rune(line))
			if width > 0 && n > width || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
				t.Errorf("%d characters, limit %d: %q", n, width, line)
			}
		}
	})
}
