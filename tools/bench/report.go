package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gorxe/gorxe/internal/histogram"
)

// Report has all measurements and the description of the machine. It is stored as JSON.
type Report struct {
	Machine  Machine     `json:"machine"`
	Words    *GroundText `json:"words,omitempty"` // nil: those of two network namespaces
	Began    time.Time   `json:"began"`
	Seconds  float64     `json:"seconds"` // duration of the run
	Rounds   int         `json:"rounds"`
	Length   int         `json:"measurement_seconds"` // counted part, approximately
	Contests []Contest   `json:"contests"`
	Samples  []Sample    `json:"samples"`
	Left     []Left      `json:"left_out,omitempty"`
}

// GroundText are the parts of a report that describe its ground.
type GroundText struct {
	Title string `json:"title"`
	Intro string `json:"intro"` // a paragraph of Markdown
	Path  string `json:"path"`  // between the hosts; the MTU follows
	Host  string `json:"host"`  // what is bound to a core at each end
	Cores string `json:"cores"` // what the figures of cores include: "what …"
}

// ofNamespaces are the words for two network namespaces.
var ofNamespaces = GroundText{
	Title: "Performance",
	Intro: "gorxe beside what one would otherwise use, on one path and in one run: `make bench`. Of the figures below the ratios are what\n" +
		"counts; the others are true of this machine at that time. `go run ./tools/bench/cmd/bench -render` makes this page again of what was measured.",
	Path:  "a veth pair between two network namespaces",
	Host:  "processes",
	Cores: "the processes of the server and of the\nclient used, of one each, from their start to their end",
}

// Sample is one measurement.
type Sample struct {
	Contest   string  `json:"contest"`
	Contender string  `json:"contender"`
	Round     int     `json:"round"` // from 1
	At        float64 `json:"at"`    // seconds since the start of the run
	Took      float64 `json:"took"`  // seconds, including the parts that are not counted
	Measured
	// CPU is the processor time of the processes of the server and of the client, in cores: 1 is
	// a core that was never idle.
	CPU [2]float64 `json:"cpu"`
	// Shared is the processor time of a daemon that owned the device of both ends, in cores.
	Shared float64 `json:"shared,omitempty"`
	Load   Load    `json:"load"`
	// Again is the number of earlier attempts that were disturbed.
	Again int `json:"again,omitempty"`
	// Beside is the contender that was measured at the same time, in turn.
	Beside string `json:"beside,omitempty"`
	Err    string `json:"error,omitempty"`
}

// Line returns a line about the measurement and whether it was disturbed.
func (s *Sample) Line() string {
	value := fmt.Sprintf("%.4g", s.Value)
	if s.Err != "" {
		value = "failed: " + s.Err
	}
	mark := ""
	if s.Load.Disturbed() {
		mark = fmt.Sprintf("  (others had %.2f cores, steal %.2f)", s.Load.Others, s.Load.Steal)
	}
	return fmt.Sprintf("%s: %s: %s%s", s.Contest, s.Contender, value, mark)
}

// Measured is the result of a tool.
type Measured struct {
	Value  float64            `json:"value"`            // in the contest's unit
	Resent uint64             `json:"resent,omitempty"` // retransmitted packets
	Bars   []histogram.Bucket `json:"histogram,omitempty"`
	// Of single messages, in µs, if there is a histogram.
	Median float64 `json:"median,omitempty"`
	P99    float64 `json:"p99,omitempty"`
}

// summarize sets Median and P99.
func (m *Measured) summarize() {
	if t := timesOf(m.Bars); t != nil {
		m.Median, m.P99 = t.Percentile(50), t.Percentile(99)
	}
}

// Left is a contender that was left out, and the reason.
type Left struct {
	Contest   string `json:"contest"`
	Contender string `json:"contender"`
	Why       string `json:"why"`
}

// Load is the load of the machine by others during a measurement.
type Load struct {
	Average float64 `json:"average"` // load average of one minute when the measurement began
	Steal   float64 `json:"steal"`   // cores that the hypervisor gave to other guests
	Others  float64 `json:"others"`  // cores used by processes that do not belong to the measurement
}

// Limits of an undisturbed measurement, in cores.
const (
	stealLimit  = 0.02
	othersLimit = 0.1
)

// Disturbed reports whether others used so much of the machine that the measurement may be wrong.
func (l Load) Disturbed() bool { return l.Steal > stealLimit || l.Others > othersLimit }

// Write writes the report as JSON, with one sample per line.
func (r *Report) Write(w io.Writer) error {
	head := *r
	head.Samples = nil
	text, err := json.MarshalIndent(&head, "", " ")
	if err != nil {
		return err
	}
	// Samples is the field that is null.
	before, after, ok := cutOnce(string(text), `"samples": null`)
	if !ok {
		return fmt.Errorf("bench: the report has no place for samples")
	}
	if _, err := fmt.Fprintf(w, "%s\"samples\": [", before); err != nil {
		return err
	}
	for i := range r.Samples {
		line, err := json.Marshal(&r.Samples[i])
		if err != nil {
			return err
		}
		sep := ",\n  "
		if i == 0 {
			sep = "\n  "
		}
		if _, err := fmt.Fprintf(w, "%s%s", sep, line); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "\n ]%s\n", after)
	return err
}

// ReadReport reads a report that Write wrote.
func ReadReport(r io.Reader) (*Report, error) {
	var rep Report
	if err := json.NewDecoder(r).Decode(&rep); err != nil {
		return nil, fmt.Errorf("reading a report of measurements: %w", err)
	}
	for i := range rep.Contests {
		if err := rep.Contests[i].Valid(); err != nil {
			return nil, fmt.Errorf("reading a report of measurements: %w", err)
		}
	}
	return &rep, nil
}

// of returns the successful samples of a contender, by round.
func (r *Report) of(c *Contest, contender string) []*Sample {
	var out []*Sample
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Contest == c.Name && s.Contender == contender && s.Err == "" {
			out = append(out, s)
		}
	}
	return out
}
