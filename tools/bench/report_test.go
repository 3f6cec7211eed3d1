package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/histogram"
)

// sampleReport has two rounds, one of them disturbed, a contender that failed once and one that
// was left out.
func sampleReport() *Report {
	contests := []Contest{
		{
			Name: "bandwidth", Title: "Bandwidth", About: "How much.", Metric: Bandwidth,
			Contenders: []Contender{{Name: "iperf3", Tool: "iperf3"}, {Name: "gorxe <udp>", Tool: "perf"},
				{Name: "gorxe raw", Tool: "perf"}},
			Ratios: []Ratio{{Of: "gorxe <udp>", To: "iperf3", MinTarget: 1.2},
				{Of: "gorxe raw", To: "iperf3", MinTarget: 1.2}},
		},
		{
			Name: "latency", Title: "Latency", About: "How soon.", Metric: Latency,
			Contenders: []Contender{{Name: "qperf", Tool: "qperf"}, {Name: "gorxe", Tool: "perf"}},
			Ratios: []Ratio{{Of: "gorxe", To: "qperf", MaxTarget: 0.7}, {Of: "gorxe", MaxTarget: 10},
				{Of: "gorxe", Tail: true, MaxTarget: 2}},
		},
	}
	sample := func(contest, who string, round int, v float64, bars ...histogram.Bucket) Sample {
		return Sample{Contest: contest, Contender: who, Round: round, At: float64(round), Took: 3.5,
			Measured: Measured{Value: v, Resent: uint64(1000 * round), Bars: bars}, CPU: [2]float64{0.5, 1},
			Load: Load{Average: 0.25}}
	}
	disturbed := sample("bandwidth", "gorxe <udp>", 2, 30)
	disturbed.Load.Others = 0.5
	failed := sample("latency", "qperf", 2, 0)
	failed.Err = "it broke"
	return &Report{
		Machine: Machine{CPU: "Fast 9000", Cores: 2, CoreOf: [2]int{0, 1}, MemoryMiB: 4000, Kernel: "6.12.0",
			System: "linux/amd64", LoadAverage: [3]float64{0.5, 0.25, 1.75}, Go: "go1.26", Revision: "0123456789ab",
			MTU: 9000, Tools: map[string]string{"iperf3": "iperf 3.12"}},
		Began: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Seconds: 42, Rounds: 2, Length: 2, Contests: contests,
		Samples: []Sample{
			sample("bandwidth", "iperf3", 1, 20), sample("bandwidth", "gorxe <udp>", 1, 26),
			sample("latency", "qperf", 1, 12.125),
			sample("latency", "gorxe", 1, 9, bucket(8, 10), bucket(9, 80), bucket(12, 9), bucket(250, 1)),
			disturbed, sample("bandwidth", "iperf3", 2, 24),
			sample("latency", "gorxe", 2, 8.5, bucket(8, 30), bucket(9, 70)), failed,
		},
		Left: []Left{{"bandwidth", "gorxe raw", "it needs CAP_NET_RAW"}},
	}
}

func checkGolden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, name, got.String())
}

func TestPage(t *testing.T) {
	checkGolden(t, "page.md.golden", func(w io.Writer) error { return sampleReport().Markdown(w, "performance.svg") })
}

// A report of a run on another ground says so, and rendering it again uses the same words.
func TestWordsOfAnotherGround(t *testing.T) {
	r := sampleReport()
	r.Words = &GroundText{Title: "Elsewhere", Intro: "Far away.", Path: "a long wire", Host: "machine",
		Cores: "they needed"}
	var text, page bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := ReadReport(&text)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Markdown(&page, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Elsewhere\n\nFar away.\n", "a long wire, MTU 9000; the server's machine on core 0",
		"*Cores* are what they needed"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
	if strings.Contains(page.String(), "namespace") {
		t.Error("the page tells of namespaces")
	}
}

func TestChart(t *testing.T) {
	checkGolden(t, "chart.svg.golden", sampleReport().Chart)
	var b bytes.Buffer
	if err := sampleReport().Chart(&b); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(&b)
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the chart is not XML: %v", err)
		}
	}
}

// A report without measurements can be rendered too.
func TestEmptyReport(t *testing.T) {
	for _, r := range []*Report{{}, {Contests: []Contest{{Name: "x", Metric: Latency,
		Contenders: []Contender{{Name: "a", Tool: "perf"}}}}}} {
		if err := errors.Join(r.Markdown(io.Discard, ""), r.Chart(io.Discard)); err != nil {
			t.Error(err)
		}
	}
}

func TestReportsAreReadAsTheyWereWritten(t *testing.T) {
	for _, want := range []*Report{sampleReport(), {Rounds: 1}} {
		var b bytes.Buffer
		if err := want.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "\"contest\""); got < len(want.Samples) {
			t.Errorf("%d samples in:\n%s", got, b.String())
		}
		got, err := ReadReport(&b)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Samples) == 0 {
			got.Samples = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWhatIsNoReportIsAnError(t *testing.T) {
	for _, text := range []string{"", "{", `{"contests": [{"contenders": [{"tool": "none"}]}]}`,
		`{"samples": [{"histogram": [[1]]}]}`, `{"samples": [{"histogram": [["a", 1]]}]}`} {
		if _, err := ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a report", text)
		}
	}
}

// bucket returns a histogram bar: count times of up to the given number of microseconds.
func bucket(upTo float64, count int64) histogram.Bucket {
	return histogram.Bucket{UpTo: upTo, Count: count}
}

func TestAReportNamesEveryCoreOfAnEnd(t *testing.T) {
	for _, tt := range []struct {
		perEnd         int
		server, client string
	}{{0, "core 3", "core 8"}, {1, "core 3", "core 8"}, {4, "cores 3 to 6", "cores 8 to 11"}} {
		m := Machine{CoreOf: [2]int{3, 8}, PerEnd: tt.perEnd}
		if m.Place(Server) != tt.server || m.Place(Client) != tt.client {
			t.Errorf("%d cores each: %q and %q", tt.perEnd, m.Place(Server), m.Place(Client))
		}
	}
}
