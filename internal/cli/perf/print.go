package perf

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/internal/histogram"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// printer prints a test in perftest's layout: a block of parameters, the connected ends, a table
// of results. With --json it collects the results and prints them at the end.
type printer struct {
	out     io.Writer
	params  *params
	role    exchange.Role
	dev     *verbs.Device
	table   bool // the head of the table has been printed
	results []perfJSON
	below   error // error of the first limit that was not reached
}

var perfLine87 = strings.Repeat("-", 87)

func (o *printer) printf(format string, args ...any) {
	if !o.params.json {
		fmt.Fprintf(o.out, format, args...)
	}
}

// waiting prints that the server is ready.
func (o *printer) waiting() {
	stars := strings.Repeat("*", 36)
	o.printf("\n%s\n* Waiting for client to connect... *\n%s\n", stars, stars)
}

// heading prints the block of parameters.
func (o *printer) heading(e *end) {
	p := o.params
	o.dev = e.Device
	_, name := verb(p.test)
	switch {
	case p.imm:
		name += "_imm"
	case p.test.Atomic():
		name += " " + p.atomic
	}
	kind := "BW"
	switch {
	case p.test.Latency():
		kind = "Latency"
	case p.duplex:
		kind = "Bidirectional BW"
	}
	o.printf("%s\n%20s%s %s Test\n", perfLine87, "", name, kind)
	o.printf(" %-16s: %-16s%-15s: %s\n", "Dual-port", "OFF", "Device", e.Device.Name())
	o.printf(" %-16s: %-16d%-15s: %s\n", "Number of qps", p.qps, "Transport type", "IB")
	o.printf(" %-16s: %-16s%-15s: %s\n", "Connection type", p.service, "Using SRQ", "OFF")
	item := func(name string, value any) { o.printf(" %-16s: %v\n", name, value) }
	if p.sends(o.role) {
		item("TX depth", p.txDepth)
	}
	if p.postList > 1 {
		item("Post List", p.postList)
	}
	if e.receives() {
		item("RX depth", p.rxDepth)
	}
	if !p.test.Latency() {
		item("CQ Moderation", p.cqMod)
	}
	item("Mtu", fmt.Sprintf("%d[B]", int(e.PathMTU)))
	item("Link type", "Ethernet")
	item("GID index", e.GID.Index)
	if p.test.Fetches() {
		item("Outstand reads", e.outReads())
	} else {
		item("Max inline data", fmt.Sprintf("%d[B]", p.inline))
	}
	managed, exchange := "OFF", "Ethernet"
	if p.managed {
		managed, exchange = "ON", "rdma_cm"
	}
	item("rdma_cm QPs", managed)
	item("Data ex. method", exchange)
	o.printf("%s\n", perfLine87)
}

// address prints one end of a queue pair.
func (o *printer) address(side string, k wire.Key) {
	o.printf(" %s address: LID 0x%04x QPN 0x%06x PSN 0x%06x", side, k.LID, k.QPN, k.PSN)
	if o.params.test.Fetches() {
		o.printf(" OUT 0x%02x", k.OutReads)
	}
	if !o.params.test.Send() {
		o.printf(" RKey 0x%08x VAddr 0x%016x", k.RKey, k.VAddr)
	}
	o.printf("\n GID: %v\n", verbs.GID(k.GID))
}

// column is one column of a result table. The first and last blanks of a row are not part of a
// column.
type column struct {
	title string
	width int
}

func bandwidthColumns(gbits bool) []column {
	unit := "MB/sec"
	if gbits {
		unit = "Gb/sec"
	}
	return []column{{"#bytes", 11}, {"#iterations", 15}, {"BW peak[" + unit + "]", 19},
		{"BW average[" + unit + "]", 21}, {"MsgRate[Mpps]", 13}}
}

var (
	latencyColumns = []column{{"#bytes", 8}, {"#iterations", 15}, {"t_min[usec]", 15}, {"t_max[usec]", 13},
		{"t_typical[usec]", 19}, {"t_avg[usec]", 15}, {"t_stdev[usec]", 16},
		{"99% percentile[usec]", 23}, {"99.9% percentile[usec]", 22}}
	latencyTimeColumns = []column{{"#bytes", 14}, {"#iterations", 18}, {"t_avg[usec]", 15}, {"tps average", 11}}
)

func (o *printer) row(columns []column, cells ...string) {
	if !o.table {
		o.table = true
		titles := make([]string, len(columns))
		for i, c := range columns {
			titles[i] = c.title
		}
		o.printf("%s\n", perfLine87)
		o.row(columns, titles...)
	}
	var b strings.Builder
	for i, c := range columns {
		fmt.Fprintf(&b, " %-*s", c.width-1, cells[i])
	}
	o.printf("%s\n", strings.TrimRight(b.String(), " "))
}

// afterRun prints the results of a run, if they do not need a report of the peer.
func (o *printer) afterRun(r result) {
	p := o.params
	switch {
	case p.test.Latency():
		o.latency(r)
	case !p.duplex, p.twoSided() && p.duration > 0:
		o.bandwidth(r, nil)
	}
}

// bandwidth prints this end's result, plus the peer's in a bidirectional test.
func (o *printer) bandwidth(r result, peer *wire.Report) {
	sum := r.report(o.params)
	if peer != nil {
		sum.Peak += peer.Peak
		sum.Average += peer.Average
		sum.MsgRate += peer.MsgRate
	}
	o.bandwidthRow(sum)
	o.checkLimits(sum)
}

