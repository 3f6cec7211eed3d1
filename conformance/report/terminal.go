package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gorxe/gorxe/conformance"
)

// Text writes results for a terminal.
type Text struct {
	W io.Writer
	// Paint colours a text that stands for a verdict; nil: no colours. Dim dims a text.
	Paint func(v conformance.Verdict, text string) string
	Dim   func(text string) string

	chapter string // of the latest line
}

func (t *Text) paint(v conformance.Verdict, s string) string {
	if t.Paint == nil {
		return s
	}
	return t.Paint(v, s)
}

func (t *Text) dim(s string) string {
	if t.Dim == nil {
		return s
	}
	return t.Dim(s)
}

// Header writes the line that begins a run.
func (t *Text) Header(h Header, cases int) {
	fmt.Fprintf(t.W, "%s (%v), from %v over %s: %s, gorxe %s\n", h.Device, h.Address, h.Local, h.Link,
		plural(cases, "case"), h.Gorxe)
}

// Result writes the line of a case, below a heading for each chapter. A second line has the detail,
// except of a case that passes without one.
func (t *Text) Result(x *conformance.Result) {
	if chapter := x.Case.Chapter(); chapter != t.chapter {
		t.chapter = chapter
		fmt.Fprintf(t.W, "\n%s\n", chapter)
	}
	fmt.Fprintf(t.W, "  %-14s%s  %s %s\n", x.Case.ID, t.paint(x.Verdict, fmt.Sprintf("%-12s", x.Verdict)), x.Case.Rule,
		t.dim(fmt.Sprintf("(%.1fs)", x.Elapsed.Seconds())))
	if d := clean(x.Detail, maxDetail); d != "" {
		fmt.Fprintf(t.W, "  %-28s%s\n", "", t.dim("→ "+d))
	}
}

// shownPackets is the number of packets of a failure on the terminal.
const shownPackets = 24

// Failures writes the failures and warnings of r with their packets, then measurements and summary.
// file returns the path of the capture of a case, or "".
func (t *Text) Failures(r *Report, file func(*Case) string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		if !bad(c.Verdict) {
			continue
		}
		fmt.Fprintf(t.W, "\n%s %s (%v)\n  %-9s%s\n  %-9s%s\n  %-9s%s\n", c.ID, t.paint(c.Verdict, c.Verdict.String()),
			c.Level, "rule", c.Rule, "source", c.Source, "result", c.Detail)
		if name := file(c); name != "" {
			fmt.Fprintf(t.W, "  %-9s%s\n", "capture", name)
		}
		for _, l := range c.ladder(shownPackets) {
			fmt.Fprintln(t.W, l)
		}
		if c.Output != "" {
			fmt.Fprintf(t.W, "  %s printed:\n", c.Program)
			for l := range strings.Lines(c.Output) {
				fmt.Fprintf(t.W, "    %s\n", strings.TrimSuffix(l, "\n"))
			}
		}
	}
}

// Values writes a table of the measurements.
func (t *Text) Values(r *Report) {
	rows := r.valueRows()
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(t.W)
	w := tabwriter.NewWriter(t.W, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{append([]string{"case"}, valueHeadings...)}, rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// valueRows returns the rows of all measurements, each after the ID of the case or allCases.
func (r *Report) valueRows() (rows [][]string) {
	for i := range r.Cases {
		for k := range r.Cases[i].Values {
			rows = append(rows, append([]string{r.Cases[i].ID}, r.Cases[i].Values[k].cells()...))
		}
	}
	for i := range r.Traffic {
		rows = append(rows, append([]string{allCases}, r.Traffic[i].cells()...))
	}
	return rows
}

// Summary writes the number of cases of each verdict.
func (t *Text) Summary(r *Report) {
	fmt.Fprintf(t.W, "\n%s in %.1fs: %s\n", plural(len(r.Cases), "case"), r.Seconds, r.counts(t.paint))
}

// counts returns the number of cases of each verdict that occurs.
func (r *Report) counts(paint func(conformance.Verdict, string) string) string {
	var parts []string
	for v := range conformance.Verdicts {
		if n := r.Count(v); n > 0 {
			parts = append(parts, paint(v, fmt.Sprintf("%d %s", n, v)))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func plain(_ conformance.Verdict, s string) string { return s }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
