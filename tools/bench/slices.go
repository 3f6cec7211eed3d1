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

// ofSlices are the words for two builds that are measured at once.
var ofSlices = Words{
	Title: "Two builds of gorxe",
	Intro: "Two builds of gorxe measured at once, each between two network namespaces of its own: while the processes\n" +
		"of one run, those of the other are stopped, in turn for a slice of time. What other guests of the hypervisor\n" +
		"take from a core they take from both builds alike, so ratios of a few percent show in few rounds. A rate is\n" +
		"what the busier end moves in a second of its processor time.",
	Path:  ofNamespaces.Path,
	Host:  ofNamespaces.Host,
	Cores: "the processes of the server and of the\nclient used in a second of the busier end's processor time",
}

// Pairs keeps of a contest what is measured of two builds: contenders of gorxe perf, and their ratios.
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

// RunInSlices measures the pairs of builds of the contests, which [Contest.Pairs] left, in slices of time. Each
// of the rounds is made twice: the builds change places, of which the first begins.
func RunInSlices(ctx context.Context, o Options, slice time.Duration) (_ *Report, err error) {
	if err := o.valid(); err != nil {
		return nil, err
	}
	o.Rounds *= 2
	o.Messages, o.Words = cmp.Or(o.Messages, messagesPerSecond), &ofSlices
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
	if err := r.measurePairs(ctx, on, slice); err != nil {
		return nil, err
	}
	r.report.Machine.Revision = revisionOf(o.Gorxe)
	return r.report, nil
}

// measurePairs measures each pair once a round.
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

// pair measures two contenders at once.
func (r *runner) pair(
	ctx context.Context, on [2]Ground, c *Contest, names [2]string, round int, slice time.Duration,
) (out [2]Sample) {
	var stile turnstile
	var jobs [2]*Job
	for side, name := range names {
		jobs[side] = r.job(c, c.contender(name), round)
		jobs[side].started = func(cmd *exec.Cmd) { stile.enter(side, cmd) }
		out[side] = r.newSample(jobs[side])
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
		own += (p.CPU[0] + p.CPU[1]).Seconds()
	}
	for side := range out {
		s, p := &out[side], &played[side]
		s.Load = loadOf(before, after, took, own, average)
		s.measured(jobs[side], p.Out, errs[side])
		s.perBusySecond(c.Metric, p.CPU, took)
	}
	return out
}

// perBusySecond counts time by what the busier end has used of its processor. A latency is left as it is: that
// of most messages has no stop in it.
func (s *Sample) perBusySecond(m Metric, used [2]time.Duration, took float64) {
	s.Took = max(used[Server], used[Client]).Seconds()
	if s.Took == 0 {
		return
	}
	for end, u := range used {
		s.CPU[end] = u.Seconds() / s.Took
	}
	if m != Latency {
		s.Value *= took / s.Took
	}
}

// turnstile lets the processes of two sides run in turn. Its methods may be called by several goroutines.
type turnstile struct {
	mu   sync.Mutex // guards what follows
	in   [2][]*exec.Cmd
	over [2]bool
	turn int // the side that runs
}

// enter adds a process that has just been started.
func (t *turnstile) enter(side int, c *exec.Cmd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in[side] = append(t.in[side], c)
	if side != t.turn {
		pause(c)
	}
}

// leave tells that all processes of a side have ended. The other side is not stopped any more.
func (t *turnstile) leave(side int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over[side] = true
	t.to(1 - side)
}

// next gives the turn to the other side, unless that has left.
func (t *turnstile) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := 1 - t.turn; !t.over[other] {
		t.to(other)
	}
}

func (t *turnstile) to(side int) {
	if t.turn != side {
		for _, c := range t.in[t.turn] {
			pause(c)
		}
	}
	t.turn = side
	for _, c := range t.in[side] {
		resume(c)
	}
}

// turns changes sides after each slice until wait returns.
func (t *turnstile) turns(slice time.Duration, wait func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait()
	}()
	tick := time.NewTicker(slice)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.next()
		case <-ended:
			return
		}
	}
}
