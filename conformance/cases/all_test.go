package cases

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance"
)

func TestEachCaseIsComplete(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range All() {
		switch {
		case ids[c.ID]:
			t.Errorf("%s: two cases have this ID", c.ID)
		case !slices.Contains(conformance.Chapters(), c.Chapter()):
			t.Errorf("%s: there is no such chapter", c.ID)
		case !strings.HasSuffix(c.Rule, ".") || strings.Contains(c.Rule, ". "):
			t.Errorf("%s: the rule must be one sentence: %s", c.ID, c.Rule)
		case c.Source == "" || c.Run == nil || c.Program >= conformance.Programs:
			t.Errorf("%s: source, script or program is missing", c.ID)
		}
		ids[c.ID] = true
	}
}

func TestChaptersAreInOrderAndTheirNumbersHaveNoGap(t *testing.T) {
	count := map[string]int{}
	chapter := 0
	for _, c := range All() {
		at := slices.Index(conformance.Chapters(), c.Chapter())
		if at < chapter {
			t.Errorf("%s comes after chapter %s", c.ID, conformance.Chapters()[chapter])
		}
		chapter = at
		count[c.Chapter()]++
	}
	for name, n := range count {
		for i := range n {
			id := fmt.Sprintf("%s/%d", name, i+1)
			if !slices.ContainsFunc(All(), func(c *conformance.Case) bool { return c.ID == id }) {
				t.Errorf("%s is missing: chapter %s has %d cases", id, name, n)
			}
		}
	}
}
