package self

import (
	"slices"
	"strings"
)

// Mutant is an endpoint that breaks a rule.
type Mutant struct {
	Name string
	// Breaks says in one sentence what the endpoint does wrong.
	Breaks string
	// Cases are the IDs of the cases that must detect it.
	Cases []string
	// Related are chapters, other than those of Cases, whose cases may detect it too.
	Related []string
	// Shows is a text that the detail of a case of level Observed, or of an unclear result, has
	// only with this mutant. Such a case cannot fail.
	Shows string
	// Supports means that the endpoint does what the endpoint without a mutant does not: the cases,
	// which were unsupported or unclear, must pass.
	Supports bool

	hooks func(w *world) hooks
}

// Mutants returns all mutants in the order of the chapters.
func Mutants() []*Mutant {
	var all []*Mutant
	for _, chapter := range [][]Mutant{headerMutants, admitMutants, icrcMutants, psnMutants, duplicateMutants,
		responderMutants, invalidMutants, requesterMutants, repeatMutants, readMutants,
		rnrMutants, atomicMutants, ucMutants, udMutants, cmMutants, refuseMutants, congestionMutants} {
		for i := range chapter {
			all = append(all, &chapter[i])
		}
	}
	return all
}

// chapterOf returns the chapter of a case ID.
func chapterOf(id string) string {
	chapter, _, _ := strings.Cut(id, "/")
	return chapter
}

// related reports whether cases of the chapter may detect m.
func (m *Mutant) related(chapter string) bool {
	return slices.Contains(m.Related, chapter) ||
		slices.ContainsFunc(m.Cases, func(id string) bool { return chapterOf(id) == chapter })
}

// in makes hooks that see incoming datagrams only, without a state.
func in(f func(w *world, f *frame)) func(*world) hooks {
	return func(w *world) hooks { return hooks{in: func(x *frame) { f(w, x) }} }
}

// out makes hooks that see outgoing datagrams only, without a state.
func out(f func(w *world, f *frame)) func(*world) hooks {
	return func(w *world) hooks { return hooks{out: func(x *frame) { f(w, x) }} }
}

// dropIn and dropOut make hooks that drop datagrams to and from the endpoint.
func dropIn(pick func(f *frame) bool) func(*world) hooks {
	return in(func(_ *world, f *frame) {
		if pick(f) {
			f.drop()
		}
	})
}

func dropOut(pick func(f *frame) bool) func(*world) hooks {
	return out(func(_ *world, f *frame) {
		if pick(f) {
			f.drop()
		}
	})
}

// changeOut makes hooks that change the datagrams from the endpoint that pick selects.
func changeOut(pick func(f *frame) bool, change func(f *frame)) func(*world) hooks {
	return out(func(_ *world, f *frame) {
		if pick(f) {
			change(f)
		}
	})
}

// changeIn makes hooks that change the datagrams to the endpoint that pick selects.
func changeIn(pick func(f *frame) bool, change func(f *frame)) func(*world) hooks {
	return in(func(_ *world, f *frame) {
		if pick(f) {
			change(f)
		}
	})
}

// tune makes hooks that change the queue pairs of the endpoint's programs.
func tune(f func(s *settings)) func(*world) hooks {
	return func(*world) hooks { return hooks{tune: f} }
}
