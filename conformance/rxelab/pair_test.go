package rxelab

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestPairsCoverTheMatrixOverEveryPath(t *testing.T) {
	pairs, err := Pairs(Core, LevelFull, nil)
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
	// Undisturbed and each disturbance in both directions, four paths, two families; and three paths that are only undisturbed.
	want := len(Core.Workloads()) * ((1+2*len(disturbances))*8 + 6)
	if len(pairs) != want {
		t.Errorf("%d runs, want %d", len(pairs), want)
	}
}

func TestPairsOfLevelCIHaveEveryToolUnderEveryDisturbance(t *testing.T) {
	pairs, err := Pairs(Core, LevelCI, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		seen[p.Disturbance()+p.Workload.Tool.Name] = true
	}
	for _, d := range disturbed() {
		for _, tool := range Core.Tools() {
			if !seen[d.Disturbance()+tool.Name] {
				t.Errorf("%s: no run of %s", d.Disturbance(), tool.Name)
			}
		}
	}
}

func TestPairsThatDoNotExistAreRefused(t *testing.T) {
	if _, err := Pairs(Core, "most", nil); err == nil || !strings.Contains(err.Error(), `level "most"`) {
		t.Errorf("error %v, want one that names the level", err)
	}
	if _, err := Pairs(Core, LevelCI, regexp.MustCompile("nothing")); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("error %v, want one that names the filter", err)
	}
}

// The runs that need no root, of one small workload.
func TestPairsRunOnLoopback(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command, to build gorxe")
	}
	if testing.Short() {
		t.Skip("builds gorxe; not with -short")
	}
	pairs, err := Pairs(Core, LevelFull, regexp.MustCompile(`^loopback/(clean|drop-5--from-the-client)/(ibv_rc_pingpong/8193--m-1024|ib_read_bw/1025)/IPv4$`))
	if err != nil {
		t.Fatal(err)
	}
	results, err := RunPairs(context.Background(), pairs, "", 1, func(PairResult, int) {})
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
	w := Core.Workloads()[0]
	results := []PairResult{
		{Pair: Pair{Path: Loopback, Workload: w, Family: IPv4}},
		{Pair: Pair{Path: Loopback, Workload: w, Family: IPv6}, Skipped: "no root"},
		{Pair: Pair{Path: Veth, Workload: w, Family: IPv4}, Failure: "it broke"},
	}
	var b strings.Builder
	if err := PairsMarkdown(context.Background(), &b, Core, LevelCI, results, 0); err != nil {
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
