package json

import (
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/latency"
	"github.com/gorxe/gorxe/trace/series"
	"github.com/gorxe/gorxe/trace/summary"
)

// The values of the following functions are for [Writer.Object], and package csv takes its columns
// from them.

// seriesRow is the JSON object of a [series.Row].
type seriesRow struct {
	Type       string        `json:"type"`
	Of         string        `json:"of"`
	Flow       int           `json:"flow,omitempty"`
	Incomplete bool          `json:"incomplete,omitempty"`
	Begin      *time.Time    `json:"begin,omitempty"`
	Offset     time.Duration `json:"offset_ns"`
	Interval   time.Duration `json:"interval_ns"`
	Packets    uint64        `json:"packets"`
	Bytes      uint64        `json:"bytes"`
	Payload    uint64        `json:"payload"`
	Throughput float64       `json:"throughput_bps"`
	Goodput    float64       `json:"goodput_bps"`
	Window     int           `json:"window"`
	Open       int           `json:"outstanding"`
	Again      int64         `json:"again"`
	Duplicates int64         `json:"duplicates"`
	LostBefore int64         `json:"lost_before"`
	LostBehind int64         `json:"lost_behind"`
	NAKs       int64         `json:"naks"`
	RNRs       int64         `json:"rnrs"`
	Timeouts   int64         `json:"timeouts"`
	Undecided  int64         `json:"undecided"`
	CNPs       int64         `json:"cnps"`
	CE         int64         `json:"ce"`
	CEShare    float64       `json:"ce_share"`
	RTT        *rtt          `json:"rtt,omitempty"`
}

// SeriesRow returns the object of r, a row of s. interval and begin are those of the Collector.
func SeriesRow(s *series.Series, r *series.Row, interval time.Duration, begin time.Time) any {
	e := &r.Events
	o := &seriesRow{
		Type: "series", Of: s.Kind.String(), Incomplete: s.Since > r.Index, Offset: time.Duration(r.Index) * interval,
		Interval: interval, Packets: r.Packets, Bytes: r.Bytes, Payload: r.Delivered,
		Throughput: r.Throughput(interval), Goodput: r.Goodput(interval), Window: r.InFlight, Open: r.Outstanding,
		Again: e.Again, Duplicates: e.Duplicates, LostBefore: e.LostBefore, LostBehind: e.LostBehind, NAKs: e.NAKs,
		RNRs: e.RNRs, Timeouts: e.Timeouts, Undecided: e.Undecided, CNPs: e.CNPs, CE: e.CE, CEShare: r.CEShare(),
		RTT: rttOf(r.RTT),
	}
	o.Begin = instant(begin.Add(o.Offset))
	if s.Flow != nil {
		o.Flow = s.Flow.Number
	}
	return o
}

func rttOf(r trace.RTT) *rtt {
	if r.Count == 0 {
		return nil
	}
	return &rtt{r.Count, r.Min.Nanoseconds(), r.Max.Nanoseconds(), (r.Sum / time.Duration(r.Count)).Nanoseconds()}
}

// latencyRow is the JSON object of a [latency.Row].
type latencyRow struct {
	Type string `json:"type"`
	latency.Row
	Histogram [][2]int64 `json:"histogram,omitempty"` // upper limit in nanoseconds, count
}

// Latency returns the object of r, a row of t.
func Latency(t *latency.Table, r latency.Row) any {
	o := &latencyRow{Type: "latency", Row: r}
	for _, b := range t.Histogram(r.Verb, r.MinBytes) {
		o.Histogram = append(o.Histogram, [2]int64{b.UpTo.Nanoseconds(), b.Count})
	}
	return o
}

// congestionRow is the JSON object of a [congestion.Row].
type congestionRow struct {
	Type string  `json:"type"`
	Of   string  `json:"of"`
	Flow int     `json:"flow,omitempty"`
	Ends *[2]end `json:"ends,omitempty"`
	congestion.Row
	Mean  time.Duration `json:"ce_to_cnp_mean_ns"`
	Share float64       `json:"ce_share"`
	Rate  float64       `json:"cnps_per_second"`
}

// Congestion returns the object of r.
func Congestion(r congestion.Row) any {
	o := &congestionRow{Type: "congestion", Of: "dscp", Row: r, Mean: r.Delay.Mean(), Share: r.Share(), Rate: r.Rate()}
	if f := r.Flow; f != nil {
		o.Of, o.Flow = "flow", f.Number
		o.Ends = &[2]end{{f.Ends[0].Addr.String(), f.Ends[0].QPN}, {f.Ends[1].Addr.String(), f.Ends[1].QPN}}
	}
	return o
}

// pauseRow is the JSON object of a [congestion.Pause].
type pauseRow struct {
	Type string `json:"type"`
	congestion.Pause
}

// Pause returns the object of p.
func Pause(p congestion.Pause) any { return &pauseRow{"pause", p} }

// report is the JSON object of a [summary.Report].
type report struct {
	Type  string `json:"type"`
	Title string `json:"capture_name,omitempty"`
	*summary.Report
}

// Summary returns the object of r, the report of the capture with the given name.
func Summary(title string, r *summary.Report) any { return &report{"summary", title, r} }
