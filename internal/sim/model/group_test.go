package model

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// Four of five members are not the sender: one on the sender's node, two behind a link that
// duplicates every frame, one behind a link that drops every frame.
func TestEachMemberGetsWhatItsLinkBrings(t *testing.T) {
	sc := oneConn(qp.UD)
	sc.Nodes = make([]scenario.NodeSpec, 3)
	link := scenario.LinkSpec{Delay: scenario.Microsecond}
	twice, never := link, link
	twice.Faults = scenario.Faults{Duplicate: 1, Span: scenario.Microsecond}
	never.Faults = scenario.Faults{Drop: 1}
	sc.Links = [][]scenario.LinkSpec{{link, twice, never}, {link, link, link}, {link, link, link}}
	end := sc.Conns[0].Ends[0]
	on := func(a, b int) scenario.ConnSpec {
		c := scenario.ConnSpec{Type: qp.UD, MTU: 256, Ends: [2]scenario.EndSpec{end, end}}
		c.Ends[0].Node, c.Ends[1].Node = a, b
		return c
	}
	sc.Conns = []scenario.ConnSpec{on(0, 0), on(1, 1), on(2, 2)}
	sc.Groups = []scenario.GroupSpec{{Members: []scenario.Member{{Conn: 0, End: 0}, {Conn: 0, End: 1},
		{Conn: 1, End: 0}, {Conn: 1, End: 1}, {Conn: 2, End: 0}}}}
	net := New(sc, nil)
	act := &scenario.Act{Kind: scenario.ActPost, Op: qp.WRSend, Group: 1,
		Recv: []qp.SGE{{Addr: scenario.MemBase + scenario.MemSource, Length: 300}}}
	act.SG = []qp.SGE{{Addr: scenario.MemBase, Length: 200}}
	from := net.conns[0].ends[0]
	for _, m := range net.groups[0].members {
		m.postReceive(act) // a second one, for the duplicate; the sender's receive must stay
	}
	from.act(act)
	net.Play()
	var left []int
	for _, c := range net.conns {
		for _, e := range c.ends {
			left = append(left, len(e.recvs.list))
		}
	}
	if want := []int{1, 1, 0, 0, 2, 0}; net.Violation != nil || !slices.Equal(left, want) || net.Stats.Multicasts != 5 {
		t.Errorf("violation %v; receives left %v, want %v; %d datagrams taken", net.Violation, left, want,
			net.Stats.Multicasts)
	}
	net.Finish()
	if net.Violation != nil {
		t.Error(net.Violation)
	}
}
