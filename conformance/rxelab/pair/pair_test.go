package pair

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

func TestPairsCoverTheMatrixOverEveryPath(t *testing.T) {
	pairs, err := Matrix(cell.Core, cell.LevelFull, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		if seen[p.ID()] {
			t.Fatalf("%s is there twice", p.ID())
		}
		seen[p.ID()] = true
	}
	// Undisturbed and each disturbance in both directions, four paths, two families; and three
	// paths that run only undisturbed.
	want := len(cell.Core.Workloads()) * ((1+2*len(cell.Disturbances))*8 + 6)
	if len(pairs) != want {
		t.Errorf("%d runs, want %d", len(pairs), want)
	}
}

func TestPairsOfLevelCIHaveEveryToolUnderEveryDisturbance(t *testing.T) {
	pairs, err := Matrix(cell.Core, cell.LevelCI, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		seen[p.Disturbance()+p.Workload.Tool.Name] = true
	}
	for _, d := range disturbed() {
		for _, tool := range cell.Core.Tools() {
			if !seen[d.Disturbance()+tool.Name] {
				t.Errorf("%s: no run of %s", d.Disturbance(), tool.Name)
			}
		}
	}
}

func TestPairsThatDoNotExistAreRefused(t *testing.T) {
	if _, err := Matrix(cell.Core, "most", nil); err == nil || !strings.Contains(err.Error(), `level "most"`) {
		t.Errorf("error %v, want one that names the level", err)
	}
	if _, err := Matrix(cell.Core, cell.LevelCI, regexp.MustCompile("nothing")); err == nil ||
		!strings.Contains(err.Error(), "nothing") {
		t.Errorf("error %v, want one that names the filter", err)
	}
}

// Only the runs that need no root, of one small workload.
func TestPairsRunOnLoopback(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command, to build gorxe")
	}
	if testing.Short() {
		t.Skip("builds gorxe; not with -short")
	}
	pairs, err := Matrix(cell.Core, cell.LevelFull,
		regexp.MustCompile(
			`^loopback/(clean|drop-5--from-the-client)/(ibv_rc_pingpong/8193--m-1024|ib_read_bw/1025)/IPv4$`))
	if err != nil {
		t.Fatal(err)
	}
	results, err := RunAll(context.Background(), pairs, "", 1, func(Result, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Failure != "" || r.Skipped != "" {
			t.Error(r.Line())
		}
	}
}

func TestPairsReportShowsEachRun(t *testing.T) {
	w := cell.Core.Workloads()[0]
	results := []Result{
		{Run: Run{Path: Loopback, Workload: w, Family: cell.IPv4}},
		{Run: Run{Path: Loopback, Workload: w, Family: cell.IPv6}, Skipped: "no root"},
		{Run: Run{Path: Veth, Workload: w, Family: cell.IPv4}, Failure: "it broke"},
	}
	var b strings.Builder
	if err := Markdown(context.Background(), &b, cell.Core, cell.LevelCI, results, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 runs passed, 1 failed.",
		"| ibv_rc_pingpong | 1 -m 256 | ok | · | **FAILED** | · | · | · | · | · | · | · | · | · | · | · |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in:\n%s", want, b.String())
		}
	}
}
