package self

import (
	"flag"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/internal/race"
)

// long is set by 'make conformance-self'.
var long = flag.Bool("long", false, "run in real time, as gorxe conform self does")

// all runs every case against every mutant, in virtual time.
var all = flag.Bool("all", false, "run every case against every mutant, as gorxe conform self --all does")

// latency is that of the link in virtual time. Without one, cases that measure a rate would not
// end, because no time would pass.
const latency = 10 * time.Microsecond

func TestEveryCaseHasAMutant(t *testing.T) {
	for _, id := range bare(cases.All(), Mutants()) {
		t.Errorf("%s: no mutant breaks this rule", id)
	}
}

func TestEveryMutantIsCaught(t *testing.T) {
	if *long {
		check(t, Options{Cases: cases.All(), Mutants: Mutants(), All: *all})
		return
	}
	o := Options{Cases: cases.All(), Mutants: Mutants(), latency: latency, All: *all}
	if race.Enabled { // ten times slower; the mutants use the same code of the endpoint
		o.Partial = true
		o.Mutants = slices.DeleteFunc(o.Mutants, func(m *Mutant) bool {
			return crc32.ChecksumIEEE([]byte(m.Name))%8 != 0
		})
	}
	synctest.Test(t, func(t *testing.T) { check(t, o) })
}

// check runs the cases against the endpoint without and with the mutants.
func check(t *testing.T, o Options) {
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cases {
		if !c.OK {
			t.Errorf("%s without a mutant: %v: %s", c.Case.ID, c.Verdict, c.Detail)
		}
	}
	for _, id := range r.Bare {
		t.Errorf("%s: no mutant breaks this rule", id)
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
		if !o.OK() && len(o.Absent)+len(o.Missed)+len(o.Unrelated) == 0 {
			t.Errorf("mutant %s: no case ran", o.Name)
		}
	}
	t.Logf("%d cases and %d mutants in %v", len(r.Cases), len(r.Outcomes), r.Elapsed)
}

func TestMutantsAreComplete(t *testing.T) {
	level := map[string]conformance.Level{}
	for _, c := range cases.All() {
		level[c.ID] = c.Level
	}
	seen := map[string]bool{}
	for _, m := range Mutants() {
		if seen[m.Name] {
			t.Errorf("two mutants have the name %s", m.Name)
		}
		seen[m.Name] = true
		if !strings.HasSuffix(m.Breaks, ".") || len(m.Cases) == 0 || m.hooks == nil {
			t.Errorf("mutant %s is incomplete", m.Name)
		}
		for _, id := range m.Cases {
			if l, ok := level[id]; !ok {
				t.Errorf("mutant %s: there is no case %s", m.Name, id)
			} else if l == conformance.Observed && m.Shows == "" {
				t.Errorf("mutant %s: case %s cannot fail, so the mutant needs a text that it shows", m.Name, id)
			}
		}
		for _, chapter := range m.Related {
			if !slices.Contains(conformance.Chapters(), chapter) {
				t.Errorf("mutant %s: there is no chapter %s", m.Name, chapter)
			}
			if slices.ContainsFunc(m.Cases, func(id string) bool { return chapterOf(id) == chapter }) {
				t.Errorf("mutant %s: chapter %s is that of a case", m.Name, chapter)
			}
		}
	}
}

// some returns the cases with the IDs.
func some(ids ...string) []*conformance.Case {
	return slices.DeleteFunc(cases.All(), func(c *conformance.Case) bool { return !slices.Contains(ids, c.ID) })
}

func TestAMutantThatBreaksNothingIsMissed(t *testing.T) {
	none := &Mutant{Name: "none", Cases: []string{"psn/1", "header/12", "uc/8"}, Shows: "source port",
		hooks: func(*world) hooks { return hooks{} }}
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), Options{Cases: some(none.Cases...), Mutants: []*Mutant{none}, Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		if o := r.Outcomes[0]; o.OK() || r.OK() || len(o.Missed) != len(none.Cases) {
			t.Errorf("%d of %d cases detect a mutant without a fault", len(o.Caught), len(none.Cases))
		}
	})
}

func TestAFaultThatAnUnrelatedChapterSeesIsReported(t *testing.T) {
	wide := &Mutant{Name: "wide", Cases: []string{"responder/75"}, hooks: dropOut(syndrome(0x62))}
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), Options{Cases: some("responder/75", "icrc/1", "icrc/10", "atomic/9"),
			Mutants: []*Mutant{wide}, All: true, Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, x := range r.Outcomes[0].Unrelated {
			ids = append(ids, x.Case.ID)
		}
		if want := []string{"icrc/10", "atomic/9"}; !slices.Equal(ids, want) || r.OK() {
			t.Errorf("the chapters of %v are reported instead of those of %v", ids, want)
		}
	})
}

func TestACaseWithoutAMutantIsReported(t *testing.T) {
	m := &Mutant{Cases: []string{"psn/1"}}
	if got := bare(some("psn/1", "psn/2"), []*Mutant{m}); !slices.Equal(got, []string{"psn/2"}) {
		t.Errorf("cases without a mutant: %v", got)
	}
}

func TestWhatDetectsAMutant(t *testing.T) {
	c := some("psn/1")[0]
	result := func(v conformance.Verdict, detail string) *conformance.Result {
		return &conformance.Result{Case: c, Verdict: v, Detail: detail}
	}
	const text = "it is dropped"
	plain := result(conformance.Measured, "it is executed")
	for _, x := range []struct {
		name   string
		mutant Mutant
		plain  *conformance.Result
		got    *conformance.Result
		want   bool
	}{
		{"a failure", Mutant{}, plain, result(conformance.Fail, ""), true},
		{"a warning", Mutant{}, plain, result(conformance.Warn, ""), true},
		{"an observation without a text", Mutant{}, plain, result(conformance.Measured, text), false},
		{"an observation with the text", Mutant{Shows: text}, plain, result(conformance.Measured, text), true},
		{"another observation", Mutant{Shows: text}, plain, plain, false},
		{"the text without the mutant too", Mutant{Shows: text}, result(conformance.Measured, text),
			result(conformance.Measured, text), false},
		{"an unclear result with the text", Mutant{Shows: text}, result(conformance.Pass, ""),
			result(conformance.Unclear, text), true},
		{"a pass", Mutant{Shows: text}, plain, result(conformance.Pass, text), false},
		{"an inconclusive result", Mutant{Shows: text}, plain, result(conformance.Inconclusive, text), false},
		{"a pass of what was unsupported", Mutant{Supports: true}, result(conformance.Unsupported, ""),
			result(conformance.Pass, ""), true},
		{"a pass of what passed", Mutant{Supports: true}, result(conformance.Pass, ""), result(conformance.Pass, ""),
			false},
	} {
		s := &session{plain: map[string]*conformance.Result{c.ID: x.plain}}
		if got := s.caught(&x.mutant, x.got); got != x.want {
			t.Errorf("%s: caught %v, want %v", x.name, got, x.want)
		}
	}
}
