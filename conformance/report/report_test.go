package report_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/internal/golden"
)

func TestTextHasALineForEachCaseAndTheFailures(t *testing.T) {
	var b bytes.Buffer
	x := report.Text{W: &b}
	x.Header(header("device A"), 8)
	for _, r := range results() {
		x.Result(r)
	}
	r := sample("device A")
	x.Failures(r, func(c *report.Case) string {
		if len(c.Pcapng) == 0 {
			return ""
		}
		return "out/" + c.Key() + ".pcapng"
	})
	x.Values(r)
	x.Summary(r)
	golden.Check(t, "text.golden", b.String())
}

func TestColoursAreOfTheVerdict(t *testing.T) {
	var b bytes.Buffer
	x := report.Text{W: &b, Paint: func(v conformance.Verdict, s string) string { return fmt.Sprintf("<%v:%s>", v, s) },
		Dim: func(s string) string { return "(" + s + ")" }}
	x.Result(failure("psn/3"))
	if s := b.String(); !strings.Contains(s, "<fail:fail") || !strings.Contains(s, "(→ a NAK") {
		t.Error(s)
	}
}

func TestMarkdownIsAMatrixWithFailures(t *testing.T) {
	var b bytes.Buffer
	must(t, report.WriteMarkdown(&b, sample("device A"), other()))
	golden.Check(t, "matrix.golden.md", b.String())
}

func TestJUnitCountsFailuresErrorsAndSkippedCases(t *testing.T) {
	var b bytes.Buffer
	must(t, report.JUnit{}.Write(&b, sample("device A")))
	golden.Check(t, "junit.golden.xml", b.String())
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	must(t, xml.Unmarshal(b.Bytes(), &suites))
	if suites.Tests != 8 || suites.Failures != 1 || suites.Errors != 1 || suites.Skipped != 2 {
		t.Errorf("%+v", suites)
	}
}

func TestJUnitWithStrictFailsWarnings(t *testing.T) {
	var b bytes.Buffer
	must(t, report.JUnit{Strict: true}.Write(&b, sample("A")))
	if !strings.Contains(b.String(), `<testsuites name="gorxe conform" tests="8" failures="2"`) {
		t.Error(b.String())
	}
}

func TestJUnitWithABaselineSkipsExpectedFailures(t *testing.T) {
	base := baseline(t, "psn/3 fail # known\npsn/4 pass\n")
	var b bytes.Buffer
	must(t, report.JUnit{Baseline: base}.Write(&b, sample("A")))
	s := b.String()
	if !strings.Contains(s, `<skipped message="expected: known" type="fail">`) ||
		!strings.Contains(s, `<failure message="answers; hfi1 does not" type="unclear">`) {
		t.Error(s)
	}
}

func TestTheBadgeCountsTheRulesThatHold(t *testing.T) {
	warned := report.New(header("A"), results()[:3], report.Options{})
	none := report.New(header("A"), results()[5:], report.Options{})
	passed := report.New(header("A"), results()[1:2], report.Options{})
	for _, c := range []struct {
		r              *report.Report
		message, color string
	}{
		{sample("A"), "3 of 5 rules", "red"}, {warned, "2 of 3 rules", "yellow"}, {none, "not tested", "lightgrey"},
		{passed, "1 of 1 rule", "brightgreen"},
	} {
		var b bytes.Buffer
		must(t, c.r.WriteBadge(&b))
		want := fmt.Sprintf(`{
 "schemaVersion": 1,
 "label": "RoCEv2 conformance",
 "message": %q,
 "color": %q
}
`, c.message, c.color)
		if b.String() != want {
			t.Errorf("%s\nwant %s", b.String(), want)
		}
	}
}

func TestCasesAreInTheOrderOfChapters(t *testing.T) {
	var ids []string
	for _, c := range sample("A").Cases {
		ids = append(ids, c.ID)
	}
	if got := strings.Join(ids, " "); got != "header/1 psn/1 psn/2 psn/3 psn/4 rnr/1 atomic/1 cm/1" {
		t.Error(got)
	}
}

func TestPercentilesAreSamples(t *testing.T) {
	values := []conformance.Value{{Name: "x", Samples: []float64{5}}, {Name: "empty"},
		{Name: "hundred", Samples: hundred()}}
	one := report.New(header("A"), []*conformance.Result{{Case: aCase("rnr/1", conformance.Observed), Values: values}},
		report.Options{})
	v := one.Cases[0].Values
	if len(v) != 2 || v[0] != (report.Value{Name: "x", Count: 1, Min: 5, P50: 5, P90: 5, P99: 5, Max: 5}) ||
		v[1] != (report.Value{Name: "hundred", Count: 100, Min: 1, P50: 50, P90: 90, P99: 99, Max: 100}) {
		t.Errorf("%+v", v)
	}
}

// hundred returns 100 to 1.
func hundred() (all []float64) {
	for i := 100; i > 0; i-- {
		all = append(all, float64(i))
	}
	return all
}

func TestMeasurementsCompareDevices(t *testing.T) {
	a, b := sample("A"), other()
	b.Traffic = nil
	want := [][]string{
		{"case", "measurement", "unit", "A", "device B"},
		{"all", "gap to NAK", "µs", "20", ""},
		{"all", "request to ACK", "µs", "10 / 30 (4)", ""},
		{"rnr/1", "NAK latency", "µs", "12.2 / 2500 (4)", "12.2 / 2500 (4)"},
	}
	rows := report.Measurements(a, b)
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	text := page(t, a, b)
	for _, s := range []string{report.MeasurementsMeaning, "<td>12.2 / 2500 (4)</td>"} {
		if !strings.Contains(text, s) {
			t.Errorf("the page does not contain %s", s)
		}
	}
	if rows := report.Measurements(report.New(header("A"), nil, report.Options{})); rows != nil {
		t.Errorf("without measurements: %v", rows)
	}
}

// A device cannot make a report that does not end.
func TestMeasurementsOfAllCasesAreLimited(t *testing.T) {
	r := report.New(header("A"), nil, report.Options{})
	for range 100 {
		r.Add(&conformance.Result{Case: aCase("psn/1", conformance.Shall), Traffic: []conformance.Value{
			{Name: "between CNPs", Samples: make([]float64, 1000)}, {Name: "nothing"}}}, report.Options{})
	}
	if len(r.Traffic) != 1 || r.Traffic[0].Count != 1<<14 {
		t.Errorf("%+v", r.Traffic)
	}
}
