package sim

import (
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"maps"
)

// Shrink reduces a failing scenario: it returns the scenario with the fewest acts and faults that
// it finds in up to runs runs, and the result of that scenario. The returned scenario fails, but
// not necessarily with the violation of sc. If sc does not fail, Shrink returns it unchanged.
func Shrink(sc *scenario.Scenario, runs int) (*scenario.Scenario, Result) {
	return shrink(sc, runs, func(sc *scenario.Scenario) Result { return Run(sc, nil) })
}

func shrink(sc *scenario.Scenario, runs int, run func(*scenario.Scenario) Result) (*scenario.Scenario, Result) {
	s := shrinker{run: run, best: sc, left: runs}
	s.result = run(sc)
	if s.result.Err == nil {
		return sc, s.result
	}
	for before := -1; before != s.size() && s.left > 0; {
		before = s.size()
		s.dropConns()
		s.drop(func() int { return len(s.best.Acts) }, s.withoutActs)
		s.drop(func() int { return len(s.result.Faults) }, s.withoutFaults)
	}
	return s.best, s.result
}

type shrinker struct {
	run    func(*scenario.Scenario) Result
	best   *scenario.Scenario
	result Result
	left   int // runs left
}

func (s *shrinker) size() int { return len(s.best.Acts) + len(s.result.Faults) }

// try runs sc, and keeps it as the best scenario if it fails. It reports whether it did.
func (s *shrinker) try(sc *scenario.Scenario) bool {
	if s.left <= 0 {
		return false
	}
	s.left--
	r := s.run(sc)
	if r.Err == nil {
		return false
	}
	s.best, s.result = sc, r
	return true
}

// dropConns tries to remove all acts of one connection, for each connection.
func (s *shrinker) dropConns() {
	for i := range s.best.Conns {
		sc := *s.best
		sc.Acts = nil
		for _, a := range s.best.Acts {
			if a.Conn != i {
				sc.Acts = append(sc.Acts, a)
			}
		}
		if len(sc.Acts) < len(s.best.Acts) {
			s.try(&sc)
		}
	}
}

// drop tries to remove ranges of a list, halving their length from the whole list down to 1.
func (s *shrinker) drop(length func() int, without func(i, j int) *scenario.Scenario) {
	for n := length(); n > 0; n /= 2 {
		for i := 0; i < length() && s.left > 0; {
			if !s.try(without(i, min(i+n, length()))) {
				i += n
			}
		}
	}
}

func (s *shrinker) withoutActs(i, j int) *scenario.Scenario {
	sc := *s.best
	sc.Acts = append(append([]scenario.Act(nil), s.best.Acts[:i]...), s.best.Acts[j:]...)
	return &sc
}

func (s *shrinker) withoutFaults(i, j int) *scenario.Scenario {
	sc := *s.best
	sc.Suppressed = maps.Clone(s.best.Suppressed)
	if sc.Suppressed == nil {
		sc.Suppressed = map[scenario.FaultID]bool{}
	}
	for _, id := range s.result.Faults[i:j] {
		sc.Suppressed[id] = true
	}
	return &sc
}
