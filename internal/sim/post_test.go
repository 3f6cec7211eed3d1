package sim

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

func TestAFailedRequestKeepsThePSNsItWasSentWith(t *testing.T) {
	const packets = 16
	link := LinkSpec{Rate: 1, Delay: microsecond, Faults: Faults{Drop: 1}}
	end := EndSpec{
		MaxRdAtomic: 1, Timeout: 1, RetryCnt: 7, RNRRetry: infinite, MinRNRTimer: 1,
		Config: transport.Config{Window: packets, AckEvery: packets, BackoffLimit: 1},
	}
	sc := &Scenario{
		Nodes: make([]NodeSpec, 2),
		Links: [][]LinkSpec{{{}, link}, {link, {}}},
		Conns: []ConnSpec{{Type: qp.RC, MTU: 256, Ends: [2]EndSpec{end, end}}},
		Calm:  limit,
	}
	sc.Conns[0].Ends[1].Node = 1
	w := newWorld(sc)
	e := w.conns[0].ends[0]
	e.act(&Act{Kind: ActPost, Op: qp.WRSend, SG: []qp.SGE{{Addr: memBase, Length: packets * 256}}})
	for e.requester.next < packets && w.step() {
	}
	e.act(&Act{Kind: ActUnpin})
	for e.state() == qp.RTS && w.step() { // it goes back and cannot read the message again
	}
	e.act(&Act{Kind: ActPost, Op: qp.WRFlush})
	if w.bad != nil || e.cause != qp.WCLocProtErr.Name() || len(e.sends) != 2 || e.requester.cursor >= packets {
		t.Fatalf("violation %v, cause %q, %d requests, the cursor at %d", w.bad, e.cause, len(e.sends), e.requester.cursor)
	}
	for seq := range int64(packets) {
		if s := e.at(seq); s != e.sends[0] {
			t.Errorf("packet %d of the SEND belongs to %v", seq, s)
		}
	}
}
