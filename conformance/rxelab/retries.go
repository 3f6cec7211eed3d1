package rxelab

import (
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

// maxEarly is the maximum number of tries of a cell whose client starts before its server
// listens.
const maxEarly = 20

// retries decides which failed cells are retried. It is not safe for concurrent use.
type retries struct {
	most     int                 // maximum for each cell, not counting early clients
	failures map[string][]string // failures of earlier tries, by cell
	early    map[string]int      // number of these caused by an early client, by cell
}

func newRetries(most int) *retries {
	return &retries{most: most, failures: map[string][]string{}, early: map[string]int{}}
}

// shouldRetry takes the result of a try and reports whether the cell should be retried. If not, it
// stores the failures of earlier tries in the result.
func (t *retries) shouldRetry(r *report.Result) bool {
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