// peerBandwidth prints the measurement of the client of a unidirectional test.
func (o *printer) peerBandwidth(r wire.Report) { o.bandwidthRow(r) }

func (o *printer) bandwidthRow(r wire.Report) {
	format := "%.2f"
	if o.params.gbits && r.Average < 0.1 {
		format = "%.6f"
	}
	o.row(bandwidthColumns(o.params.gbits), fmt.Sprint(r.Size), fmt.Sprint(r.Iters),
		fmt.Sprintf(format, r.Peak), fmt.Sprintf(format, r.Average), fmt.Sprintf("%.6f", r.MsgRate))
	unit := "MiB/s"
	if o.params.gbits {
		unit = "Gbit/s"
	}
	o.results = append(o.results, perfJSON{Size: r.Size, Iterations: r.Iters,
		Bandwidth: &bandwidthJSON{Unit: unit, Peak: finite(r.Peak), Average: finite(r.Average),
			MessageRate: finite(r.MsgRate)}})
}

// finite replaces NaN and infinity, which a peer may send but JSON cannot represent, by 0.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func (o *printer) checkLimits(r wire.Report) {
	p := o.params
	switch {
	case o.below != nil:
	case r.Average < p.limitBW:
		o.below = fmt.Errorf("average bandwidth %.2f is below the limit of %.2f (-w)", r.Average, p.limitBW)
	case r.MsgRate < p.limitRate:
		o.below = fmt.Errorf("message rate %.6f is below the limit of %.6f (-y)", r.MsgRate, p.limitRate)
	}
}

func (o *printer) latency(r result) {
	p := o.params
	us := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	if p.duration > 0 {
		avg, tps := r.averages(p)
		o.row(latencyTimeColumns, fmt.Sprint(r.size), fmt.Sprint(r.counted), us(avg), us(tps))
		o.results = append(o.results,
			perfJSON{Size: r.size, Iterations: r.counted, Latency: &latencyJSON{Unit: "us", Average: avg, TPS: tps}})
		return
	}
	times := r.latencies(p)
	if p.unsorted {
		o.samples(times)
	}
	if p.histogram {
		o.samples(slices.Sorted(slices.Values(times)))
	}
	s := summarize(times)
	o.row(latencyColumns, fmt.Sprint(r.size), fmt.Sprint(r.counted), us(s.Min), us(s.Max), us(s.Typical), us(s.Average),
		us(s.StdDev), us(s.P99), us(s.P999))
	o.results = append(o.results, perfJSON{Size: r.size, Iterations: r.counted,
		Latency: &latencyJSON{Unit: "us", Min: s.Min, Max: s.Max,
			Typical: s.Typical, Average: s.Average, StdDev: s.StdDev, P99: s.P99, P999: s.P999,
			Histogram: o.bars(times)}})
}

// bars returns a histogram of the message times with -H, in steps of about one percent.
func (o *printer) bars(times []float64) []histogram.Bucket {
	if !o.params.histogram {
		return nil
	}
	t := histogram.New()
	for _, us := range times {
		t.Add(us, 1)
	}
	return t.Bars()
}

// samples prints every single result.
func (o *printer) samples(times []float64) {
	o.printf("#, usec\n")
	for i, t := range times {
		o.printf("%d, %g\n", i+1, t)
	}
}

// perfJSON is one row of results in the output of --json.
type perfJSON struct {
	Size       uint64         `json:"bytes"`
	Iterations uint64         `json:"iterations"`
	Bandwidth  *bandwidthJSON `json:"bandwidth,omitempty"`
	Latency    *latencyJSON   `json:"latency,omitempty"`
}

type bandwidthJSON struct {
	Unit        string  `json:"unit"`
	Peak        float64 `json:"peak"`
	Average     float64 `json:"average"`
	MessageRate float64 `json:"message_rate_mpps"`
}

type latencyJSON struct {
	Unit    string  `json:"unit"`
	Min     float64 `json:"min,omitempty"`
	Max     float64 `json:"max,omitempty"`
	Typical float64 `json:"typical,omitempty"`
	Average float64 `json:"average"`
	StdDev  float64 `json:"stdev,omitempty"`
	P99     float64 `json:"p99,omitempty"`
	P999    float64 `json:"p99_9,omitempty"`
	TPS     float64 `json:"exchanges_per_second,omitempty"`

	// Histogram holds pairs of an upper bound in µs and the number of messages between the previous
	// upper bound and this one.
	Histogram []histogram.Bucket `json:"histogram,omitempty"`
}

// finish ends the output and returns the error of a limit that was not reached.
func (o *printer) finish() error {
	if o.params.json {
		enc := json.NewEncoder(o.out)
		enc.SetIndent("", "  ")
		err := enc.Encode(struct {
			Test     string            `json:"test"`
			Role     string            `json:"role"`
			QPs      int               `json:"qps"`
			Both     bool              `json:"bidirectional"`
			Results  []perfJSON        `json:"results"`
			Counters map[string]uint64 `json:"counters"`
		}{o.params.test.String(), o.role.String(), o.params.qps, o.params.duplex, o.results, o.dev.Counters()})
		if err != nil {
			return err
		}
		return o.below
	}
	o.printf("%s\n", perfLine87)
	return o.below
}
