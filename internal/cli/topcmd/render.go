package topcmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/text"
)

// view is how a block is rendered.
type view struct {
	title  string // what is captured
	now    time.Time
	order  int  // index in orders
	rows   int  // maximum number of flows; 0 means all
	width  int  // maximum length of a line in characters; 0 means no limit
	keys   bool // the keys work
	style  app.Style
	missed uint64 // frames that are not in the counts
}

// head is the number of lines above the flows.
const head = 3

// columns are the columns of a flow. The last ones are left-aligned.
var columns = []struct {
	title string
	left  bool
	value func(s *sample, over time.Duration) string
}{
	{"FLOW", false, func(s *sample, _ time.Duration) string { return strconv.Itoa(s.flow.Number) }},
	{"TYPE", true, func(s *sample, _ time.Duration) string { return s.flow.Service.String() }},
	{"BIT/S", false, func(s *sample, over time.Duration) string { return scaled(perSecond(8*s.payload, over)) }},
	{"PKT/S", false, func(s *sample, over time.Duration) string { return scaled(perSecond(s.packets, over)) }},
	{"RESENT", false, func(s *sample, _ time.Duration) string { return percent(s.resent()) }},
	{"TMO", false, func(s *sample, _ time.Duration) string { return some(s.timeouts) }},
	{"NAK/S", false, func(s *sample, over time.Duration) string { return scaled(perSecond(s.naks, over)) }},
	{"RNR/S", false, func(s *sample, over time.Duration) string { return scaled(perSecond(s.rnrs, over)) }},
	{"CNP/S", false, func(s *sample, over time.Duration) string { return scaled(perSecond(s.cnps, over)) }},
	{"CE", false, func(s *sample, _ time.Duration) string { return percent(share(s.ce, s.packets)) }},
	{"RTT", false, func(s *sample, _ time.Duration) string { return duration(s.rtt()) }},
	{"FROM", true, func(s *sample, _ time.Duration) string { return end(s.flow.Ends[0]) }},
	{"TO", true, func(s *sample, _ time.Duration) string { return to(&s.flow) }},
	{"PROBLEM", true, problem},
}

// render returns the lines of a block.
func (t *table) render(v view) []string {
	o := &orders[v.order]
	o.sorted(t.samples)
	shown := t.samples
	if v.rows > 0 && len(shown) > v.rows {
		shown = shown[:v.rows]
	}
	title := fmt.Sprintf("%s  %s  %s, %d shown by %s", text.Plain(v.title),
		v.now.Local().Format("2006-01-02 15:04:05.000"), app.Plural(len(t.samples), "flow"), len(shown), o.name)
	if v.keys {
		title += "  (s sort, q quit)"
	}
	lines := []string{v.style.Bold(cut(title, v.width)), cut(t.totals(v.missed), v.width)}
	cells := [][]string{nil}
	for _, c := range columns {
		cells[0] = append(cells[0], c.title)
	}
	for i := range shown {
		var row []string
		for _, c := range columns {
			row = append(row, c.value(&shown[i], t.over))
		}
		cells = append(cells, row)
	}
	for i, line := range align(cells) {
		line = cut(line, v.width)
		switch {
		case i == 0:
			line = v.style.Dim(line)
		case shown[i-1].broken() > 0:
			line = v.style.Red(line)
		case shown[i-1].again+shown[i-1].timeouts+shown[i-1].naks+shown[i-1].rnrs+shown[i-1].cnps > 0:
			line = v.style.Yellow(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// totals returns the line with the sums: throughput, and what is wrong in the interval and so far.
func (t *table) totals(missed uint64) string {
	s := &t.sum
	rate := func(n uint64) string {
		if n == 0 {
			return "0"
		}
		return scaled(perSecond(n, t.over))
	}
	line := rate(8*s.payload) + " bit/s, " + rate(s.packets) + " packets/s"
	for _, x := range []struct {
		n    uint64
		text string
	}{
		{s.again, percent(s.resent()) + " of the data packets resent"},
		{s.timeouts, app.Plural(int(s.timeouts), "timeout")},
		{s.naks, rate(s.naks) + " NAK/s"}, {s.rnrs, rate(s.rnrs) + " RNR/s"}, {s.cnps, rate(s.cnps) + " CNP/s"},
		{s.ce, percent(share(s.ce, s.packets)) + " marked CE"},
		{s.errors, app.Plural(int(s.errors), "packet") + " with errors"},
	} {
		if x.n > 0 {
			line += ", " + x.text
		}
	}
	line += "; so far " + app.Plural(int(t.flows), "flow")
	for _, x := range []struct {
		n    uint64
		text string
	}{
		{t.failed, fmt.Sprintf("%d failed", t.failed)},
		{missed, app.Plural(int(missed), "frame") + " missed"},
		{t.ignored, app.Plural(int(t.ignored), "packet") + " of flows beyond the limit not counted"},
	} {
		if x.n > 0 {
			line += ", " + x.text
		}
	}
	return line
}

// problem describes what is wrong with a flow in a few words.
func problem(s *sample, _ time.Duration) string {
	switch {
	case s.flow.Err != "":
		return "failed: " + text.Plain(s.flow.Err)
	case s.errors > 0:
		return app.Plural(int(s.errors), "packet") + " with errors"
	}
	return ""
}

// align pads the cells of each column to the same width.
func align(rows [][]string) []string {
	widths := make([]int, len(columns))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if columns[i].left {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// cut returns at most width characters of s; 0 means all.
func cut(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width])
}

// end returns the address and the queue pair of an end; "?" is what is not known.
func end(e trace.End) string {
	addr, qpn := "?", "?"
	if e.Addr.IsValid() {
		addr = fabric.AddrText(e.Addr)
	}
	if e.QPN != 0 {
		qpn = fmt.Sprintf("0x%06x", uint32(e.QPN))
	}
	return addr + "/" + qpn
}

func perSecond(n uint64, over time.Duration) float64 { return float64(n) / over.Seconds() }

// scaled formats a rate with three significant digits.
func scaled(v float64) string {
	if v == 0 {
		return "-"
	}
	unit := 0
	for v >= 999.5 && unit < 4 {
		v /= 1000
		unit++
	}
	decimals := 0
	for limit := 99.95; v < limit && decimals < 2; limit /= 10 {
		decimals++
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + [...]string{"", "k", "M", "G", "T"}[unit]
}

// percent formats a share of 0 to 1.
func percent(share float64) string {
	switch {
	case share == 0:
		return "-"
	case share < 0.0001:
		return "<0.01%"
	}
	return strconv.FormatFloat(100*share, 'g', 3, 64) + "%"
}

// share returns n / of, 0 if of is 0.
func share(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// some formats a number that is usually 0.
func some(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

// duration formats d with about three digits; 0 means unknown.
func duration(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	}
	return d.String()
}

// to formats the second end of a flow, and its virtual network.
func to(f *trace.Flow) string {
	if f.HasVNI {
		return fmt.Sprintf("%s VNI %d", end(f.Ends[1]), f.VNI)
	}
	return end(f.Ends[1])
}
