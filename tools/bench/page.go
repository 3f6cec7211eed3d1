package bench

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"

	"github.com/gorxe/gorxe/internal/histogram"
)

//go:embed page.md.tmpl
var pageText string

// page is the template of the report in Markdown; its data is a pageData.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "commas": commas, "times": func(v float64) string { return fmt.Sprintf("%.2f ×", v) },
}).Parse(pageText))

// pageData is a report with everything computed that the page shows.
type pageData struct {
	*Report
	Words     GroundText
	Chart     string
	Took      string
	Disturbed int
	Contests  []contestData
}

type contestData struct {
	Contest
	Rows    []rowData
	Answers []answer
	Left    []Left
	Times   bool // some contender has a histogram
}

// rowData is the row of one contender.
type rowData struct {
	Name           string
	Gorxe          bool
	Of             Spread
	Server, Client float64 // cores, medians
	Shared         float64 // cores of the daemon of both ends, median
	PerCore        float64 // median of value / cores of the busier end; 0: not computed
	Resent         float64 // median
	MostResent     float64 // maximum of the rounds
	Counts         bool    // the tool counts retransmissions
	Disturbed      int
	Failed         int
	Why            string // reason of the last failure
	Times          *histogram.Times
}

// Tail returns the 99th percentile of the times of a contender's messages divided by
// the median.
func (d rowData) Tail() float64 { return d.Times.Percentile(99) / d.Times.Percentile(50) }

// answer is the result of a ratio.
type answer struct {
	Ratio
	Value Spread
}

// Word returns whether the target is reached, as a word.
func (a answer) Word() string {
	switch {
	case a.Goal() == "":
		return ""
	case a.Met(a.Value.Median):
		return "yes"
	}
	return "no"
}

// Markdown writes the report with tables. chart is the name of the chart's file, or empty.
func (r *Report) Markdown(w io.Writer, chart string) error {
	return page.Execute(w, r.data(chart))
}

func (r *Report) data(chart string) *pageData {
	d := &pageData{Report: r, Words: *cmp.Or(r.Words, &ofNamespaces), Chart: chart,
		Took: fmt.Sprintf("%.0f s", r.Seconds), Disturbed: r.DisturbedSamples()}
	for i := range r.Contests {
		d.Contests = append(d.Contests, r.contestData(&r.Contests[i]))
	}
	return d
}

func (r *Report) contestData(c *Contest) contestData {
	out := contestData{Contest: *c}
	for _, who := range c.Contenders {
		row, ok := r.row(c, who)
		if ok {
			out.Rows = append(out.Rows, row)
			out.Times = out.Times || row.Times != nil
		}
	}
	for _, q := range c.Ratios {
		if s := spread(r.ratios(c, q)); s.N > 0 {
			out.Answers = append(out.Answers, answer{q, s})
		}
	}
	for _, l := range r.Left {
		if l.Contest == c.Name {
			out.Left = append(out.Left, l)
		}
	}
	return out
}

// row returns the row of a contender, false if it was not measured.
func (r *Report) row(c *Contest, who Contender) (rowData, bool) {
	samples := r.of(c, who.Name)
	row := rowData{Name: who.Name, Gorxe: who.tool(Server).gorxe || who.tool(Client).gorxe, Of: spread(values(samples)),
		Counts: who.tool(Client).reportsRetransmits}
	var server, client, shared, resent, perCore []float64
	var bars [][]histogram.Bucket
	for _, s := range samples {
		if busy := max(s.CPU[0], s.CPU[1], s.Shared); busy > 0 && c.Metric != Latency && c.Metric != StartUp {
			perCore = append(perCore, s.Value/busy)
		}
		server, client, resent = append(server, s.CPU[0]), append(client, s.CPU[1]), append(resent, float64(s.Resent))
		shared, bars = append(shared, s.Shared), append(bars, s.Bars)
		if s.Load.Disturbed() {
			row.Disturbed++
		}
	}
	row.PerCore = spread(perCore).Median
	row.Server, row.Client = spread(server).Median, spread(client).Median
	row.Resent, row.MostResent = spread(resent).Median, spread(resent).Max
	row.Shared, row.Times = spread(shared).Median, timesOf(bars...)
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Contest == c.Name && s.Contender == who.Name && s.Err != "" {
			row.Failed++
			row.Why = s.Err
		}
	}
	return row, len(samples)+row.Failed > 0
}

// Virtual describes the kind of machine.
func (m Machine) Virtual() string {
	if m.Hypervisor == "" {
		return "no hypervisor"
	}
	return "virtual: " + m.Hypervisor
}

// Place returns the cores that an end is bound to.
func (m Machine) Place(end int) string {
	first := m.CoreOf[end]
	if m.PerEnd > 1 {
		return fmt.Sprintf("cores %d to %d", first, first+m.PerEnd-1)
	}
	return fmt.Sprintf("core %d", first)
}

// number formats v with three significant digits.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if v >= 1000 || strings.Contains(s, "e") {
		s = strconv.FormatFloat(v, 'f', 0, 64)
		if v < 1 {
			s = strconv.FormatFloat(v, 'f', 6, 64)
		}
	}
	return s
}

// commas formats a whole number with commas between groups of three digits.
func commas(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
