package bench

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// ofSlices are the words for two builds that are measured at the same time.
var ofSlices = GroundText{
	Title: "Two builds of gorxe",
	Intro: "Two builds of gorxe measured at once, each between two network namespaces of its own: while the processes\n" +
		"of one run, those of the other are stopped, in turn for a slice of time. " + aboutSlices,
	Path:  ofNamespaces.Path,
	Host:  ofNamespaces.Host,
	Cores: coresOfSlices,
}

// ofTurns are the words for ratios whose two contenders are measured at the same time.
var ofTurns = GroundText{
	Title: "Contenders in turn",
	Intro: "Both contenders of a ratio measured at once, each between two network namespaces of its own: while the processes\n" +
		"of one run, those of the other are stopped, in turn for a slice of time. " + aboutSlices,
	Path:  ofNamespaces.Path,
	Host:  ofNamespaces.Host,
	Cores: coresOfSlices,
}

const (
	aboutSlices = "What other guests of the hypervisor\n" +
		"take from a core they take from both alike, so ratios of a few percent show in few rounds. A rate is\n" +
		"what a contender moves in a second of its own: of its slices, without the time in which its busier end waited\n" +
		"for a processor. A latency is the median of the single messages."
	coresOfSlices = "the processes of the server and of the\nclient used in a second of the contender's own time"
)

// Pairs keeps the ratios of two builds of gorxe perf, and their contenders.
func (c *Contest) Pairs() {
	var in []string
	c.Ratios = slices.DeleteFunc(c.Ratios, func(r Ratio) bool {
		of, to := c.contender(r.Of), c.contender(r.To)
		if of == nil || to == nil || of.Tool != "perf" || to.Tool != "perf" || of.Build != "" || to.Build == "" {
			return true
		}
		in = append(in, r.Of, r.To)
		return false
	})
	c.Only(func(_, contender string) bool { return slices.Contains(in, contender) })
}

// InTurn keeps the ratios whose contenders may both be stopped now and then, so that they can be
// measured in slices of time, and these contenders.
func (c *Contest) InTurn() {
	var in []string
	c.Ratios = slices.DeleteFunc(c.Ratios, func(r Ratio) bool {
		of, to := c.contender(r.Of), c.contender(r.To)
		if c.Metric == StartUp || of == nil || to == nil || of.unsliced() || to.unsliced() {
			return true
		}
		in = append(in, r.Of, r.To)
		return false
	})
	c.Only(func(_, contender string) bool { return slices.Contains(in, contender) })
}

// unsliced reports whether the contender cannot be measured in slices of time.
func (d *Contender) unsliced() bool { return d.tool(Server).notPausable || d.tool(Client).notPausable }

// RunInSlices measures the ratios of the contests, after [Contest.Pairs] or [Contest.InTurn], in
// slices of time: both contenders of a ratio at once. While the processes of one run, those of
// the other are stopped, so time that other guests of the hypervisor take affects both alike. A
// rate is bytes or messages per second of the contender's own time (see share.own). Each round is
// measured twice, starting with a different contender.
func RunInSlices(ctx context.Context, o Options, slice time.Duration) (_ *Report, err error) {
	if err := o.valid(); err != nil {
		return nil, err
	}
	o.Rounds *= 2
	o.Messages, o.Words = cmp.Or(o.Messages, messagesPerSecond), &ofTurns
	for i := range o.Contests {
		if slices.ContainsFunc(o.Contests[i].Contenders, func(d Contender) bool { return d.Build != "" }) {
			o.Words = &ofSlices
		}
	}
	var on [2]Ground
	for i := range on {
		var g *ground
		if g, err = newGround(o.Cores, o.PerEnd); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.close()) }()
		on[i] = namespaces{g}
	}
	r := newRunner(o, on[0])
	r.findTools(ctx)
	r.leaveRatios()
	if err := r.measurePairs(ctx, on, slice); err != nil {
		return nil, err
	}
	r.report.Machine.Revision = revisionOf(o.Gorxe)
	return r.report, nil
}

// leaveRatios removes the ratios of contenders that were left out.
func (r *runner) leaveRatios() {
	for i := range r.Contests {
		c := &r.Contests[i]
		c.Ratios = slices.DeleteFunc(c.Ratios, func(q Ratio) bool {
			return slices.ContainsFunc(r.report.Left, func(l Left) bool {
				return l.Contest == c.Name && (l.Contender == q.Of || l.Contender == q.To)
			})
		})
	}
}

// measurePairs measures each pair once per round.
func (r *runner) measurePairs(ctx context.Context, on [2]Ground, slice time.Duration) error {
	all := 0
	for i := range r.Contests {
		all += 2 * r.Rounds * len(r.Contests[i].Ratios)
	}
	for round := range r.Rounds {
		for i := range r.Contests {
			for _, q := range r.Contests[i].Ratios {
				pair := [2]string{q.Of, q.To}
				if round%2 == 1 {
					pair[0], pair[1] = pair[1], pair[0]
				}
				for _, s := range r.pair(ctx, on, &r.Contests[i], pair, round, slice) {
					r.report.Samples = append(r.report.Samples, s)
					if r.Progress != nil {
						r.Progress(s, len(r.report.Samples), all)
					}
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
		}
	}
	r.report.Seconds = time.Since(r.began).Seconds()
	return nil
}

// pair measures two contenders at the same time.
func (r *runner) pair(
	ctx context.Context, on [2]Ground, c *Contest, names [2]string, round int, slice time.Duration,
) (out [2]Sample) {
	stile := turnstile{settle: perfMargin * time.Second}
	var jobs [2]*Job
	for side, name := range names {
		jobs[side] = r.job(c, c.contender(name), round)
		jobs[side].started = func(end int, cmd *exec.Cmd) { stile.enter(side, end, cmd) }
		out[side] = r.newSample(jobs[side])
		out[side].Beside = names[1-side]
	}
	begin := time.Now()
	before, average := readLoad()
	var played [2]Played
	var errs [2]error
	var both sync.WaitGroup
	for side, j := range jobs {
		both.Go(func() {
			defer stile.leave(side)
			if errs[side] = on[side].Prepare(ctx, j); errs[side] == nil {
				played[side], errs[side] = on[side].Play(ctx, j)
			}
		})
	}
	stile.turns(slice, both.Wait)
	took := time.Since(begin).Seconds()
	after, _ := readLoad()
	var own float64
	for _, p := range played {
		own += (p.CPU[0] + p.CPU[1] + p.Shared + p.Beside).Seconds()
	}
	for side := range out {
		s, p := &out[side], &played[side]
		s.Load = loadOf(before, after, took, own, average)
		s.measured(jobs[side], p.Out, errs[side])
		share, ok := stile.sideTimes(side)
		if !ok { // the run was too short for two readings of both sides
			share.used = [3]time.Duration{p.CPU[Server], p.CPU[Client], p.Shared}
			share.took = time.Duration(took * float64(time.Second))
		}
		s.perOwnSecond(c.Metric, share)
	}
	return out
}

// perOwnSecond converts s to the contender's own time. A latency becomes the median of single
// messages, because most messages are not interrupted by a stop.
func (s *Sample) perOwnSecond(m Metric, h sideTimes) {
	own := h.own().Seconds()
	s.Took = own
	if own == 0 {
		return
	}
	for end := range s.CPU {
		s.CPU[end] = h.used[end].Seconds() / own
	}
	s.Shared = h.used[bothEnds].Seconds() / own
	switch {
	case m != Latency:
		s.Value *= h.took.Seconds() / own
	case s.Median > 0:
		s.Value = s.Median
	}
}
