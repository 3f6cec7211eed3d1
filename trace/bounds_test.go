package trace_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// bare returns a packet of a stream from host 10.0.0.1 to a queue pair of 10.0.0.2.
func bare(number int, op bth.Opcode, to bth.QPN, psn bth.PSN) *trace.Packet {
	p := &trace.Packet{
		Number: number, Part: 1, Parts: 1, Time: time.Unix(1000, 0).Add(time.Duration(number) * time.Microsecond),
		Src: netip.MustParseAddrPort("10.0.0.1:4791"), Dst: netip.MustParseAddrPort("10.0.0.2:4791"),
		ICRC: trace.ICRC{Verdict: trace.Right},
		BTH:  bth.Packet{Opcode: op, DestQP: to, PSN: psn, MigReq: true},
	}
	p.Len = op.Info().HeaderLen + bth.ICRCLen
	return p
}

func TestTheFlowThatWasSilentForLongestGivesWay(t *testing.T) {
	var cut, whole []int
	a := trace.NewAnalyzer(trace.Options{Flows: 2, Flow: func(f *trace.Flow) {
		if f.Evicted {
			cut = append(cut, f.Number)
		} else {
			whole = append(whole, f.Number)
		}
	}})
	for i, to := range []bth.QPN{21, 22, 21, 23, 21, 22} { // flows 1, 2, 1, 3, 1 and, after an eviction, 4
		a.Add(bare(i+1, bth.RCSendOnly, to, bth.PSN(i)))
	}
	if n, evicted := a.Active(); n != 2 || evicted != 2 {
		t.Errorf("%d flows are followed, %d were given up", n, evicted)
	}
	a.Finish()
	if !slices.Equal(cut, []int{2, 3}) || !slices.Equal(whole, []int{1, 4}) {
		t.Errorf("cut are %v, whole %v", cut, whole)
	}
}

func TestMessagesThatNobodyAnswersAreGivenUp(t *testing.T) {
	cut := 0
	a := trace.NewAnalyzer(trace.Options{Outstanding: 3, Message: func(m *trace.Message) {
		if m.Evicted {
			cut++
		}
	}})
	for i := range 10 {
		a.Add(bare(i+1, bth.RCSendOnly, 21, bth.PSN(i)))
	}
	if cut != 7 {
		t.Errorf("%d were given up, want 7", cut)
	}
}

func TestALongStreamTakesNoMoreMemoryThanAShortOne(t *testing.T) {
	for _, op := range []bth.Opcode{bth.UCSendOnly, bth.UDSendOnly} {
		a := trace.NewAnalyzer(trace.Options{})
		for i := range 20_000 {
			a.Add(bare(i+1, op, 21, bth.PSN(i)))
		}
		if records, messages := a.Kept(); records > 64 || messages > 64 {
			t.Errorf("%s: %d records, %d messages", op, records, messages)
		}
	}
	// There are no responses: the bounds hold for any requests.
	a := trace.NewAnalyzer(trace.Options{})
	n := 0
	for i := range 300 {
		for to := range bth.QPN(300) {
			n++
			a.Add(bare(n, bth.RCSendOnly, to+2, bth.PSN(i)))
		}
	}
	if records, messages := a.Kept(); records > 1<<19+300*32 || messages > 1<<16+300*16 {
		t.Errorf("%d records, %d messages", records, messages)
	}
	if err := a.CheckBounds(); err != nil {
		t.Error(err)
	}
}
