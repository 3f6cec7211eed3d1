package why

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/text"
)

// Answer is the result of a [Collector].
type Answer struct {
	Complaint Complaint
	// Matches are the flows that the line can be about: those that explain it first, then in order
	// of their numbers.
	Matches []Match
	Flows   int      // number of flows in the capture
	Others  []string // the first flows that do not match, described
	Omitted int      // packets of flows that were not followed because there were too many
}

// Match is a flow that matches a Complaint.
type Match struct {
	Flow *trace.Flow
	// Explained reports whether the capture shows an error of the flow that explains the line.
	Explained bool
	Cause     string   // one sentence
	Evidence  []string // what the capture shows, in order of time
	Frames    []int    // numbers of the frames that Evidence is about, in its order, each once
}

// MaxMatches is the maximum number of matches that are written, as text or JSON.
const MaxMatches = 64

// Answer returns the answer. It must be called after the Pipeline has run.
func (c *Collector) Answer() *Answer {
	a := &Answer{Complaint: c.c, Flows: c.flows, Others: c.others, Omitted: c.omitted}
	for _, r := range c.ended {
		end, _ := c.end(r.flow, false)
		m := Match{Flow: r.flow}
		e := explainer{c: &c.c, r: r, m: &m}
		if end >= 0 {
			e.explain(end)
		} else if e.explain(0); !m.Explained {
			other := Match{Flow: r.flow}
			e.m = &other
			e.explain(1)
			if other.Explained {
				m = other
			}
		}
		a.Matches = append(a.Matches, m)
	}
	slices.SortStableFunc(a.Matches, func(x, y Match) int {
		if x.Explained != y.Explained {
			if x.Explained {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.Flow.Number, y.Flow.Number)
	})
	return a
}

// Explained returns the number of matches that explain the line.
func (a *Answer) Explained() (n int) {
	for i := range a.Matches {
		if a.Matches[i].Explained {
			n++
		}
	}
	return n
}

// WriteText writes a for people.
func (a *Answer) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	c := &a.Complaint
	fmt.Fprintf(b, "line      %s: %s\n", c.Format, text.Plain(c.facts()))
	if m := c.Status.Meaning(); m != "" {
		fmt.Fprintf(b, "meaning   %s\n", m)
	}
	if c.Responder {
		fmt.Fprintln(b, "meaning   the line is from the responder: the requester gets this status")
	}
	shown := a.Explained()
	if shown == 0 {
		shown = len(a.Matches)
	}
	for i := range a.Matches[:min(shown, MaxMatches)] {
		m := &a.Matches[i]
		fmt.Fprintf(b, "flow      %s\n", describe(m.Flow))
		fmt.Fprintf(b, "cause     %s\n", text.Plain(m.Cause))
		for _, e := range m.Evidence {
			fmt.Fprintf(b, "          %s\n", text.Plain(e))
		}
	}
	if n := shown - MaxMatches; n > 0 {
		fmt.Fprintf(b, "          further flows: %d\n", n)
	}
	if n := len(a.Matches) - shown; n > 0 {
		fmt.Fprintf(b, "other     flows that match, but show no such error: %d\n", n)
	}
	if len(a.Matches) == 0 {
		fmt.Fprintf(b, "no match  looked for a flow with %s among %d\n", text.Plain(c.wanted()), a.Flows)
		for _, o := range a.Others {
			fmt.Fprintf(b, "          %s\n", o)
		}
		if n := a.Flows - len(a.Others); n > 0 {
			fmt.Fprintf(b, "          further flows: %d\n", n)
		}
	}
	if a.Omitted > 0 {
		fmt.Fprintf(b, "          packets of more than %d flows were not examined\n", maxRecords)
	}
	return b.Flush()
}

// facts describes what the line says.
func (c *Complaint) facts() string {
	parts := []string{}
	if c.Status != NoStatus {
		parts = append(parts, c.Status.String())
	}
	if w := c.wanted(); w != anyFlow {
		parts = append(parts, w)
	}
	if c.Op != "" {
		parts = append(parts, "operation "+c.Op)
	}
	if c.RKey != 0 {
		parts = append(parts, fmt.Sprintf("address %#x, R_Key %#x", c.Address, c.RKey))
	}
	if len(parts) == 0 {
		return "no status and no queue pair"
	}
	return strings.Join(parts, ", ")
}

const anyFlow = "any queue pair and address"

// wanted describes the flow that the line is about.
func (c *Complaint) wanted() string {
	parts := []string{}
	if c.QPN != 0 {
		parts = append(parts, fmt.Sprintf("queue pair 0x%06x", uint32(c.QPN)))
	}
	if c.Local.IsValid() {
		parts = append(parts, "local address "+c.Local.String())
	}
	if c.PeerQPN != 0 {
		parts = append(parts, fmt.Sprintf("remote queue pair 0x%06x", uint32(c.PeerQPN)))
	}
	if c.Remote.IsValid() {
		parts = append(parts, "remote address "+c.Remote.String())
	}
	if len(parts) == 0 {
		return anyFlow
	}
	return strings.Join(parts, ", ")
}

// describe describes a flow.
func describe(f *trace.Flow) string {
	return fmt.Sprintf("flow %d, %s %s → %s, %d packets, frames from %d", f.Number, f.Service, end(f.Ends[0]),
		end(f.Ends[1]), f.Packets, f.First)
}

func end(e trace.End) string {
	if e.QPN == 0 {
		return fabric.AddrText(e.Addr) + "/?"
	}
	return fmt.Sprintf("%s/0x%06x", fabric.AddrText(e.Addr), uint32(e.QPN))
}

// list formats frame numbers, at most maxAttempts of n.
func list(frames []int, n int) string {
	var parts []string
	for _, f := range frames {
		parts = append(parts, fmt.Sprint(f))
	}
	s := strings.Join(parts, ", ")
	if n > len(frames) {
		s += fmt.Sprintf(" and %d more", n-len(frames))
	}
	return s
}

// times formats a number of times.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// short formats a duration with three significant digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
