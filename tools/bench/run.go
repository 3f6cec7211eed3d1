package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Options configure a run.
type Options struct {
	Gorxe    string // file of gorxe on the hosts
	Bench    string // file of the program tools/bench/cmd/bench on the hosts; some tools are its commands
	Contests []Contest
	Rounds   int // measurements of each contender
	Seconds  int // counted seconds of a measurement
	// Messages is the number of messages that a latency test exchanges per second of Seconds; 0:
	// messagesPerSecond.
	Messages int
	Cores    []int       // first core of the server's and of the client's end; missing ones are chosen
	PerEnd   int         // consecutive cores of each end; 0: one
	Words    *GroundText // words of the report; nil: those of two network namespaces
	// Again is the maximum number of repetitions of a disturbed measurement; the last one is
	// used.
	Again int
	// Profiles is the directory for CPU profiles of both ends of gorxe perf; empty: none.
	Profiles string
	// Progress, if not nil, is called after each measurement, with its number and the total.
	Progress func(s Sample, n, all int)
	// LeftOut, if not nil, is called for each contender that is left out.
	LeftOut func(l Left)
}

// messagesPerSecond is the default number of messages of a latency test per second of its
// intended duration: more than a host exchanges that sleeps between messages, fewer than one that
// does not.
const messagesPerSecond = 15_000

// firstPort is the TCP port of the first measurement; successive measurements use successive
// ports below lastPort.
const (
	firstPort = 20000
	lastPort  = 30000
)

// runner is a run in progress.
type runner struct {
	Options
	ground Ground
	began  time.Time
	report *Report
	out    map[[2]int]bool // contest and contender that were left out
	done   int             // number of jobs so far
}

// Measure makes all measurements on a ground.
func Measure(ctx context.Context, o Options, g Ground) (*Report, error) {
	if err := o.valid(); err != nil {
		return nil, err
	}
	o.Messages = cmp.Or(o.Messages, messagesPerSecond)
	r := newRunner(o, g)
	r.findTools(ctx)
	turns := plan(o.Contests, o.Rounds)
	for i, t := range turns {
		if r.out[[2]int{t.contest, t.contender}] {
			continue
		}
		s := r.sample(ctx, t)
		for again := 1; again <= o.Again && s.Err == "" && s.Load.Disturbed() && ctx.Err() == nil; again++ {
			s = r.sample(ctx, t)
			s.Again = again
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.Err != "" && t.round == 0 {
			// A contender that does not work at all fails twice.
			if s = r.sample(ctx, t); ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if s.Err != "" {
				r.leave(t.contest, t.contender, s.Err)
				continue
			}
		}
		r.report.Samples = append(r.report.Samples, s)
		if r.Progress != nil {
			r.Progress(s, i+1, len(turns))
		}
	}
	r.report.Seconds = time.Since(r.began).Seconds()
	return r.report, nil
}

func newRunner(o Options, g Ground) *runner {
	r := &runner{Options: o, ground: g, began: time.Now(), out: map[[2]int]bool{}}
	r.report = &Report{
		Machine: describe("/"), Words: o.Words, Began: r.began.UTC().Truncate(time.Second), Rounds: o.Rounds,
		Length:   o.Seconds,
		Contests: o.Contests,
	}
	g.Describe(&r.report.Machine)
	return r
}

// findTools leaves out contenders whose program is not installed, and records the versions of the
// others.
func (r *runner) findTools(ctx context.Context) {
	for c := range r.Contests {
		for d, who := range r.Contests[c].Contenders {
			for _, t := range []*tool{who.tool(Server), who.tool(Client)} {
				if why := r.findTool(ctx, t, t.file(who.Args)); why != "" && !r.out[[2]int{c, d}] {
					r.leave(c, d, why)
				}
			}
		}
	}
}

// findTool returns the reason for which a program is not available, or "" after recording its
// version.
func (r *runner) findTool(ctx context.Context, t *tool, program string) string {
	if program == "" || r.report.Machine.Tools[program] != "" {
		return ""
	}
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Sprintf("%s is not installed: apt-get install %s", program, t.from)
	}
	if t.version == nil {
		return ""
	}
	// A tool that does not report its version can be used nevertheless.
	text, _ := exec.CommandContext(ctx, program, t.version...).Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	r.report.Machine.Tools[program] = strings.TrimSpace(first)
	return ""
}

