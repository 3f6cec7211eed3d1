package text

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"github.com/gorxe/gorxe/trace/congestion"
)

const congestionColumns = "%-7s %-47s %4s %9s %8s %8s %8s %10s %8s %8s %8s\n"

// WriteCongestion writes the congestion by flow, by DSCP and by class of pause frames. It writes up
// to flows flows.
func WriteCongestion(w io.Writer, t *congestion.Table, flows int) error {
	b := bufio.NewWriter(w)
	head := []any{"DSCP", "packets", "CE", "share", "CNPs", "CNPs/s", "delay min", "mean", "max"}
	rows := t.Flows()
	if len(rows) > 0 {
		fmt.Fprintf(b, congestionColumns, append([]any{"flow", "from → to"}, head...)...)
	}
	for _, r := range rows[:min(len(rows), flows)] {
		ends := end(r.Flow.Ends[0]) + arrow + end(r.Flow.Ends[1])
		fmt.Fprintf(b, congestionColumns, append([]any{fmt.Sprint(r.Flow.Number), ends}, columns(&r)...)...)
	}
	if n := len(rows) - flows; n > 0 {
		fmt.Fprintf(b, "and %s with CE or CNPs: --csv and --json list them\n", count(n, "more flow"))
	}
	if dscps := t.DSCPs(); len(dscps) > 0 {
		fmt.Fprintf(b, congestionColumns, append([]any{"DSCP", "", ""}, head[1:]...)...)
		for _, r := range dscps {
			fmt.Fprintf(b, congestionColumns, append([]any{dscpName(r.DSCP), "", ""}, columns(&r)[1:]...)...)
		}
	}
	for _, p := range t.Pauses() {
		fmt.Fprintf(b, "%s: %s, %s in all, longest %s, %s\n", pauseClass(p.Class), count(p.Frames, "pause frame"),
			short(p.Total), short(p.Max), count(p.Resume, "resume frame"))
	}
	return b.Flush()
}

// columns returns the numbers of a row, from the DSCP on.
func columns(r *congestion.Row) []any {
	lo, mean, hi := "-", "-", "-"
	if d := r.Delay; d.Count > 0 {
		lo, mean, hi = short(d.Min), short(d.Mean()), short(d.Max)
	}
	return []any{
		dscpName(r.DSCP), fmt.Sprint(r.Packets), fmt.Sprint(r.CE), share(r.Share()), fmt.Sprint(r.CNPs),
		perSecond(r), lo, mean, hi,
	}
}

func dscpName(n int) string {
	if n == congestion.UnknownDSCP {
		return "?"
	}
	return fmt.Sprint(n)
}

// cnps describes the CNPs of a row.
func cnps(r *congestion.Row) string {
	s := count(r.CNPs, "CNP")
	if r.Rate() > 0 {
		s += " (" + perSecond(r) + "/s)"
	}
	if r.Delay.Count > 0 {
		s += ", " + short(r.Delay.Mean()) + " after CE"
	}
	return s
}

// perSecond formats the CNPs per second with up to three digits other than zeros.
func perSecond(r *congestion.Row) string {
	x := r.Rate()
	if x < 1000 {
		return fmt.Sprintf("%.3g", x)
	}
	digits := math.Pow10(int(math.Log10(x)) - 2)
	return fmt.Sprintf("%.0f", math.Round(x/digits)*digits)
}

// share formats a share of 0 to 1 in percent.
func share(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

func pauseClass(class int) string {
	if class == congestion.GlobalPause {
		return "pause of all classes"
	}
	return fmt.Sprintf("class %d", class)
}
