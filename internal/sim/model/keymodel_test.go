package model

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
)

// The region's translation changes during a WRITE: earlier packets are in the former memory, the
// rest is refused, and nothing reaches the new memory.
func TestAWriteInFlightDoesNotFollowItsRegionElsewhere(t *testing.T) {
	net := New(oneConn(qp.RC), nil)
	from, to := net.conns[0].ends[0], net.conns[0].ends[1]
	from.act(&scenario.Act{Kind: scenario.ActPost, Op: qp.WRWrite,
		SG: []qp.SGE{{Addr: scenario.MemBase, Length: 16 * 256}}, Remote: scenario.MemBase + scenario.MemSource})
	for to.responder.expected < 4 && net.Step() {
	}
	to.act(&scenario.Act{Kind: scenario.ActReregister, Match: true, Add: 64})
	for from.state() == qp.RTS && net.Step() {
	}
	net.Play()
	if net.Violation != nil || from.cause != qp.WCRemAccessErr.Name() || to.responder.refused != bth.NakRemoteAccess {
		t.Errorf("violation %v, the requester ends with %q, the responder with %v", net.Violation, from.cause,
			to.responder.refused)
	}
	net.Finish()
	if net.Violation != nil {
		t.Error(net.Violation)
	}
}

// oneConn returns a scenario of two nodes, one connection and links without faults.
func oneConn(service qp.Type) *scenario.Scenario {
	link := scenario.LinkSpec{Rate: 1, Delay: scenario.Microsecond}
	end := scenario.EndSpec{MaxRdAtomic: 1, Timeout: 8, RetryCnt: 7, RNRRetry: scenario.InfiniteRNR, MinRNRTimer: 1}
	end.Config.Window, end.Config.AckEvery, end.Config.BackoffLimit = 16, 16, 1
	sc := &scenario.Scenario{
		Nodes:     make([]scenario.NodeSpec, 2),
		Links:     [][]scenario.LinkSpec{{{}, link}, {link, {}}},
		Conns:     []scenario.ConnSpec{{Type: service, MTU: 256, Ends: [2]scenario.EndSpec{end, end}}},
		FaultsEnd: world.MaxAfterFaults,
	}
	sc.Conns[0].Ends[1].Node = 1
	return sc
}
