package sim

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// What overflows is one CQ: those who complete into it fail, their peers learn of it, and
// another connection between the same nodes goes on as if nothing had happened.
func TestACQThatOverflowsHurtsOnlyThoseWhoUseIt(t *testing.T) {
	sc := oneConn(qp.RC)
	sc.Conns = append(sc.Conns, sc.Conns[0])
	sc.Nodes[1].CQs = []CQSpec{{Depth: 3, Every: second, Batch: 100}}
	sc.Conns[0].Ends[1].CQ = 1
	w := newWorld(sc)
	for range 5 {
		for _, c := range w.conns {
			c.ends[0].act(&Act{Kind: ActPost, Op: qp.WRSendImm, Flags: qp.Signaled})
		}
	}
	w.play()
	over, well := w.conns[0], w.conns[1]
	if w.bad != nil || over.ends[1].state() != qp.ERR || over.ends[0].state() != qp.ERR {
		t.Errorf("violation %v; the ends are in %v and %v", w.bad, over.ends[1].state(), over.ends[0].state())
	}
	if well.ends[0].state() != qp.RTS || well.ends[1].state() != qp.RTS || well.ends[0].head() != nil {
		t.Errorf("the other ends are in %v and %v", well.ends[0].state(), well.ends[1].state())
	}
	if w.stats.Overflows != 1 || w.stats.Lost != 2 {
		t.Errorf("%d overflows, %d completions lost, of five three fit", w.stats.Overflows, w.stats.Lost)
	}
	w.finish()
	if w.bad != nil {
		t.Error(w.bad)
	}
}
