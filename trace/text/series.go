package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/series"
)

const seriesColumns = "%14s %9s %14s %14s %6s %5s %6s %6s %6s %6s %6s %6s %6s %8s %8s %8s"

// WriteSeries writes the series of a trace, one after the other, with a line for each interval that
// has packets.
func WriteSeries(w io.Writer, c *series.Collector, coloured bool) error {
	b := bufio.NewWriterSize(w, 1<<16)
	p := paint(coloured)
	interval, doubled := c.Interval()
	for i, s := range c.Series() {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintln(b, p.in(cyan, seriesTitle(&s, interval, doubled)))
		fmt.Fprintf(b, seriesColumns+"\n", "time", "packets", "throughput", "goodput", "window", "open", "resent",
			"before", "behind", "NAKs", "tmout", "CNPs", "CE", "RTT min", "mean", "max")
		for _, r := range s.Rows {
			fmt.Fprintln(b, strings.TrimRight(seriesLine(&r, interval), " "))
		}
	}
	return b.Flush()
}

func seriesTitle(s *series.Series, interval time.Duration, doubled bool) string {
	what := "all packets"
	switch s.Kind {
	case series.OneFlow:
		what = fmt.Sprintf("flow %d  %s  %s%s%s", s.Flow.Number, s.Flow.Service, end(s.Flow.Ends[0]), arrow,
			end(s.Flow.Ends[1]))
		if s.Since > 0 {
			what += fmt.Sprintf(", complete from %s on", seconds(time.Duration(s.Since)*interval, interval))
		}
	case series.Others:
		what = "all other flows"
	}
	what += ", every " + interval.String()
	if doubled && s.Kind == series.Total {
		what += " (doubled to limit the number of lines)"
	}
	return what
}

func seriesLine(r *series.Row, interval time.Duration) string {
	e := &r.Events
	lo, mean, hi := "", "", ""
	if r.RTT.Count > 0 {
		lo, mean, hi = short(r.RTT.Min), short(meanRTT(r.RTT)), short(r.RTT.Max)
	}
	return fmt.Sprintf(seriesColumns, seconds(time.Duration(r.Index)*interval, interval), fmt.Sprint(r.Packets),
		rate(r.Throughput(interval)), rate(r.Goodput(interval)), some(int64(r.InFlight)), some(int64(r.Outstanding)),
		some(e.Again), some(e.LostBefore), some(e.LostBehind), some(e.NAKs+e.RNRs), some(e.Timeouts+e.Undecided),
		some(e.CNPs), ceShare(r), lo, mean, hi)
}

func meanRTT(r trace.RTT) time.Duration { return r.Sum / time.Duration(r.Count) }

func ceShare(r *series.Row) string {
	if r.Events.CE == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g %%", 100*r.CEShare())
}

// some formats n, and 0 as an empty string.
func some(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// seconds formats d in seconds, with microseconds, or nanoseconds if the interval requires them.
func seconds(d, interval time.Duration) string {
	if interval%time.Microsecond == 0 {
		return fmt.Sprintf("%.6f", d.Seconds())
	}
	return fmt.Sprintf("%.9f", d.Seconds())
}
