package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/summary"
)

// SummaryOptions describe the text of a summary.
type SummaryOptions struct {
	Title  string // name of the capture; [Plain] is applied to it
	Colour bool
}

// WriteSummary writes a summary of up to 40 lines of up to 80 columns.
func WriteSummary(w io.Writer, r *summary.Report, o SummaryOptions) error {
	s := &screen{SummaryOptions: o, paint: paint(o.Colour)}
	s.head(r)
	s.findings(r)
	s.flows(r)
	s.hosts(r)
	s.pairs(r)
	s.verbs(r)
	s.congestion(r)
	s.capture(r)
	s.hint(r)
	_, err := io.WriteString(w, s.text())
	return err
}

func (s *screen) head(r *summary.Report) {
	t := &r.Totals
	s.section()
	what := count(t.Packets, "packet") + ", " + size(t.Bytes)
	if t.Duration > 0 {
		what += " in " + short(t.Duration)
	}
	s.line("%s%s", title(s.Title), what)
	line := "goodput " + size(t.Payload)
	if t.Duration > 0 && t.Payload > 0 {
		line += ": " + rate(t.Goodput())
	}
	s.line("%s; %s in %s of %s", line, count(t.Messages, "message"), count(t.Flows, "flow"), count(t.Hosts, "host"))
	if t.Errors+t.Warnings == 0 && t.Troubled == 0 {
		s.line("nothing is wrong: no losses, no retransmissions, no NAKs, no congestion")
		return
	}
	line = fmt.Sprintf("%s and %s; %d of %s with problems", count(t.Errors, "error"), count(t.Warnings, "warning"),
		t.Troubled, count(t.Flows, "flow"))
	if t.Failed > 0 {
		line += fmt.Sprintf(", %d failed", t.Failed)
	}
	s.line("%s", line)
	for _, l := range wrap(totalEvents(&t.Events), screenColumns, 2) {
		s.line("%s", l)
	}
}

func title(s string) string {
	if s == "" {
		return ""
	}
	return fitAddr(Plain(s), 32) + ": "
}

// totalEvents lists the events that occurred.
func totalEvents(e *summary.Events) []string {
	var parts []string
	for _, x := range []struct {
		n    int64
		what string // noun
		rest string // what follows the number if there is no noun
	}{
		{e.LostBefore, "", "lost before the capture point"}, {e.LostBehind, "", "lost behind it"},
		{e.Again, "", "retransmitted"}, {e.Timeouts, "timeout", ""}, {e.Undecided, "", "of unknown cause"},
		{e.NAKs, "NAK", ""}, {e.RNRs, "RNR NAK", ""}, {e.CE, "", "CE"}, {e.CNPs, "CNP", ""},
		{e.Duplicates, "", "duplicated"},
	} {
		switch {
		case x.n == 0:
		case x.what == "":
			parts = append(parts, brief(x.n)+" "+x.rest)
		case x.n == 1:
			parts = append(parts, "1 "+x.what)
		default:
			parts = append(parts, brief(x.n)+" "+x.what+"s")
		}
	}
	return parts
}

const findingColumns = "%-5v %-26v %6v %5v %8v %6v  %v"

