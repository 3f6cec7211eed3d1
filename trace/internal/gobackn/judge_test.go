package gobackn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/internal/gobackn"
)

// tally counts what the Analyzer said of go-backs, beside the truth.
type tally struct {
	frames    int
	goBacks   int // all of them
	hidden    int // the capture does not show that it is a retransmission
	right     int
	undecided int // although the capture decides
	allowed   int // undecided where the capture cannot decide
	doubtful  int // a wrong cause, where the capture cannot decide
	wrong     int
	none      int // not noticed
	bad       map[string]int
}

func (t *tally) add(o *tally) {
	t.frames += o.frames
	t.goBacks += o.goBacks
	t.hidden += o.hidden
	t.right += o.right
	t.undecided += o.undecided
	t.allowed += o.allowed
	t.doubtful += o.doubtful
	t.wrong += o.wrong
	t.none += o.none
	for k, n := range o.bad {
		t.note(k, n)
	}
}

func (t *tally) note(what string, n int) {
	if t.bad == nil {
		t.bad = map[string]int{}
	}
	t.bad[what] += n
}

func (t *tally) String() string {
	s := fmt.Sprintf("%d frames, %d go-backs: %d hidden, %d right, %d undecided (allowed), %d undecided, "+
		"%d doubtful, %d wrong, %d not noticed", t.frames, t.goBacks, t.hidden, t.right, t.allowed, t.undecided,
		t.doubtful, t.wrong, t.none)
	keys := []string{}
	for k, n := range t.bad {
		keys = append(keys, fmt.Sprintf("\n\t%6d %s", n, k))
	}
	slices.Sort(keys)
	return s + strings.Join(keys, "")
}

var causes = map[gobackn.Cause]trace.Kind{
	gobackn.Timeout: trace.AfterTimeout, gobackn.SequenceNAK: trace.AfterNAK, gobackn.RNRNAK: trace.AfterRNR,
	gobackn.ImpliedNAK: trace.ImpliedNAK,
}

// side is what the capture showed so far of the requests of one end.
type side struct {
	seen     map[bth.PSN]int // frames of requests, by PSN; of a READ, all its PSNs
	answered map[bth.PSN]int // frames of READ and atomic responses
	high     bth.PSN         // PSN after the newest request
	open     bool
	events   []int // frames of responses since the begin
	judged   map[*gobackn.GoBack]bool
}

// judge compares the Analyzer with the truth.
type judge struct {
	tally
	r     *gobackn.Result
	sides []side
	show  func(string)
	shown int
	final []*trace.Flow
	// mispaired are the flows with queue pairs of two connections.
	mispaired map[*trace.Flow]bool
	messages  []*trace.Message
	log       []string // findings of each frame
}

func (j *judge) side(c *gobackn.Conn, end int) *side { return &j.sides[2*c.Number+end] }

// run feeds the frames of r to an Analyzer and compares.
func run(r *gobackn.Result, show func(string)) *judge {
	j := &judge{r: r, sides: make([]side, 2*len(r.Conns)), show: show, mispaired: map[*trace.Flow]bool{}}
	for i := range j.sides {
		j.sides[i] = side{seen: map[bth.PSN]int{}, answered: map[bth.PSN]int{}, judged: map[*gobackn.GoBack]bool{}}
	}
	j.frames, j.goBacks = len(r.Frames), len(r.GoBacks)
	byNumber := map[int]*trace.Flow{}
	a := trace.NewAnalyzer(trace.Options{Flows: 4 * len(r.Conns), NoMeaning: true,
		Flow:    func(f *trace.Flow) { byNumber[f.Number] = f },
		Message: func(m *trace.Message) { j.messages = append(j.messages, m) }})
	f := &feeder{r: r}
	for i := range r.Frames {
		p := f.packet(i + 1)
		a.Add(p)
		j.packet(&r.Frames[i], i+1, p)
	}
	a.Finish()
	defer j.totals()
	for _, f := range byNumber {
		j.final = append(j.final, f)
	}
	return j
}

// kind returns the finding that tells the cause of a retransmission, or "".
func kind(p *trace.Packet) trace.Kind {
	for _, f := range p.Findings {
		switch f.Kind {
		case trace.AfterNAK, trace.AfterRNR, trace.AfterTimeout, trace.ImpliedNAK, trace.AfterUnknown:
			return f.Kind
		}
	}
	return ""
}