func (r *runner) leave(contest, contender int, why string) {
	r.out[[2]int{contest, contender}] = true
	l := Left{Contest: r.Contests[contest].Name, Contender: r.Contests[contest].Contenders[contender].Name, Why: why}
	r.report.Left = append(r.report.Left, l)
	if r.LeftOut != nil {
		r.LeftOut(l)
	}
}

// sample makes one measurement.
func (r *runner) sample(ctx context.Context, t turn) Sample {
	c := &r.Contests[t.contest]
	j := r.job(c, &c.Contenders[t.contender], t.round)
	s := r.newSample(j)
	if err := r.ground.Prepare(ctx, j); err != nil {
		s.Err = oneLine(err)
		return s
	}
	begin := time.Now()
	before, average := readLoad()
	p, err := r.ground.Play(ctx, j)
	s.Took = time.Since(begin).Seconds()
	after, _ := readLoad()
	own := (p.Beside + p.Shared).Seconds()
	s.Shared = p.Shared.Seconds() / s.Took
	for i, used := range p.CPU {
		s.CPU[i] = used.Seconds() / s.Took
		own += used.Seconds()
	}
	s.Load = loadOf(before, after, s.Took, own, average)
	s.measured(j, p.Out, err)
	return s
}

// job returns the job of the next measurement.
func (r *runner) job(c *Contest, who *Contender, round int) *Job {
	j := &Job{
		Contest: c, Who: who, Round: round, Seconds: r.Seconds, Messages: cmp.Or(c.Messages, r.Messages),
		Profile: r.profile(c, who, round),
		Port:    firstPort + r.done%(lastPort-firstPort), gorxe: r.Gorxe, bench: r.Bench,
	}
	r.done++
	return j
}

func (r *runner) newSample(j *Job) Sample {
	return Sample{Contest: j.Contest.Name, Contender: j.Who.Name, Round: j.Round + 1, At: time.Since(r.began).Seconds()}
}

// measured stores the client's result, or the reason for which there is none.
func (s *Sample) measured(j *Job, out []byte, err error) {
	if err == nil {
		s.Measured, err = j.Who.tool(Client).parse(j.Contest.Metric, out)
	}
	s.summarize()
	if err != nil {
		s.Err = oneLine(err)
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// unfit matches characters that are replaced in file names.
var unfit = regexp.MustCompile(`[^0-9A-Za-z]+`)

// profile returns the prefix of the names of a measurement's profiles.
func (r *runner) profile(c *Contest, who *Contender, round int) string {
	if r.Profiles == "" {
		return ""
	}
	return filepath.Join(r.Profiles, fmt.Sprintf("%s-%s-%d", c.Name, unfit.ReplaceAllString(who.Name, "-"), round+1))
}

// readLoad returns the processor time that the machine has used since it was booted, and the load
// average of the last minute. Values that are not available are 0.
func readLoad() (t ticks, average float64) {
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		// It fails on systems other than Linux.
		t, _ = parseTicks(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		average = parseLoadAverage(string(text))[0]
	}
	return t, average
}

// turn is one measurement of the plan.
type turn struct {
	round, contest, contender int
}

// plan returns the measurements of the given number of rounds in order. Each round has all of
// them, contest by contest, so that contenders that are compared run within seconds of each
// other. The contender that is first in a contest is last in the next round, so that the order
// rotates.
func plan(contests []Contest, rounds int) []turn {
	var out []turn
	for round := range rounds {
		for c := range contests {
			n := len(contests[c].Contenders)
			for i := range n {
				out = append(out, turn{round, c, (i + round) % n})
			}
		}
	}
	return out
}
