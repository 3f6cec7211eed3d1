package self

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance"
)

// Options select what Run does.
type Options struct {
	Cases   []*conformance.Case
	Mutants []*Mutant
	// All runs every case against every mutant. Otherwise a mutant runs its own cases, and one case
	// of each unrelated chapter.
	All bool
	// Partial means that Mutants are not all: a case without a mutant is no error.
	Partial bool
	// Jobs is the number of worlds at a time; 0 means 16. Most of the time a world waits.
	Jobs int
	// Timeout and Silence are those of conformance.Runner; 0 means 1 s and 25 ms. A result that is
	// not the expected one is repeated with eight times as much, because a busy host may delay an
	// answer.
	Timeout, Silence time.Duration
	// latency is the time that the tester takes for each packet that it receives, so that time
	// passes in a test with virtual time.
	latency time.Duration
	// Done is called after each case without a mutant and after each mutant, with the number of
	// those that are done and of all, if it is not nil.
	Done func(done, all int)
}

// Case is the result of a case against the endpoint without a mutant.
type Case struct {
	*conformance.Result
	OK bool
}

// Outcome is the result of a mutant.
type Outcome struct {
	*Mutant
	Caught []*conformance.Result // by a case of Mutant.Cases
	Missed []*conformance.Result
	// Absent are IDs in Mutant.Cases that no case has.
	Absent []string
	// Unrelated are results of other chapters that differ from those without the mutant.
	Unrelated []*conformance.Result
	// Also are failures of other cases in related chapters.
	Also []*conformance.Result
}

// OK reports whether the mutant was caught by each of its cases, and by none of another chapter.
func (o *Outcome) OK() bool {
	return len(o.Caught) > 0 && len(o.Missed) == 0 && len(o.Absent) == 0 && len(o.Unrelated) == 0
}

// Report is the result of Run.
type Report struct {
	Cases    []*Case
	Outcomes []*Outcome
	// Bare are the IDs of cases that no mutant has.
	Bare    []string
	Elapsed time.Duration
}

// OK reports whether the tester works as it should.
func (r *Report) OK() bool {
	return len(r.Bare) == 0 && !slices.ContainsFunc(r.Cases, func(c *Case) bool { return !c.OK }) &&
		!slices.ContainsFunc(r.Outcomes, func(o *Outcome) bool { return !o.OK() })
}

// Run runs the cases against the endpoint without and with the mutants. An error is that of ctx, or
// of an endpoint that cannot be opened.
func Run(ctx context.Context, o Options) (*Report, error) {
	begin := time.Now()
	s := &session{Options: o, plain: map[string]*conformance.Result{}, slots: make(chan struct{}, cmp.Or(o.Jobs, 16))}
	s.steps = len(o.Cases) + len(o.Mutants)
	r := &Report{Cases: make([]*Case, len(o.Cases)), Outcomes: make([]*Outcome, len(o.Mutants))}
	if !o.Partial {
		r.Bare = bare(o.Cases, o.Mutants)
	}
	var wg sync.WaitGroup
	for i, c := range o.Cases {
		wg.Go(func() {
			x := s.judge(ctx, nil, c, good)
			r.Cases[i] = &Case{x, good(x)}
			s.step()
		})
	}
	wg.Wait()
	for _, c := range r.Cases {
		s.plain[c.Case.ID] = c.Result
	}
	for i, m := range o.Mutants {
		wg.Go(func() {
			r.Outcomes[i] = s.try(ctx, m)
			s.step()
		})
	}
	wg.Wait()
	r.Elapsed = time.Since(begin)
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, s.err
}

