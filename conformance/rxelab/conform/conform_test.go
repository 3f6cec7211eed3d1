package conform

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/trace/capture"
)

func exists(id string) bool {
	return slices.ContainsFunc(cases.All(), func(c *conformance.Case) bool { return c.ID == id })
}

func TestDeviationsNameCases(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Deviations() {
		if len(d.Text) < 80 {
			t.Errorf("%v: the explanation is %q", d.Cases, d.Text)
		}
		for _, id := range d.Cases {
			if !exists(id) || seen[id] {
				t.Errorf("%q is no case, or has two explanations", id)
			}
			seen[id] = true
		}
	}
}

func TestColumnsAreSelectedByKey(t *testing.T) {
	chosen, err := Select([]string{"gorxe-xdp", "rxe-6.12"})
	if err != nil || len(chosen) != 2 || chosen[0].Link != "xdp" || chosen[1].Suite != "trixie" {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := Select([]string{"rxe-5"}); err == nil || !strings.Contains(err.Error(), "rxe-6.12") {
		t.Errorf("%v, want the columns that there are", err)
	}
}

// two are reports of two devices.
func two() []*report.Report {
	one := report.Case{ID: "psn/3", Rule: "a | b", Source: "IBA", Verdict: conformance.Pass}
	bad := one
	bad.Verdict, bad.Detail, bad.Pcapng = conformance.Fail, "no NAK.", []byte{1}
	return []*report.Report{
		{Header: report.Header{Device: "rxe 6.1"}, Cases: []report.Case{bad}},
		{Header: report.Header{Device: "gorxe udp"}, Cases: []report.Case{one}},
	}
}

func TestPage(t *testing.T) {
	p := &Page{Reports: two(), Left: []Result{{Column: Column{Name: "gorxe xdp"}, Left: "no root"}},
		Deviations: []Deviation{{[]string{"psn/3"}, "It has a reason."}}}
	var b strings.Builder
	if err := p.Write(&b, "conformance"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- rxe 6.1: **fail**: no NAK. [rxe-6.1-psn-3.pcapng](conformance/rxe-6.1-psn-3.pcapng)\n",
		"\nIt has a reason.\n", "| psn/3 | shall | a \\| b | **✕ fail** | ✓ |\n", "gorxe xdp was not run: no root.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
	if missing := p.Unexplained(); len(missing) > 0 {
		t.Errorf("%v", missing)
	}
	p.Deviations = nil
	if missing := p.Unexplained(); len(missing) != 1 {
		t.Errorf("%v, want the failure without an explanation", missing)
	}
}

func TestCapturesTakeThePlaceOfOlderOnes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "testdata")
	for _, reports := range [][]*report.Report{two()[1:], two()[:1], two()} {
		if err := (&Page{Reports: reports}).WriteCaptures(dir); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		want := []string{filepath.Join(dir, "rxe-6.1-psn-3.pcapng")}
		if reports[0].Device != "rxe 6.1" {
			want = nil
		}
		if err != nil || !slices.Equal(files, want) {
			t.Errorf("%s: %v, %v, want %v", reports[0].Device, files, err, want)
		}
	}
}

// The page links to each capture in testdata, and each has frames and comments.
func TestThePublishedCapturesAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if n := strings.Count(string(page), "/conform/testdata/"); n != len(files) {
		t.Errorf("the page has %d links to testdata, which has %d files", n, len(files))
	}
	for _, name := range files {
		if !strings.Contains(string(page), "(../conformance/rxelab/conform/"+filepath.ToSlash(name)+")") {
			t.Errorf("the page has no link to %s", name)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := capture.Open(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		frames, comments := 0, 0
		for f, err := range r.Frames() {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			frames++
			comments += len(f.Comments)
		}
		if frames == 0 || comments == 0 {
			t.Errorf("%s has %d frames and %d comments", name, frames, comments)
		}
	}
}

func TestBaselinesAreComparedPerColumn(t *testing.T) {
	dir := t.TempDir()
	rxe := Result{Column: Columns[0], Reports: two()[:1]}
	if lines, err := rxe.Differences(dir); err != nil || len(lines) > 0 {
		t.Errorf("without a baseline: %v, %v", lines, err)
	}
	if err := rxe.WriteBaseline(dir); err != nil {
		t.Fatal(err)
	}
	rxe.Reports = append(rxe.Reports, two()[1])
	lines, err := rxe.Differences(dir)
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "run 2: psn/3: pass") {
		t.Errorf("%v, %v; want that the second run differs", lines, err)
	}
}

// A case that is not as expected is run again, and its second result counts.
func TestASecondResultTakesThePlaceOfAnUnexpectedOne(t *testing.T) {
	dir := t.TempDir()
	x := Result{Column: Columns[0], Reports: two()[:1]}
	if err := x.WriteBaseline(dir); err != nil {
		t.Fatal(err)
	}
	x.Reports = two()[1:]
	ids, err := x.Unexpected(dir)
	if err != nil || !slices.Equal(ids, []string{"psn/3"}) {
		t.Fatalf("%v, %v; want psn/3", ids, err)
	}
	x.Replace(two()[0])
	if ids, err := x.Unexpected(dir); err != nil || len(ids) > 0 {
		t.Errorf("after the second result: %v, %v", ids, err)
	}
}

func TestTheBaselinesOfTheRepositoryAreValid(t *testing.T) {
	for _, c := range Columns {
		if b, err := readBaseline(c.baseline("../../baselines")); err != nil || b == nil {
			t.Errorf("%s: %v, %v", c.Name, b, err)
		}
	}
}
