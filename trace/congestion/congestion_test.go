package congestion_test

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/congestion"
)

var hostA, hostB = netip.MustParseAddrPort("10.0.0.1:50000"), netip.MustParseAddrPort("10.0.0.2:50000")

func newFlow(number int) *trace.Flow {
	return &trace.Flow{Number: number, Ends: [2]trace.End{{Addr: hostA.Addr(), QPN: 0x11},
		{Addr: hostB.Addr(), QPN: 0x22}}}
}

// packets passes packets to a table. Each word is the sender, a or b, followed by the ECN bits (0
// to 3) of a data packet or by n for a CNP; between two packets is 1 µs.
func packets(t *testing.T, table *congestion.Table, f *trace.Flow, dscp uint8, words ...string) {
	t.Helper()
	for i, w := range words {
		p := &trace.Packet{Flow: f, Src: hostA, Dst: hostB, Role: trace.Request,
			Time: time.Unix(1000, int64(i)*1000), IP: trace.IP{TrafficClass: dscp << 2}}
		p.BTH.DestQP = 0x22
		if w[0] == 'b' {
			p.Src, p.Dst, p.BTH.DestQP = hostB, hostA, 0x11
		}
		if w[1] == 'n' {
			p.Role, p.IP.TrafficClass = trace.CNP, 48<<2
		} else {
			p.IP.TrafficClass |= w[1] - '0'
		}
		if err := table.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADelayIsTheTimeFromTheFirstMarkToTheCNPOfTheOtherEnd(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words []string
		want  congestion.Row
	}{
		{"one mark", []string{"a2", "a3", "a2", "bn"},
			congestion.Row{Packets: 3, Capable: 3, CE: 1, CNPs: 1, Delay: delay(2)}},
		{"two marks before a CNP", []string{"a3", "a3", "bn"},
			congestion.Row{Packets: 2, Capable: 2, CE: 2, CNPs: 1, Delay: delay(2)}},
		{"a CNP without a mark since the previous one", []string{"a3", "bn", "bn"},
			congestion.Row{Packets: 1, Capable: 1, CE: 1, CNPs: 2, Delay: delay(1)}},
		{"the sender of the marked packets sends a CNP itself", []string{"a3", "an", "bn"},
			congestion.Row{Packets: 1, Capable: 1, CE: 1, CNPs: 2, Delay: delay(2)}},
		{"both ends are notified", []string{"a3", "b3", "bn", "an"},
			congestion.Row{Packets: 2, Capable: 2, CE: 2, CNPs: 2, Delay: delay(2, 2)}},
		{"packets of a sender without ECN", []string{"a0", "bn"}, congestion.Row{Packets: 1, CNPs: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, f := congestion.New(), newFlow(1)
			packets(t, table, f, 26, tt.words...)
			tt.want.CNPDSCP, tt.want.DSCP = 48, 26
			ignore := cmpopts.IgnoreFields(congestion.Row{}, "Flow", "first", "Duration")
			if diff := cmp.Diff([]congestion.Row{tt.want}, table.Flows(), ignore); diff != "" {
				t.Errorf("flow: %s", diff)
			}
			if tt.want.CNPs == 2 && tt.words[1] == "an" {
				return // its sender sent no packet with a DSCP
			}
			if diff := cmp.Diff([]congestion.Row{tt.want}, table.DSCPs(), ignore); diff != "" {
				t.Errorf("DSCP: %s", diff)
			}
		})
	}
}

// delay returns the summary of delays in microseconds.
func delay(us ...time.Duration) (d congestion.Delay) {
	for _, x := range us {
		x *= time.Microsecond
		if d.Count == 0 {
			d.Min = x
		}
		d.Count++
		d.Min, d.Max, d.Sum = min(d.Min, x), max(d.Max, x), d.Sum+x
	}
	return d
}

func TestSharesAndRates(t *testing.T) {
	table := congestion.New()
	packets(t, table, newFlow(1), 26, "a3", "a2", "bn", "a2", "a2", "a2", "a2", "a2", "a2", "a2", "a2")
	r := table.Flows()[0]
	if r.Share() != 0.1 || r.Duration != 10*time.Microsecond ||
		math.Abs(r.Rate()-100_000) > 1 || r.Delay.Mean() != 2*time.Microsecond {
		t.Errorf("%+v: share %v, rate %v", r, r.Share(), r.Rate())
	}
	if r := (congestion.Row{}); r.Share() != 0 || r.Rate() != 0 || r.Delay.Mean() != 0 {
		t.Errorf("of nothing: share %v, rate %v, delay %v", r.Share(), r.Rate(), r.Delay.Mean())
	}
}

func TestCNPsAboutPacketsThatWereNotCapturedHaveARowOfTheirOwn(t *testing.T) {
	table := congestion.New()
	packets(t, table, newFlow(1), 26, "bn", "a2", "bn")
	var got [][2]int
	for _, r := range table.DSCPs() {
		got = append(got, [2]int{r.DSCP, int(r.CNPs)})
	}
	if diff := cmp.Diff([][2]int{{26, 1}, {congestion.UnknownDSCP, 1}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlowsAreSortedByCNPsAndQuietOnesAreLeftOut(t *testing.T) {
	table := congestion.New()
	packets(t, table, newFlow(1), 26, "a2", "a2")
	packets(t, table, newFlow(2), 26, "a3")
	packets(t, table, newFlow(3), 10, "a3", "bn")
	packets(t, table, newFlow(4), 26, "a3", "a3")
	var order []int
	for _, r := range table.Flows() {
		order = append(order, r.Flow.Number)
	}
	if diff := cmp.Diff([]int{3, 4, 2}, order); diff != "" {
		t.Error(diff)
	}
	var dscps []int
	for _, r := range table.DSCPs() {
		dscps = append(dscps, r.DSCP)
	}
	if diff := cmp.Diff([]int{10, 26}, dscps); diff != "" {
		t.Error(diff)
	}
}

func TestDelaysFromClocksThatJumpAreNotCounted(t *testing.T) {
	table, f := congestion.New(), newFlow(1)
	for _, at := range []int64{100, 50} { // the CNP before the marked packet
		p := &trace.Packet{Flow: f, Src: hostA, Dst: hostB, Time: time.Unix(at, 0), IP: trace.IP{TrafficClass: 3}}
		if at == 50 {
			p.Src, p.Dst, p.Role = hostB, hostA, trace.CNP
		}
		_ = table.Packet(p)
	}
	if r := table.Flows()[0]; r.Delay.Count != 0 || r.CNPs != 1 || r.Duration != 0 {
		t.Errorf("%+v", r)
	}
}

func TestTheNumberOfFlowsIsBounded(t *testing.T) {
	table := congestion.New()
	const n, limit = 40_000, 16_384
	for i := range n {
		packets(t, table, newFlow(i), 26, "a2")
	}
	for i := range n {
		packets(t, table, newFlow(n+i), 26, "a3")
	}
	if got := len(table.Flows()); got != limit {
		t.Errorf("%d flows, want %d", got, limit)
	}
	if got := table.Omitted(); got != n-limit {
		t.Errorf("%d packets omitted, want %d", got, n-limit)
	}
	if r := table.DSCPs()[0]; r.Packets != 2*n || r.CE != n {
		t.Errorf("%+v", r)
	}
}

func TestPausesAreCountedByClass(t *testing.T) {
	table := congestion.New()
	for _, p := range []struct {
		class int
		d     time.Duration
	}{
		{3, time.Millisecond}, {3, 2 * time.Millisecond}, {3, 0}, {congestion.GlobalPause, time.Hour}, {-1, 1}, {9, 1},
		{0, -5},
	} {
		table.AddPause(p.class, p.d)
	}
	want := []congestion.Pause{
		{Class: 0, Resume: 1},
		{Class: 3, Frames: 2, Resume: 1, Total: 3 * time.Millisecond, Max: 2 * time.Millisecond},
		{Class: congestion.GlobalPause, Frames: 1, Total: 4 * time.Second, Max: 4 * time.Second},
	}
	if diff := cmp.Diff(want, table.Pauses()); diff != "" {
		t.Error(diff)
	}
}

func TestPauseFramesCountByClass(t *testing.T) {
	table := congestion.New()
	table.LinkSpeed = 512e6 // a quantum takes a microsecond
	for _, p := range []*trace.Pause{
		{PFC: true, Classes: 0b1001, Quanta: [8]uint16{0: 0, 3: 1000, 5: 9}},
		{PFC: true, Classes: 0b1000, Quanta: [8]uint16{3: 500}},
		{Classes: 0xff, Quanta: [8]uint16{7, 7, 7, 7, 7, 7, 7, 7}},
		nil,
	} {
		if err := table.Foreign(&trace.Foreign{Pause: p}); err != nil {
			t.Fatal(err)
		}
	}
	want := []congestion.Pause{
		{Class: 0, Resume: 1},
		{Class: 3, Frames: 2, Total: 1500 * time.Microsecond, Max: time.Millisecond},
		{Class: congestion.GlobalPause, Frames: 1, Total: 7 * time.Microsecond, Max: 7 * time.Microsecond},
	}
	if diff := cmp.Diff(want, table.Pauses()); diff != "" {
		t.Error(diff)
	}
}

// If nearly all flows have marked packets, the quiet ones are not searched for each new flow.
func TestNoFlowIsForgottenIfFewAreQuiet(t *testing.T) {
	const limit = 16384
	table := congestion.New()
	for i := range limit - 1 {
		packets(t, table, newFlow(i+1), 26, "a3")
	}
	for i := range 3 { // takes the last place, its place, is left out
		packets(t, table, newFlow(limit+i), 26, "a2")
	}
	if got := table.Omitted(); got != 1 {
		t.Errorf("%d packets are in no row of a flow, want 1", got)
	}
	if got := len(table.Flows()); got != limit-1 {
		t.Errorf("%d flows, want %d", got, limit-1)
	}
}
