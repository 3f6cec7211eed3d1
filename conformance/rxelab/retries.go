package rxelab

import (
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

// maxEarly bounds the tries of a cell whose client comes too early, as gorxe's own client does.
const maxEarly = 20

// retries decides which cells that failed are run again. It is not safe for concurrent use.
type retries struct {
	most     int                 // for each cell, besides those of a client that came too early
	failures map[string][]string // of tries, by cell
	early    map[string]int      // how many of these were of a client that came too early
}

func newRetries(most int) *retries {
	return &retries{most: most, failures: map[string][]string{}, early: map[string]int{}}
}

// again takes the result of a try, and reports whether there is to be another one. If not, the result gets the failures
// of the tries before.
func (t *retries) again(r *report.Result) bool {
	before := t.failures[r.ID]
	if r.Passed() || !t.another(r, len(before)) {
		r.Before = before
		return false
	}
	t.failures[r.ID] = append(before, strings.Join(r.Failures, "; "))
	if r.Early {
		t.early[r.ID]++
	}
	return true
}

func (t *retries) another(r *report.Result, tries int) bool {
	if r.Early {
		return t.early[r.ID] < maxEarly
	}
	return tries-t.early[r.ID] < t.most
}
