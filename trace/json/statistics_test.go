package json_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/latency"
	"github.com/gorxe/gorxe/trace/series"
	"github.com/gorxe/gorxe/trace/summary"
)

// statistics returns the JSON of all statistics of a capture.
func statistics(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	s, l, c, n := series.New(series.Options{}), latency.New(), congestion.New(), summary.New(summary.Options{})
	p := trace.Pipeline{Outputs: []trace.Output{s, l, c, n}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, table := range []interface{ AddPause(int, time.Duration) }{c, n} {
		table.AddPause(3, time.Millisecond)
	}
	var all []any
	interval, _ := s.Interval()
	for _, x := range s.Series() {
		for _, r := range x.Rows {
			all = append(all, json.SeriesRow(&x, &r, interval, s.BeginTime()))
		}
	}
	for _, r := range l.Rows() {
		all = append(all, json.Latency(l, r))
	}
	for _, r := range append(c.Flows(), c.DSCPs()...) {
		all = append(all, json.Congestion(r))
	}
	for _, p := range c.Pauses() {
		all = append(all, json.Pause(p))
	}
	all = append(all, json.Summary(filepath.Base(path), n.Report(summary.InputOf(&p))))
	var b bytes.Buffer
	w := json.NewWriter(&b)
	for _, o := range all {
		if err := w.Object(o); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestStatisticsObeyTheSchema(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	s := schema(t)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			types := map[any]int{}
			for _, o := range validate(t, s, statistics(t, path)) {
				types[o["type"]]++
			}
			for _, name := range []string{"series", "latency", "congestion", "pause", "summary"} {
				if types[name] == 0 {
					t.Errorf("no object of type %s: %v", name, types)
				}
			}
		})
	}
}

func TestStatisticsOfNothingObeyTheSchema(t *testing.T) {
	var b bytes.Buffer
	r := summary.New(summary.Options{}).Report(summary.Input{})
	if err := json.NewWriter(&b).Object(json.Summary("", r)); err != nil {
		t.Fatal(err)
	}
	validate(t, schema(t), b.Bytes())
}

func TestTheRowOfAFlowNamesItsEnds(t *testing.T) {
	flow := &trace.Flow{Number: 7, Err: "\x1b[2J"}
	var b bytes.Buffer
	w := json.NewWriter(&b)
	row := &series.Row{Index: 2, Packets: 1, Bytes: 125, RTT: trace.RTT{Count: 2, Min: 1, Max: 3, Sum: 4}}
	s := &series.Series{Kind: series.OneFlow, Flow: flow, Since: 3}
	for _, o := range []any{
		json.SeriesRow(s, row, time.Second, time.Unix(1000, 0)),
		json.Congestion(congestion.Row{Flow: flow, CE: 1, Packets: 2}),
	} {
		if err := w.Object(o); err != nil {
			t.Fatal(err)
		}
	}
	objects := validate(t, schema(t), b.Bytes())
	o, c := objects[0], objects[1]
	if o["of"] != "flow" || o["incomplete"] != true || o["begin"] != "1970-01-01T00:16:42Z" || o["rtt"] == nil {
		t.Errorf("%v", o)
	}
	if c["of"] != "flow" || c["ends"] == nil {
		t.Errorf("%v", c)
	}
}
