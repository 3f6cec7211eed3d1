package model

import (
	"testing"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

func TestAFailedRequestKeepsThePSNsItWasSentWith(t *testing.T) {
	const packets = 16
	link := scenario.LinkSpec{Rate: 1, Delay: scenario.Microsecond, Faults: scenario.Faults{Drop: 1}}
	end := scenario.EndSpec{
		MaxRdAtomic: 1, Timeout: 1, RetryCnt: 7, RNRRetry: scenario.InfiniteRNR, MinRNRTimer: 1,
		Config: transport.Config{Window: packets, AckEvery: packets, BackoffLimit: 1},
	}
	sc := &scenario.Scenario{
		Nodes:     make([]scenario.NodeSpec, 2),
		Links:     [][]scenario.LinkSpec{{{}, link}, {link, {}}},
		Conns:     []scenario.ConnSpec{{Type: qp.RC, MTU: 256, Ends: [2]scenario.EndSpec{end, end}}},
		FaultsEnd: world.MaxAfterFaults,
	}
	sc.Conns[0].Ends[1].Node = 1
	net := New(sc, nil)
	e := net.conns[0].ends[0]
	e.act(&scenario.Act{Kind: scenario.ActPost, Op: qp.WRSend,
		SG: []qp.SGE{{Addr: scenario.MemBase, Length: packets * 256}}})
	for e.requester.next < packets && net.Step() {
	}
	e.act(&scenario.Act{Kind: scenario.ActDeregisterLocal})
	for e.state() == qp.RTS && net.Step() { // it goes back and cannot read the message again
	}
	e.act(&scenario.Act{Kind: scenario.ActPost, Op: qp.WRFlush})
	if net.Violation != nil || e.cause != qp.WCLocProtErr.Name() || len(e.sends) != 2 || e.requester.cursor >= packets {
		t.Fatalf("violation %v, cause %q, %d requests, the cursor at %d", net.Violation, e.cause, len(e.sends),
			e.requester.cursor)
	}
	for seq := range int64(packets) {
		if s := e.at(seq); s != e.sends[0] {
			t.Errorf("packet %d of the SEND belongs to %v", seq, s)
		}
	}
}