func (j *judge) packet(r *gobackn.Frame, n int, p *trace.Packet) {
	var kinds []string
	for _, f := range p.Findings {
		kinds = append(kinds, string(f.Kind))
	}
	j.log = append(j.log, strings.Join(kinds, " "))
	if p.Err != nil {
		j.report(n, "error "+p.Err.Error())
	}
	if r.Opcode == bth.CNP {
		return
	}
	if f := p.Flow; f != nil && f.Ends[0].QPN != 0 && f.Ends[1].QPN != 0 && !j.mispaired[f] {
		x, y := r.Conn.Ends[0].QPN, r.Conn.Ends[1].QPN
		if a, b := f.Ends[0].QPN, f.Ends[1].QPN; (a != x || b != y) && (a != y || b != x) {
			j.mispaired[f] = true
			j.report(n, "paired wrongly")
			j.strangers(n, f)
		}
	}
	st := j.side(r.Conn, r.Requester())
	if !r.Request() {
		st.events = append(st.events, n)
		if r.Opcode != bth.RCAck {
			st.answered[r.PSN] = n
		}
		return
	}
	known := st.open && r.PSN.Diff(st.high) < 0 // captured before, or a later one
	if !r.Copy {
		if p.Again != known && st.open && !r.Late { // a late packet is known, but may be no retransmission
			j.report(n, fmt.Sprintf("again=%v, truth %v", p.Again, r.Again))
		}
		if g := r.GoBack; g != nil && !st.judged[g] {
			st.judged[g] = true
			if known {
				j.goBack(r, n, p, st)
			} else {
				j.hidden++
			}
		}
	}
	end := r.PSN.Add(1)
	if m := r.Message; m.Verb == gobackn.Read {
		end = m.End()
	}
	for q := r.PSN; q != end; q = q.Add(1) {
		if st.seen[q] == 0 {
			st.seen[q] = n
		}
	}
	if !st.open || end.Diff(st.high) > 0 {
		st.high, st.open = end, true
	}
}

// goBack compares the cause of a go-back. r is its first captured packet.
func (j *judge) goBack(r *gobackn.Frame, n int, p *trace.Packet, st *side) {
	g := r.GoBack
	got, want := kind(p), causes[g.Cause]
	if got == want {
		j.right++
		return
	}
	open, why := j.undecidable(r, n, st)
	if f, c := p.Flow, &j.r.Config; c.ZeroPSN && c.Ports == gobackn.SamePorts && got == trace.AfterUnknown &&
		(f.Ends[0].QPN == 0 || f.Ends[1].QPN == 0) {
		open, why = true, "the responses cannot be told apart"
	}
	what := fmt.Sprintf("%v reported as %s, %s", g.Cause, got, why)
	switch {
	case got == trace.AfterUnknown && open:
		j.allowed++
		return
	case got == trace.AfterUnknown:
		j.undecided++
	case got == "":
		j.none++
	case open:
		j.doubtful++
	default:
		j.wrong++
	}
	j.report(n, what)
}

// undecidable reports whether the capture cannot show the cause of the go-back of r.
func (j *judge) undecidable(r *gobackn.Frame, n int, st *side) (bool, string) {
	g := r.GoBack
	if g.Event != nil && g.Event.Captured() == 0 {
		return true, "event not captured"
	}
	if j.r.Config.Start > 0 && g.Cause == gobackn.ImpliedNAK && st.seen[r.Message.First] == 0 {
		return true, "the request was sent before the capture began"
	}
	if g.Cause == gobackn.ImpliedNAK && st.answered[g.To] > 0 {
		return true, "the missing response was captured"
	}
	if g.Event != nil && st.crossed(g.Event.Captured(), n) {
		return true, "another go-back crossed the event"
	}
	if j.missedData(r, g.To) {
		return true, "the capture missed a response"
	}
	if r.Late || g.First != r.Sent {
		return true, "its first packet was not captured first"
	}
	if g.Cause == gobackn.Timeout || g.Cause == gobackn.SequenceNAK {
		for _, e := range slices.Backward(st.events) {
			f := &j.r.Frames[e-1]
			if f.Time < g.First.Time-200_000_000 {
				break
			}
			s := f.AETH.Syndrome
			nak := f.Opcode == bth.RCAck && !s.IsAck()
			if nak && f.PSN == g.To && f.Sent != g.Event {
				return true, fmt.Sprintf("another NAK (lost: %v) requests the same PSN", f.Lost())
			}
			if f.PSN.Diff(g.To) > 0 && r.Message.Verb.Data() {
				return true, fmt.Sprintf("a response (lost: %v) implies it", f.Lost())
			}
		}
	}
	return false, "decidable"
}

