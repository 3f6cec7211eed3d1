package report

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance"
)

// Format is the version of the JSON. It changes when a member changes its meaning.
const Format = 1

// Report is a run of the tester against one device.
type Report struct {
	Format int `json:"format"`
	Header
	Cases []Case `json:"cases"`
	// Traffic are measurements of the packets of all cases.
	Traffic []Value `json:"traffic,omitempty"`

	samples []conformance.Value // of Traffic
}

// Header describes a run.
type Header struct {
	Device  string     `json:"device"`  // name of the device in reports
	Address netip.Addr `json:"address"` // of the device
	Local   netip.Addr `json:"local"`   // of the tester
	Link    string     `json:"link"`    // of the tester: udp or raw
	Time    time.Time  `json:"time"`    // when the run began
	Gorxe   string     `json:"gorxe"`   // version of gorxe
	Seconds float64    `json:"seconds"` // duration of the run
}

// Case is the result of a case, with the case itself.
type Case struct {
	ID      string              `json:"id"`
	Level   conformance.Level   `json:"level"`
	Rule    string              `json:"rule"`
	Source  string              `json:"source"`
	Program string              `json:"program"` // that the device ran
	Verdict conformance.Verdict `json:"verdict"`
	Detail  string              `json:"detail,omitempty"`
	Seconds float64             `json:"seconds"`
	Values  []Value             `json:"values,omitempty"`
	// Packets are the packets of a case with evidence, Omitted the number of further ones. Pcapng
	// is a capture of Packets with comments.
	Packets []Packet `json:"packets,omitempty"`
	Omitted int      `json:"omitted,omitempty"`
	Pcapng  []byte   `json:"pcapng,omitempty"`
	// Output is the end of what the programs of the device printed, of a case with evidence.
	Output string `json:"output,omitempty"`
}

// Chapter returns the part of the ID before the slash.
func (c *Case) Chapter() string { return (&conformance.Case{ID: c.ID}).Chapter() }

// Key returns a name for a file or an anchor, such as psn-3.
func (c *Case) Key() string { return key(c.ID) }

// CaptureName returns a file name for the capture of c, such as rxe-6.12-psn-3.pcapng, without
// a folder. device is "" if all captures are of one device.
func (c *Case) CaptureName(device string) string {
	name := c.Key() + ".pcapng"
	if device = key(device); device != "" {
		name = device + "-" + name
	}
	return name
}

// Options configure New.
type Options struct {
	// KeepAll keeps the packets of all cases. Otherwise only failures, warnings and inconclusive
	// cases have packets.
	KeepAll bool
}

// maxOutput limits Case.Output in bytes.
const maxOutput = 4 << 10

// New returns the report of results, ordered by chapter.
func New(h Header, results []*conformance.Result, o Options) *Report {
	r := &Report{Format: Format, Header: h, Cases: []Case{}}
	for _, x := range results {
		r.Add(x, o)
	}
	return r
}

// Add adds a result to r, behind the other cases of its chapter. r keeps none of x.Packets.
func (r *Report) Add(x *conformance.Result, o Options) {
	c := newCase(r.Header, x, o)
	chapters := conformance.Chapters()
	at, _ := slices.BinarySearchFunc(r.Cases, &c, func(e Case, c *Case) int {
		if slices.Index(chapters, e.Chapter()) <= slices.Index(chapters, c.Chapter()) {
			return -1
		}
		return 1
	})
	r.Cases = slices.Insert(r.Cases, at, c)
	for _, v := range x.Traffic {
		r.addTraffic(v)
	}
}

// maxSamples limits the samples of a measurement of all cases.
const maxSamples = 1 << 14

// addTraffic adds the samples of v to the measurements of all cases, which are sorted by name,
// regardless of case.
func (r *Report) addTraffic(v conformance.Value) {
	if len(v.Samples) == 0 {
		return
	}
	i, found := slices.BinarySearchFunc(r.samples, v.Name, func(s conformance.Value, name string) int {
		return strings.Compare(strings.ToLower(s.Name), strings.ToLower(name))
	})
	if !found {
		r.samples = slices.Insert(r.samples, i, conformance.Value{Name: v.Name, Unit: v.Unit})
		r.Traffic = slices.Insert(r.Traffic, i, Value{})
	}
	s := &r.samples[i]
	s.Samples = append(s.Samples, v.Samples[:min(len(v.Samples), maxSamples-len(s.Samples))]...)
	r.Traffic[i] = newValue(*s)
}

func newCase(h Header, x *conformance.Result, o Options) Case {
	c := Case{
		ID: x.Case.ID, Level: x.Case.Level, Rule: x.Case.Rule, Source: x.Case.Source, Program: x.Case.Program.String(),
		Verdict: x.Verdict, Detail: clean(x.Detail, maxDetail), Seconds: x.Elapsed.Round(time.Microsecond).Seconds(),
	}
	for _, v := range x.Values {
		if len(v.Samples) > 0 {
			c.Values = append(c.Values, newValue(v))
		}
	}
	if o.KeepAll || bad(x.Verdict) || x.Verdict == conformance.Inconclusive {
		c.addEvidence(h, x)
		c.Output = cleanLines(x.Output, maxOutput)
	}
	return c
}

// bad reports whether v violates a rule.
func bad(v conformance.Verdict) bool { return v == conformance.Fail || v == conformance.Warn }

// Count returns the number of cases with a verdict.
func (r *Report) Count(v conformance.Verdict) int {
	n := 0
	for i := range r.Cases {
		if r.Cases[i].Verdict == v {
			n++
		}
	}
	return n
}

// Judged returns the number of cases with a verdict about the device: all except unsupported, not
// run and inconclusive.
func (r *Report) Judged() int {
	return len(r.Cases) - r.Count(conformance.Unsupported) - r.Count(conformance.NotRun) -
		r.Count(conformance.Inconclusive)
}
