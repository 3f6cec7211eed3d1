package self

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
)

// long is set by 'make conformance-self', which takes a minute.
var long = flag.Bool("long", false, "run all cases and mutants, not only those of chapter psn")

func TestEveryCaseHasAMutant(t *testing.T) {
	for _, id := range bare(cases.All(), Mutants()) {
		t.Errorf("%s: no mutant breaks this rule", id)
	}
}

func TestEveryMutantIsCaught(t *testing.T) {
	o := Options{Cases: cases.All(), Mutants: Mutants()}
	if !*long {
		o.Partial = true
		// These chapters measure times, which a busy host changes.
		o.Cases = slices.DeleteFunc(o.Cases, func(c *conformance.Case) bool {
			return c.Chapter() == "requester" || c.Chapter() == "congestion"
		})
		o.Mutants = slices.DeleteFunc(o.Mutants, func(m *Mutant) bool { return !strings.HasPrefix(m.Cases[0], "psn/") })
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cases {
		if !c.OK {
			t.Errorf("%s without a mutant: %v: %s", c.Case.ID, c.Verdict, c.Detail)
		}
	}
	for _, o := range r.Outcomes {
		for _, id := range o.Absent {
			t.Errorf("mutant %s: there is no case %s", o.Name, id)
		}
		for _, x := range o.Missed {
			t.Errorf("mutant %s: %s does not detect it: %v: %s", o.Name, x.Case.ID, x.Verdict, x.Detail)
		}
		for _, x := range o.Unrelated {
			t.Errorf("mutant %s: %s of an unrelated chapter: %v: %s", o.Name, x.Case.ID, x.Verdict, x.Detail)
		}
	}
	t.Logf("%d cases and %d mutants in %v", len(r.Cases), len(r.Outcomes), r.Elapsed)
}

func TestMutantsHaveDifferentNamesAndASentence(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Mutants() {
		if seen[m.Name] {
			t.Errorf("two mutants have the name %s", m.Name)
		}
		seen[m.Name] = true
		if m.Breaks == "" || m.Breaks[len(m.Breaks)-1] != '.' || len(m.Cases) == 0 || m.hooks == nil {
			t.Errorf("mutant %s is incomplete", m.Name)
		}
	}
}