func (s *screen) findings(r *summary.Report) {
	const most = 5
	wrong := slices.DeleteFunc(slices.Clone(r.Findings), func(f summary.Finding) bool { return f.Level == trace.Info })
	if len(wrong) == 0 {
		return
	}
	s.title(findingColumns, "level", "finding", "count", "flows", "first in", "flow", "mostly from")
	for _, f := range wrong[:min(len(wrong), most)] {
		level := "error"
		if f.Level == trace.Warning {
			level = "warn"
		}
		s.line(findingColumns, level, f.Kind, brief(f.Count), brief(f.Flows), f.FirstFrame, number(f.WorstFlow),
			fitAddr(f.WorstHost, 17))
		s.colourLast(f.Level)
	}
	if n := len(wrong) - most; n > 0 {
		s.line("  and %s: --summary --json lists them", count(n, "more kind"))
	}
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func (s *screen) colourLast(l trace.Level) {
	last := s.sections[len(s.sections)-1]
	i := len(last) - 1
	if l == trace.Error {
		last[i] = s.paint.fail(last[i])
	} else {
		last[i] = s.paint.warn(last[i])
	}
}

func (s *screen) flows(r *summary.Report) {
	const most = 3
	if len(r.Flows) == 0 {
		return
	}
	s.title("worst flows")
	for _, f := range r.Flows[:min(len(r.Flows), most)] {
		network := ""
		if f.VNI != nil {
			network = fmt.Sprintf("  VNI %d", *f.VNI)
		}
		s.line("%6d %s  %s → %s%s", f.Flow, f.Service, summaryEnd(f.Ends[0]), summaryEnd(f.Ends[1]), network)
		what := strings.Join(totalEvents(&f.Events), ", ")
		if f.Err != "" {
			what = strings.TrimSuffix("failed: "+f.Err+"; "+what, "; ")
		}
		s.line("       %s", what)
	}
}

func summaryEnd(e summary.End) string {
	qpn := "?"
	if e.QPN != 0 {
		qpn = fmt.Sprintf("0x%06x", uint32(e.QPN))
	}
	return fitAddr(fabric.AddrText(e.Addr), 24) + "/" + qpn
}

// worst returns the title of a list, whose first entries are the worst if there are problems.
func worst(r *summary.Report, what string) string {
	if r.Totals.Troubled == 0 {
		return what
	}
	return "worst " + what
}

const hostColumns = "%-24s %5v %9v %6v %7v %6v %5v %5v %5v"

func (s *screen) hosts(r *summary.Report) {
	const most = 3
	if len(r.Hosts) == 0 {
		return
	}
	s.title(hostColumns, worst(r, "hosts"), "flows", "payload", "lost", "to it", "resent", "tmout", "NAKs", "CNPs")
	for _, h := range r.Hosts[:min(len(r.Hosts), most)] {
		s.line(hostColumns, fitAddr(fabric.AddrText(h.Addr), 24), brief(h.Flows), size(h.Payload),
			brief(h.Events.Lost()), brief(h.LostTo), brief(h.Events.Again), brief(h.Events.Timeouts),
			brief(h.Events.NAKs+h.Events.RNRs), brief(h.Events.CNPs))
	}
}

const pairColumns = "%-35s %5v %9v %4v %6v %5v %5v %4v"

func (s *screen) pairs(r *summary.Report) {
	const most = 2
	if len(r.Pairs) == 0 {
		return
	}
	s.title(pairColumns, worst(r, "pairs"), "flows", "payload", "lost", "resent", "tmout", "NAKs", "CNPs")
	for _, p := range r.Pairs[:min(len(r.Pairs), most)] {
		s.line(pairColumns, fitAddr(p.Src.String(), 16)+arrow+fitAddr(p.Dst.String(), 16), brief(p.Flows),
			size(p.Payload), brief(p.Events.Lost()), brief(p.Events.Again), brief(p.Events.Timeouts),
			brief(p.Events.NAKs+p.Events.RNRs), brief(p.Events.CNPs))
	}
}

const verbColumns = "%-22s %10s %9v %8v %8v %8v %8v"

// verbs writes the mix of verbs, and the latencies of the most frequent sizes of each.
func (s *screen) verbs(r *summary.Report) {
	const most = 4
	if len(r.Verbs) == 0 {
		return
	}
	var parts []string
	for _, v := range r.Verbs {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", v.Verb, brief(v.Messages), size(v.Bytes)))
	}
	s.title("messages: %s", strings.Join(parts, ", "))
	if len(r.Latency) == 0 || r.Latency[0].Count == 0 {
		return
	}
	s.line(verbColumns, "  latency", "size up to", "messages", "p50", "p99", "p99.9", "max")
	for _, l := range r.Latency[:min(len(r.Latency), most)] {
		if l.Count > 0 {
			s.line(verbColumns, "  "+l.Verb, binarySize(l.MaxBytes), brief(l.Count), short(l.P50), short(l.P99),
				short(l.P999), short(l.Max))
		}
	}
}

// binarySize formats the largest size of a class, a power of two.
func binarySize(n uint64) string {
	switch {
	case n == 1<<64-1:
		return "unlimited"
	case n >= 1<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// congestion writes the DSCPs with marked packets or CNPs, and the pauses.
func (s *screen) congestion(r *summary.Report) {
	const most = 2
	first := len(s.sections)
	for _, d := range r.DSCPs {
		if d.CE == 0 && d.CNPs == 0 || len(s.sections) > first && len(s.sections[first]) > most {
			continue
		}
		if len(s.sections) == first {
			s.title("congestion")
		}
		s.line("  DSCP %-2s  CE %s of %s packets, %s", dscpName(d.DSCP), share(d.Share()), brief(d.Packets), cnps(&d))
	}
	for _, p := range r.Pauses {
		if len(s.sections) == first {
			s.title("congestion")
		}
		if len(s.sections[first]) > most {
			break
		}
		s.line("  %s: %s, %s in all, longest %s", pauseClass(p.Class), count(p.Frames, "pause frame"), short(p.Total),
			short(p.Max))
	}
}

// maxProtocols is the number of protocols of other frames in the text.
const maxProtocols = 6

// capture writes the quality of the capture.
func (s *screen) capture(r *summary.Report) {
	c := &r.Capture
	var parts []string
	add := func(n uint64, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.Missing, "%s packets missing", brief(c.Missing))
	add(c.Truncated, "%s truncated", brief(c.Truncated))
	add(c.WrongICRC, "%s wrong ICRCs", brief(c.WrongICRC))
	add(c.Failed, "%s undecodable", brief(c.Failed))
	add(uint64(max(r.Totals.Events.Duplicates, 0)), "%s duplicated packets",
		brief(r.Totals.Events.Duplicates))
	add(c.Untimed, "%s without time", brief(c.Untimed))
	add(c.Clock.Back, "clock back %s, by up to %s", count(c.Clock.Back, "time"), short(c.Clock.MaxBack))
	add(c.Clock.Jumps, "%s, up to %s", count(c.Clock.Jumps, "jump"), short(c.Clock.MaxJump))
	add(r.Totals.Evicted, "%s flows evicted", brief(r.Totals.Evicted))
	add(c.Copies, "%s captured at several points", count(c.Copies, "packet"))
	for reason := range trace.Skip(trace.NumSkips) {
		if !reason.Named() {
			add(c.Skipped[reason.String()], "%s %s", brief(c.Skipped[reason.String()]), reason)
		}
	}
	for i, p := range c.Protocols {
		if i == maxProtocols {
			add(1, "%s", count(uint64(len(c.Protocols)-i), "other protocol"))
			break
		}
		add(p.Frames, "%s %s", brief(p.Frames), p.Name)
	}
	if len(parts) == 0 {
		parts = []string{"complete"}
	}
	s.title("capture: %s", count(c.Frames, "frame"))
	for _, l := range wrap(parts, screenColumns-2, 3) {
		s.line("  %s", l)
	}
}

// hint says how to see the packets of the worst finding.
func (s *screen) hint(r *summary.Report) {
	if len(r.Findings) == 0 || r.Findings[0].Level == trace.Info {
		return
	}
	f := r.Findings[0]
	s.section()
	if f.WorstFlow == 0 {
		s.line("packets: --filter 'finding==%s'", f.Kind)
		return
	}
	s.line("packets: --filter 'finding==%s', --filter 'flow==%d'", f.Kind, f.WorstFlow)
}
