package rxelab

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

func TestAFailedCellIsTriedAgainAndMoreOftenIfItsClientCameTooEarly(t *testing.T) {
	failed := report.Result{ID: "cell", Failures: []string{"failed"}}
	early := report.Result{ID: "cell", Failures: []string{"early"}, Early: true}
	passed := report.Result{ID: "cell"}
	for name, c := range map[string]struct {
		most  int
		tries []report.Result
		want  []string // Before of the last one
	}{
		"passed":           {2, []report.Result{passed}, nil},
		"failed twice":     {2, []report.Result{failed, failed, passed}, []string{"failed", "failed"}},
		"failed for good":  {2, []report.Result{failed, failed, failed}, []string{"failed", "failed"}},
		"early":            {0, []report.Result{early, early, early, passed}, []string{"early", "early", "early"}},
		"early and failed": {1, []report.Result{early, failed, early, failed}, []string{"early", "failed", "early"}},
		"always early": {
			2, slices.Repeat([]report.Result{early}, maxEarly+1), slices.Repeat([]string{"early"}, maxEarly),
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newRetries(c.most)
			for i, r := range c.tries {
				last := i == len(c.tries)-1
				if x.shouldRetry(&r) == last {
					t.Fatalf("try %d of %d: again %v", i+1, len(c.tries), !last)
				}
				if last && !slices.Equal(r.Before, c.want) {
					t.Errorf("tries before: %q, want %q", r.Before, c.want)
				}
			}
			other := report.Result{ID: "another cell", Failures: []string{"failed"}}
			if got, want := x.shouldRetry(&other), c.most > 0; got != want {
				t.Errorf("another cell is tried again: %v, want %v", got, want)
			}
		})
	}
}
