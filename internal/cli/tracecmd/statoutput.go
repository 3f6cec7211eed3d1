package tracecmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/csv"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/latency"
	"github.com/gorxe/gorxe/trace/series"
	"github.com/gorxe/gorxe/trace/summary"
	"github.com/gorxe/gorxe/trace/text"
)

// shownFlows is the number of flows in the text of --congestion.
const shownFlows = 20

// openStatistics opens the collector of the selected statistics, which writes at the end.
func openStatistics(a *app.App, p *params, _ *files) ([]trace.Output, finish, error) {
	switch {
	case p.stats.summary:
		return openSummary(a, p)
	case p.stats.series != "":
		return openSeries(a, p)
	case p.stats.latency:
		return openLatency(a, p)
	}
	return openCongestion(a, p)
}

func openSummary(a *app.App, p *params) ([]trace.Output, finish, error) {
	s := summary.New(summary.Options{LinkSpeed: p.stats.speed})
	coloured := app.NewStyle(a.Stdout).On
	return []trace.Output{s}, func() error {
		r := s.Report(summary.InputOf(p.stats.pipeline))
		if p.json {
			return writeObjects(a.Stdout, json.Summary(captureName(p), r))
		}
		return text.WriteSummary(a.Stdout, r, text.SummaryOptions{Title: captureName(p), Colour: coloured})
	}, nil
}

func openSeries(a *app.App, p *params) ([]trace.Output, finish, error) {
	c := series.New(series.Options{Interval: p.stats.interval})
	coloured := app.NewStyle(a.Stdout).On
	return []trace.Output{c}, func() error {
		interval, doubled := c.Interval()
		if doubled && p.stats.interval > 0 {
			fmt.Fprintf(a.Stderr, "the interval is %v instead of %v, to limit the number of rows\n", interval,
				p.stats.interval)
		}
		if n := c.Untimed(); n > 0 {
			fmt.Fprintf(a.Stderr, "%s without a usable time: in no interval\n", app.Plural(int(n), "packet"))
		}
		if !p.json && !p.stats.csv {
			return text.WriteSeries(a.Stdout, c, coloured)
		}
		var rows []any
		for _, s := range c.Series() {
			for _, r := range s.Rows {
				rows = append(rows, json.SeriesRow(&s, &r, interval, c.BeginTime()))
			}
		}
		return writeRows(a, p, rows)
	}, nil
}

func openLatency(a *app.App, p *params) ([]trace.Output, finish, error) {
	t := latency.New()
	return []trace.Output{t}, func() error {
		if !p.json && !p.stats.csv {
			return text.WriteLatency(a.Stdout, t)
		}
		var rows []any
		for _, r := range t.Rows() {
			rows = append(rows, json.Latency(t, r))
		}
		return writeRows(a, p, rows)
	}, nil
}

func openCongestion(a *app.App, p *params) ([]trace.Output, finish, error) {
	t := congestion.New()
	t.LinkSpeed = p.stats.speed
	return []trace.Output{t}, func() error {
		if !p.json && !p.stats.csv {
			return text.WriteCongestion(a.Stdout, t, shownFlows)
		}
		var rows []any
		for _, r := range append(t.Flows(), t.DSCPs()...) {
			rows = append(rows, json.Congestion(r))
		}
		if p.json {
			for _, x := range t.Pauses() { // CSV has one type of rows
				rows = append(rows, json.Pause(x))
			}
		}
		return writeRows(a, p, rows)
	}, nil
}

// openCSV opens the output of --csv with --messages or --flows.
func openCSV(a *app.App, p *params, _ *files) ([]trace.Output, finish, error) {
	if p.messages {
		return []trace.Output{csv.NewMessages(a.Stdout)}, nil, nil
	}
	return []trace.Output{csv.NewFlows(a.Stdout)}, nil, nil
}

// writeRows writes rows as JSON or CSV.
func writeRows(a *app.App, p *params, rows []any) error {
	if p.json {
		return writeObjects(a.Stdout, rows...)
	}
	w := csv.NewWriter(a.Stdout)
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			return err
		}
	}
	return w.Flush()
}

// writeObjects writes one JSON object per line.
func writeObjects(out io.Writer, all ...any) error {
	b := bufio.NewWriterSize(out, 64<<10)
	w := json.NewWriter(b)
	var errs []error
	for _, o := range all {
		errs = append(errs, w.Object(o))
	}
	return errors.Join(append(errs, b.Flush())...)
}