// missedData reports whether the capture missed a READ or atomic response that the requester of r
// received before. Then nothing shows that it was not lost.
func (j *judge) missedData(r *gobackn.Frame, before bth.PSN) bool {
	for _, s := range j.r.Sent {
		if s.Time >= r.Time {
			break
		}
		if s.Conn == r.Conn && s.Requester() == r.Requester() && !s.Request() && s.Opcode != bth.RCAck &&
			s.Captured() == 0 && s.Passed && !s.Lost() && s.PSN.Diff(before) < 0 {
			return true
		}
	}
	return false
}

// crossed reports whether another go-back began between the frames event and n.
func (s *side) crossed(event, n int) bool {
	for g := range s.judged {
		if f := g.First.Captured(); f > event && f < n {
			return true
		}
	}
	return false
}

// report shows the packets of the connection around frame n.
func (j *judge) report(n int, what string) {
	j.note(what, 1)
	if j.show == nil || j.shown >= 400 || j.bad[what] > 2 {
		return
	}
	j.shown++
	r := &j.r.Frames[n-1]
	mine := func(f *gobackn.Frame) bool { return f.Requester() == r.Requester() }
	j.show(fmt.Sprintf("seed %d frame %d: %s\n%s", j.r.Config.Seed, n, what, j.dump(r.Conn, mine, max(0, n-1500), n)))
}

// maxLines limits the result of dump.
const maxLines = 60

// dump describes the frames of c in a range.
func (j *judge) dump(c *gobackn.Conn, want func(*gobackn.Frame) bool, from, to int) string {
	var lines []string
	for i := from; i < to && i < len(j.log); i++ {
		f := &j.r.Frames[i]
		if f.Conn != c || !want(f) {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%6d %9.3fµs %d %s %d", i+1, float64(f.Time)/1000, f.From, f.Opcode, f.PSN)
		if f.Message != nil {
			fmt.Fprintf(&b, " (%d+%d)", f.Message.First, f.Message.PSNs)
		}
		if f.Opcode == bth.RCAck {
			fmt.Fprintf(&b, " %v", f.AETH.Syndrome)
		}
		for _, x := range []struct {
			on   bool
			name string
		}{{f.AckReq, "A"}, {f.Again, "again"}, {f.Copy, "copy"}, {f.Late, "late"}, {f.Lost(), "LOST"}} {
			if x.on {
				b.WriteString(" " + x.name)
			}
		}
		if g := f.GoBack; g != nil {
			fmt.Fprintf(&b, " [%v to %d", g.Cause, g.To)
			if g.Event != nil {
				fmt.Fprintf(&b, " by %d", g.Event.Captured())
			}
			b.WriteString("]")
		}
		fmt.Fprintf(&b, "  %s\n", j.log[i])
		lines = append(lines, b.String())
	}
	return strings.Join(lines[max(0, len(lines)-maxLines):], "")
}

// strangers shows the packets of the connections that f mixes.
func (j *judge) strangers(n int, f *trace.Flow) {
	if j.show == nil || j.bad["paired wrongly"] > 4 {
		return
	}
	for _, c := range j.r.Conns {
		for _, e := range c.Ends {
			if e.QPN == f.Ends[0].QPN || e.QPN == f.Ends[1].QPN {
				all := func(*gobackn.Frame) bool { return true }
				j.show(fmt.Sprintf("connection %d, queue pairs %#x and %#x\n%s", c.Number, c.Ends[0].QPN, c.Ends[1].QPN,
					j.dump(c, all, max(0, n-400), n)))
				break
			}
		}
	}
}

// newShow returns a function that logs the packets around disagreements, nil without -v.
func newShow(t *testing.T) func(string) {
	if !testing.Verbose() {
		return nil
	}
	return func(s string) { t.Log(s) }
}
