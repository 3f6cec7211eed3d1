package sim

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
)

// The run under test fails exactly if two of its acts and one fault are present.
func TestShrinkKeepsWhatTheFailureNeeds(t *testing.T) {
	sc := scenario.Generate(7)
	if len(sc.Acts) < 20 {
		t.Fatalf("seed 7 has %d acts, too few to see anything", len(sc.Acts))
	}
	needs := []scenario.Time{sc.Acts[3].At, sc.Acts[15].At}
	fault := scenario.FaultID{Link: 1, Frame: 40}
	run := func(sc *scenario.Scenario) (r Result) {
		for n := range uint32(100) {
			if id := (scenario.FaultID{Link: 1, Frame: n}); !sc.Suppressed[id] {
				r.Faults = append(r.Faults, id)
			}
		}
		for _, at := range needs {
			if !slices.ContainsFunc(sc.Acts, func(a scenario.Act) bool { return a.At == at }) {
				return r
			}
		}
		if slices.Contains(r.Faults, fault) {
			r.Err = &world.Violation{What: "as planned"}
		}
		return r
	}
	got, r := shrink(sc, 1000, run)
	if r.Err == nil || len(got.Acts) != 2 || len(r.Faults) != 1 || r.Faults[0] != fault {
		t.Errorf("%d acts and %d faults are left, 2 and 1 are needed", len(got.Acts), len(r.Faults))
	}
}

func TestARunRepeatsItselfFromItsSeed(t *testing.T) {
	for seed := range uint64(20) {
		a, b := Run(scenario.Generate(seed), nil), Run(scenario.Generate(seed), nil)
		if a.Stats != b.Stats || !slices.Equal(a.Faults, b.Faults) {
			t.Errorf("seed %d: %+v, then %+v", seed, a.Stats, b.Stats)
		}
	}
}
