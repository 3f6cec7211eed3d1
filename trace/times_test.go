package trace_test

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// answered analyses SENDs that are acknowledged, with the times of both; a zero time means none.
func answered(t *testing.T, times [][2]time.Time) (messages []trace.Message, f trace.Flow) {
	t.Helper()
	a := trace.NewAnalyzer(trace.Options{
		Message: func(m *trace.Message) { messages = append(messages, *m) },
		Flow:    func(x *trace.Flow) { f = *x },
	})
	for i, at := range times {
		send := bare(2*i+1, bth.RCSendOnly, 21, bth.PSN(i))
		send.BTH.AckReq, send.Time = true, at[0]
		a.Add(send)
		ack := bare(2*i+2, bth.RCAck, 11, bth.PSN(i))
		ack.Src, ack.Dst, ack.Time = netip.MustParseAddrPort("10.0.0.2:4791"),
			netip.MustParseAddrPort("10.0.0.1:4791"), at[1]
		ack.BTH.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: uint32(i + 1)}
		a.Add(ack)
	}
	a.Finish()
	if len(messages) != len(times) {
		t.Fatalf("%d messages", len(messages))
	}
	return messages, f
}

func TestTimesThatTellNothingGiveNoLatencyAndNoRoundTrip(t *testing.T) {
	at := func(ns int64) time.Time { return time.Unix(1000, ns) }
	var none time.Time
	times := [][2]time.Time{
		{at(0), at(5000)},
		{at(6000), at(6000)}, // a coarse clock
		{at(9000), at(7000)}, // time goes back
		{none, at(10_000)},
		{at(11_000), none},
		{none, none},
		{time.Unix(math.MaxInt64/1000, 0), at(12_000)},
		{at(13_000), time.Unix(math.MaxInt64/1000, 0)},
		{time.Unix(-1<<40, 0), at(14_000)},
		{at(15_000), time.Unix(-1<<40, 0)},
	}
	messages, f := answered(t, times)
	for i, want := range []time.Duration{5 * time.Microsecond, 0, -1, -1, -1, -1, -1, -1, -1, -1} {
		m := messages[i]
		if got := m.Latency(); !m.Done || got != max(want, 0) || m.HasLatency() != (want >= 0) {
			t.Errorf("from %v to %v: %v, %v", times[i][0], times[i][1], got, m.HasLatency())
		}
	}
	if r := f.RTT; r != (trace.RTT{Count: 2, Max: 5 * time.Microsecond, Sum: 5 * time.Microsecond}) {
		t.Errorf("%+v", r)
	}
}

func TestTheSumOfRoundTripsDoesNotOverflow(t *testing.T) {
	long := [2]time.Time{time.Unix(0, 0), time.Unix(math.MaxInt64/2/int64(time.Second), 0)}
	_, f := answered(t, [][2]time.Time{long, long, long, long})
	if r := f.RTT; r.Count != 2 || r.Sum <= 0 || r.Sum/time.Duration(r.Count) != r.Max {
		t.Errorf("%+v", r)
	}
}
