package tracecmd

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
)

// statsFlags select statistics, which replace the lines of packets.
type statsFlags struct {
	summary, latency, congestion bool
	series                       string // "", seriesAuto or an interval
	csv                          bool
	packets                      bool // lines of packets also for a large file
	linkSpeed                    string

	interval time.Duration // of series; 0: adaptive
	speed    float64       // bits per second
	pipeline *trace.Pipeline
}

const seriesAuto = "auto"

func (f *statsFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.summary, "summary", false,
		"one screen instead: what is wrong, where and how much (the default for files of more than "+
			"20 MB on a terminal)")
	fs.BoolVar(&f.packets, "packets", false, "one line per packet, also for files of more than 20 MB on a terminal")
	fs.StringVar(&f.series, "series", "",
		"numbers over time instead, of all packets and of the worst 16 connections: goodput, window, losses, RTT; "+
			"every `interval`, such as --series=10ms, which doubles as necessary; without one, up to 256 rows")
	fs.Lookup("series").NoOptDefVal = seriesAuto
	fs.BoolVar(&f.latency, "latency", false, "latencies by verb and size instead: p50, p99, p99.9, maximum, histogram")
	fs.BoolVar(&f.congestion, "congestion", false,
		"ECN CE marks, CNPs and the delay between them instead, by connection and by DSCP")
	fs.StringVar(&f.linkSpeed, "link-speed", "100G",
		"with --summary or --congestion: `speed` of the links in bits per second, for the times of pause frames")
	fs.BoolVar(&f.csv, "csv", false,
		"comma-separated values with a header line: with --flows, --messages, --series, --latency or --congestion")
}

// kind returns the flag of the selected statistics, or "".
func (f *statsFlags) kind() string {
	if all := f.kinds(); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (f *statsFlags) kinds() (all []string) {
	for _, k := range []struct {
		set  bool
		name string
	}{
		{f.summary, "--summary"}, {f.series != "", "--series"}, {f.latency, "--latency"},
		{f.congestion, "--congestion"},
	} {
		if k.set {
			all = append(all, k.name)
		}
	}
	return all
}

// check rejects contradictory flags.
func (f *statsFlags) check(p *params) error {
	all := f.kinds()
	for _, k := range []struct {
		set  bool
		name string
	}{{p.messages, "--messages"}, {p.flows, "--flows"}} {
		if k.set && (len(all) > 0 || f.csv || f.packets) {
			all = append(all, k.name)
		}
	}
	if f.packets {
		all = append(all, "--packets")
	}
	switch {
	case len(all) > 1:
		return app.Usagef("give only one of %s", strings.Join(all, ", "))
	case f.csv && p.json:
		return app.Usagef("give --csv or --json, not both")
	case f.csv && (len(all) == 0 || f.summary || f.packets):
		return app.Usagef("--csv needs --flows, --messages, --series, --latency or --congestion")
	}
	var err error
	if f.speed, err = parseSpeed(f.linkSpeed); err != nil {
		return err
	}
	if f.series == "" || f.series == seriesAuto {
		return nil
	}
	d, err := time.ParseDuration(f.series)
	if err != nil || d <= 0 {
		return app.Usagef("--series=%s: give a time such as 10ms or 1s", f.series)
	}
	f.interval = d
	return nil
}

// parseSpeed parses a number of bits per second with an optional suffix k, M, G or T.
func parseSpeed(s string) (float64, error) {
	number, unit := s, 1.0
	for i, suffix := range []string{"k", "M", "G", "T"} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = n, math.Pow10(3*(i+1))
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*unit > 1e15 {
		return 0, app.Usagef("--link-speed %q: give a number of bits per second, such as 25G", s)
	}
	return v * unit, nil
}

// largeFile is the size in bytes from which on a summary is the default on a terminal: text of more
// than 100,000 lines.
const largeFile = 20_000_000

// choose selects the summary for a large file on a terminal if no flag says otherwise.
func (f *statsFlags) choose(a *app.App, p *params, in io.Reader, name string) {
	if f.kind() != "" || f.packets || p.json || p.messages || p.flows || p.verbose || p.hex || p.payload || p.explain ||
		p.pcapng != "" || p.html != "" || p.filter != "" || p.why != "" || p.shown.format == formatFields ||
		p.shown.count > 0 || a.Terminal == nil || !a.Terminal(a.Stdout) {
		return
	}
	file, ok := in.(*os.File)
	if !ok {
		return
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() <= largeFile {
		return
	}
	f.summary = true
	fmt.Fprintf(a.Stderr, "%s has %d MB: a summary follows; for a line per packet give --packets or --filter\n", name,
		info.Size()/1_000_000)
}

// configure sets the options of the pipeline: statistics need no meanings.
func (f *statsFlags) configure(p *params, t *tracing) {
	f.pipeline = &t.Pipeline
	lines := !p.messages && !p.flows && f.kind() == ""
	t.Options.NoMeaning = !lines && p.pcapng == "" && p.html == ""
	t.Options.ReuseMeaning = p.pcapng == "" && p.html == "" // the other outputs do not keep it
}

// captureName returns the name of the capture in titles.
func captureName(p *params) string {
	switch {
	case p.live.Interface != "":
		return p.live.Interface
	case p.live.Daemon:
		return "the daemon"
	case p.source == "" || p.source == "-":
		return standardInput
	}
	return filepath.Base(p.source)
}