// bare returns the IDs of the cases that no mutant names.
func bare(cases []*conformance.Case, mutants []*Mutant) (ids []string) {
	has := map[string]bool{}
	for _, m := range mutants {
		for _, id := range m.Cases {
			has[id] = true
		}
	}
	for _, c := range cases {
		if !has[c.ID] {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// session is a run of Run.
type session struct {
	Options
	plain map[string]*conformance.Result // without a mutant, by ID
	slots chan struct{}

	mu          sync.Mutex // guards what follows
	err         error
	done, steps int
}

func (s *session) step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if s.Done != nil {
		s.Done(s.done, s.steps)
	}
}

// good reports whether the result is right for an endpoint that breaks no rule.
func good(x *conformance.Result) bool {
	switch x.Verdict {
	case conformance.Fail, conformance.Warn, conformance.Inconclusive:
		return false
	}
	return true
}

// caught reports whether the result shows that the case detected m.
func (s *session) caught(m *Mutant, x *conformance.Result) bool {
	switch x.Verdict {
	case conformance.Fail, conformance.Warn:
		return true
	case conformance.Pass:
		p := s.plain[x.Case.ID]
		return m.Supports && p != nil && (p.Verdict == conformance.Unsupported || p.Verdict == conformance.Unclear)
	case conformance.Measured, conformance.Unclear:
		p := s.plain[x.Case.ID]
		return m.Shows != "" && strings.Contains(x.Detail, m.Shows) &&
			p != nil && !strings.Contains(p.Detail, m.Shows)
	}
	return false
}

// kept reports whether the result of a case, which a mutant must not change, is right: a rule that
// the endpoint keeps without the mutant must still pass.
func (s *session) kept(x *conformance.Result) bool {
	p := s.plain[x.Case.ID]
	return good(x) && (p == nil || p.Verdict != conformance.Pass || x.Verdict == conformance.Pass)
}

// try runs the cases for a mutant.
func (s *session) try(ctx context.Context, m *Mutant) *Outcome {
	o := &Outcome{Mutant: m}
	for _, id := range m.Cases {
		if _, ok := s.plain[id]; !ok {
			o.Absent = append(o.Absent, id)
		}
	}
	sampled := map[string]bool{}
	for _, c := range s.Cases {
		chapter := c.Chapter()
		switch {
		case slices.Contains(m.Cases, c.ID):
			x := s.judge(ctx, m, c, func(x *conformance.Result) bool { return s.caught(m, x) })
			if s.caught(m, x) {
				o.Caught = append(o.Caught, x)
			} else {
				o.Missed = append(o.Missed, x)
			}
		case m.related(chapter):
			if s.All {
				if x := s.judge(ctx, m, c, nil); s.caught(m, x) {
					o.Also = append(o.Also, x)
				}
			}
		case s.All || !sampled[chapter] && s.plain[c.ID].Verdict == conformance.Pass:
			sampled[chapter] = true
			if x := s.judge(ctx, m, c, s.kept); !s.kept(x) {
				o.Unrelated = append(o.Unrelated, x)
			}
		}
	}
	return o
}

// patience is the factor of the times when a result is repeated.
const patience = 8

// judge runs a case against a new endpoint with the mutant, nil for none. If the result is not
// wanted, it runs the case again with longer times; nil wants any result.
func (s *session) judge(ctx context.Context, m *Mutant, c *conformance.Case,
	wanted func(*conformance.Result) bool) *conformance.Result {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	timeout, silence := cmp.Or(s.Timeout, time.Second), cmp.Or(s.Silence, 25*time.Millisecond)
	x := s.once(ctx, m, c, timeout, silence)
	if wanted != nil && !wanted(x) && ctx.Err() == nil {
		x = s.once(ctx, m, c, patience*timeout, patience*silence)
	}
	return x
}

// once runs a case against a new endpoint.
func (s *session) once(ctx context.Context, m *Mutant, c *conformance.Case,
	timeout, silence time.Duration) *conformance.Result {
	x := &conformance.Result{Case: c, Verdict: conformance.Inconclusive}
	var faults func(*world) hooks
	if m != nil {
		faults = m.hooks
	}
	w, err := newWorld(faults)
	if err != nil {
		s.fail(err)
		x.Detail = err.Error()
		return x
	}
	defer func() {
		if err := w.close(); err != nil {
			s.fail(err)
		}
	}()
	r := conformance.Runner{Device: endpoint{w}, Link: &link{w: w, local: testerAddr, latency: s.latency},
		Timeout: timeout, Silence: silence}
	all := r.Run(ctx, []*conformance.Case{c})
	if len(all) == 0 {
		x.Detail = fmt.Sprint(context.Cause(ctx))
		return x
	}
	return all[0]
}

func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(s.err, err)
}
