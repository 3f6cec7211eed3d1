package model

import (
	"testing"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// One CQ overflows: the queue pairs that complete into it fail, their peers notice, and another
// connection between the same nodes is not affected.
func TestACQThatOverflowsHurtsOnlyThoseWhoUseIt(t *testing.T) {
	sc := oneConn(qp.RC)
	sc.Conns = append(sc.Conns, sc.Conns[0])
	sc.Nodes[1].CQs = []scenario.CQSpec{{Depth: 3, Every: scenario.Second, Batch: 100}}
	sc.Conns[0].Ends[1].CQ = 1
	net := New(sc, nil)
	for range 5 {
		for _, c := range net.conns {
			c.ends[0].act(&scenario.Act{Kind: scenario.ActPost, Op: qp.WRSendImm, Flags: qp.Signaled})
		}
	}
	net.Play()
	over, well := net.conns[0], net.conns[1]
	if net.Violation != nil || over.ends[1].state() != qp.ERR || over.ends[0].state() != qp.ERR {
		t.Errorf("violation %v; the ends are in %v and %v", net.Violation, over.ends[1].state(), over.ends[0].state())
	}
	if well.ends[0].state() != qp.RTS || well.ends[1].state() != qp.RTS || well.ends[0].head() != nil {
		t.Errorf("the other ends are in %v and %v", well.ends[0].state(), well.ends[1].state())
	}
	if net.Stats.Overflows != 1 || net.Stats.Lost != 2 {
		t.Errorf("%d overflows, %d completions lost, of five three fit", net.Stats.Overflows, net.Stats.Lost)
	}
	net.Finish()
	if net.Violation != nil {
		t.Error(net.Violation)
	}
}
