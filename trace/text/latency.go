package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorxe/gorxe/trace/latency"
)

const latencyColumns = "%-20s %10s %9s %7s %7s %8s %8s %8s %8s\n"

// WriteLatency writes the latencies by verb and size, with a histogram below each row.
func WriteLatency(w io.Writer, t *latency.Table) error {
	b := bufio.NewWriter(w)
	rows := t.Rows()
	if len(rows) > 0 {
		fmt.Fprintf(b, latencyColumns, "verb", "size up to", "messages", "failed", "open", "p50", "p99", "p99.9", "max")
	}
	for _, r := range rows {
		p50, p99, p999, most := "-", "-", "-", "-"
		if r.Count > 0 {
			p50, p99, p999, most = short(r.P50), short(r.P99), short(r.P999), short(r.Max)
		}
		fmt.Fprintf(b, latencyColumns, r.Verb, binarySize(r.MaxBytes), fmt.Sprint(r.Messages), fmt.Sprint(r.Failed),
			fmt.Sprint(r.Open), p50, p99, p999, most)
		for _, l := range octaves(t.Histogram(r.Verb, r.MinBytes)) {
			fmt.Fprintln(b, "  "+l)
		}
	}
	return b.Flush()
}

// octaves returns a line with a bar for each power of two of nanoseconds that has latencies.
func octaves(all []latency.Bucket) []string {
	type octave struct {
		upTo  int64
		count int64
	}
	var list []octave
	total, most := int64(0), int64(0)
	for _, b := range all {
		upTo := int64(1)
		for upTo < b.UpTo.Nanoseconds() {
			upTo *= 2
		}
		if len(list) == 0 || list[len(list)-1].upTo != upTo {
			list = append(list, octave{upTo: upTo})
		}
		o := &list[len(list)-1]
		o.count += b.Count
		total += b.Count
		most = max(most, o.count)
	}
	if len(list) < 2 {
		return nil
	}
	const width = 40
	lines := make([]string, len(list))
	for i, o := range list {
		bar := int((o.count*width + most - 1) / most)
		lines[i] = fmt.Sprintf("%8s to %8s %9d %5.1f %%  %s", nanos(o.upTo/2), nanos(o.upTo), o.count,
			100*float64(o.count)/float64(total), strings.Repeat("█", bar))
	}
	return lines
}

// nanos formats a duration in nanoseconds.
func nanos(n int64) string { return short(time.Duration(n)) }
