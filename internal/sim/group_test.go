package sim

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// Four of five members are on other queue pairs than the sender's own: one beside it, two
// behind a link that repeats every frame, one behind a link that loses every frame.
func TestEachMemberGetsWhatItsLinkBrings(t *testing.T) {
	sc := oneConn(qp.UD)
	sc.Nodes = make([]NodeSpec, 3)
	link := LinkSpec{Delay: microsecond}
	twice, never := link, link
	twice.Faults = Faults{Duplicate: 1, Span: microsecond}
	never.Faults = Faults{Drop: 1}
	sc.Links = [][]LinkSpec{{link, twice, never}, {link, link, link}, {link, link, link}}
	end := sc.Conns[0].Ends[0]
	on := func(a, b int) ConnSpec {
		c := ConnSpec{Type: qp.UD, MTU: 256, Ends: [2]EndSpec{end, end}}
		c.Ends[0].Node, c.Ends[1].Node = a, b
		return c
	}
	sc.Conns = []ConnSpec{on(0, 0), on(1, 1), on(2, 2)}
	sc.Groups = []GroupSpec{{Members: []Member{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}}}}
	w := newWorld(sc)
	act := &Act{Kind: ActPost, Op: qp.WRSend, Group: 1, Recv: []qp.SGE{{Addr: memBase + memSource, Length: 300}}}
	act.SG = []qp.SGE{{Addr: memBase, Length: 200}}
	from := w.conns[0].ends[0]
	for _, m := range w.groups[0].members {
		m.postReceive(act) // a second one, for the copy; the sender's stays
	}
	from.act(act)
	w.play()
	var left []int
	for _, c := range w.conns {
		for _, e := range c.ends {
			left = append(left, len(e.recvs.list))
		}
	}
	if want := []int{1, 1, 0, 0, 2, 0}; w.bad != nil || !slices.Equal(left, want) || w.stats.Multicasts != 5 {
		t.Errorf("violation %v; receives left %v, want %v; %d datagrams taken", w.bad, left, want, w.stats.Multicasts)
	}
	w.finish()
	if w.bad != nil {
		t.Error(w.bad)
	}
}
