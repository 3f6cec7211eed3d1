package trace_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// Comments are parsed once per frame: for each of thousands of packets, a small file would take
// minutes.
func TestTheCommentsOnAFrameAreReadOnce(t *testing.T) {
	var done []trace.Message
	a := trace.NewAnalyzer(trace.Options{Message: func(m *trace.Message) { done = append(done, *m) }})
	add := func(number, part, parts int, psn bth.PSN, comments ...string) {
		p := bare(number, bth.RCSendOnly, 21, psn)
		p.Part, p.Parts, p.Comments = part, parts, comments
		a.Add(p)
	}
	add(1, 1, 1, 5)
	add(1, 1, 1, 6)
	add(2, 1, 2, 7, trace.CompletionNote(5, "of the first packet"))
	add(2, 2, 2, 8, trace.CompletionNote(6, "of the second"), trace.MissingNote(3))
	add(3, 1, 1, 9)
	if len(done) != 0 {
		t.Errorf("%d messages have ended: a comment was read again", len(done))
	}
	add(4, 1, 1, 10, trace.MissingNote(3))
	for i, want := range []string{"of the first packet", "", "", "", ""} {
		if i >= len(done) || done[i].WC != want {
			t.Errorf("message %d of %d: want %q", i, len(done), want)
		}
	}
}

// Gap processes only flows that had a packet since the last gap: a file may have a gap at every
// frame.
func TestAGapLeavesFlowsAloneThatHadNoPacketSinceTheLast(t *testing.T) {
	var ended []int
	a := trace.NewAnalyzer(trace.Options{Message: func(m *trace.Message) { ended = append(ended, m.Flow.Number) }})
	n := 0
	add := func(to bth.QPN) {
		n++
		a.Add(bare(n, bth.RCSendOnly, to, bth.PSN(n)))
	}
	for _, step := range []struct {
		packets []bth.QPN
		visited int
		ended   string
	}{
		{nil, 0, "[]"},
		{[]bth.QPN{21, 22, 23, 21}, 3, "[2 3 1 1]"},
		{nil, 0, "[]"},
		{[]bth.QPN{22}, 1, "[2]"},
		{[]bth.QPN{23, 24, 21}, 3, "[3 4 1]"},
	} {
		for _, to := range step.packets {
			add(to)
		}
		if got := a.SinceGap(); got != step.visited {
			t.Errorf("after packets of %v the gap would visit %d flows, want %d", step.packets, got, step.visited)
		}
		ended = ended[:0]
		a.Gap()
		if got := fmt.Sprint(ended); got != step.ended || a.SinceGap() != 0 {
			t.Errorf("after packets of %v messages of the flows %s end, want %s; %d flows are left", step.packets, got,
				step.ended, a.SinceGap())
		}
	}
	if err := a.CheckBounds(); err != nil {
		t.Error(err)
	}
}
