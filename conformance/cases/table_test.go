package cases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
)

func TestEveryCaseIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases.All() {
		switch {
		case seen[c.ID]:
			t.Errorf("%s is the ID of two cases", c.ID)
		case !slices.Contains(conformance.Chapters(), c.Chapter()):
			t.Errorf("%s: no such chapter", c.ID)
		case !strings.HasSuffix(c.Rule, "."):
			t.Errorf("%s: the rule is no sentence: %q", c.ID, c.Rule)
		case c.Source == "" || c.Run == nil || c.Level > conformance.Observed || c.Program >= conformance.Programs:
			t.Errorf("%s is not complete: %+v", c.ID, c)
		}
		seen[c.ID] = true
	}
}
