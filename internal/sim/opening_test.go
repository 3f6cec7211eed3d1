package sim

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// A region that leads elsewhere while a WRITE to it is under way: what came before is in the
// former place, the rest is refused, and nothing reaches the new one.
func TestAWriteInFlightDoesNotFollowItsRegionElsewhere(t *testing.T) {
	w := newWorld(oneConn(qp.RC))
	from, to := w.conns[0].ends[0], w.conns[0].ends[1]
	from.act(&Act{Kind: ActPost, Op: qp.WRWrite, SG: []qp.SGE{{Addr: memBase, Length: 16 * 256}}, Remote: memBase + memSource})
	for to.responder.expected < 4 && w.step() {
	}
	to.act(&Act{Kind: ActReregister, Match: true, Add: 64})
	for from.state() == qp.RTS && w.step() {
	}
	w.play()
	if w.bad != nil || from.cause != qp.WCRemAccessErr.Name() || to.responder.refused != bth.NakRemoteAccess {
		t.Errorf("violation %v, the requester ends with %q, the responder with %v", w.bad, from.cause, to.responder.refused)
	}
	w.finish()
	if w.bad != nil {
		t.Error(w.bad)
	}
}

// oneConn is two nodes, a good link and a connection.
func oneConn(service qp.Type) *Scenario {
	link := LinkSpec{Rate: 1, Delay: microsecond}
	end := EndSpec{MaxRdAtomic: 1, Timeout: 8, RetryCnt: 7, RNRRetry: infinite, MinRNRTimer: 1}
	end.Config.Window, end.Config.AckEvery, end.Config.BackoffLimit = 16, 16, 1
	sc := &Scenario{
		Nodes: make([]NodeSpec, 2),
		Links: [][]LinkSpec{{{}, link}, {link, {}}},
		Conns: []ConnSpec{{Type: service, MTU: 256, Ends: [2]EndSpec{end, end}}},
		Calm:  limit,
	}
	sc.Conns[0].Ends[1].Node = 1
	return sc
}
