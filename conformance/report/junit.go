package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance"
)

// JUnit configures WriteJUnit.
type JUnit struct {
	Strict bool // a warning is a failure
	// Baseline has the verdicts that are expected: an expected failure is skipped, and any other
	// verdict that is not expected fails. Nil: no baseline.
	Baseline *Baseline
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes reports as JUnit XML: a test suite for each chapter of each device.
func (o JUnit) Write(w io.Writer, reports ...*Report) error {
	all := junitSuites{Name: "gorxe conform"}
	total := 0.0
	for _, r := range reports {
		total += r.Seconds
		for _, chapter := range r.chapters() {
			s := o.suite(r, chapter)
			all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures,
				all.Errors+s.Errors, all.Skipped+s.Skipped
			all.Suites = append(all.Suites, s)
		}
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (o JUnit) suite(r *Report, chapter string) junitSuite {
	s := junitSuite{Name: r.Device + ": " + chapter, Timestamp: r.Time.UTC().Format(time.RFC3339),
		Properties: []junitProperty{{"device", r.Device}, {"address", r.Address.String()}, {"local", r.Local.String()},
			{"link", r.Link}, {"gorxe", r.Gorxe}}}
	total := 0.0
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Chapter() != chapter {
			continue
		}
		k := junitCase{Class: "conform." + chapter, Name: c.ID + " " + c.Rule, Time: seconds(c.Seconds)}
		o.result(&k, c)
		s.Tests++
		switch {
		case k.Failure != nil:
			s.Failures++
		case k.Error != nil:
			s.Errors++
		case k.Skipped != nil:
			s.Skipped++
		}
		total += c.Seconds
		s.Cases = append(s.Cases, k)
	}
	s.Time = seconds(total)
	return s
}

// result sets the result of k.
func (o JUnit) result(k *junitCase, c *Case) {
	x := &junitResult{Message: c.Detail, Type: c.Verdict.String()}
	if x.Message == "" {
		x.Message = c.Verdict.String()
	}
	passes := c.Verdict == conformance.Pass || c.Verdict == conformance.Measured || c.Verdict == conformance.Unclear ||
		c.Verdict == conformance.Warn && !o.Strict
	if o.Baseline != nil {
		reason, ok := o.Baseline.Expects(c)
		switch {
		case !ok:
			k.Failure = x
			x.Text = c.report()
			return
		case bad(c.Verdict):
			x.Message = strings.TrimSuffix("expected: "+reason, ": ")
			k.Skipped = x
			return
		}
	}
	switch {
	case passes:
		if c.Verdict != conformance.Pass || c.Detail != "" {
			k.Out = fmt.Sprintf("%v: %s", c.Verdict, c.Detail)
		}
	case bad(c.Verdict):
		k.Failure = x
		x.Text = c.report()
	case c.Verdict == conformance.Inconclusive:
		k.Error = x
	default:
		k.Skipped = x
	}
}

// report returns the rule, the result and the ladder of c as text.
func (c *Case) report() string {
	s := fmt.Sprintf("rule (%v): %s\nsource: %s\nresult: %v: %s\n", c.Level, c.Rule, c.Source, c.Verdict, c.Detail)
	if l := c.Ladder(); l != "" {
		s += l + "\n"
	}
	return s
}

// chapters returns the chapters of r in order.
func (r *Report) chapters() []string {
	var all []string
	for i := range r.Cases {
		if c := r.Cases[i].Chapter(); len(all) == 0 || all[len(all)-1] != c {
			all = append(all, c)
		}
	}
	return all
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
