// Package soak runs unmodified clients against gorxe daemon for a long time, over links that lose
// packets, and kills some of them. In the pauses between rounds of traffic it checks that the
// daemons hold nothing for clients that have gone. [Run] returns a [Report].
package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Options configure a soak test.
type Options struct {
	Suite   string        // kernel, by Debian release
	Traffic time.Duration // total time of traffic, without boot and pauses
	Round   time.Duration // time of traffic between two pauses
	Clients int           // number of concurrent clients of each lane
	Kill    float64       // fraction of the clients that is killed
	Seed    uint64        // seed of the choice of clients
	Say     func(format string, args ...any)
}

// loss is the network condition of a soak test.
var loss = cell.Condition{Name: "loss 1 %", Direction: cell.BothWays, Netem: []string{"loss", "1%"}}

// job is one machine with a daemon on each of its lanes.
//
// The traffic comes in rounds. In the pause after each round there are no clients, and a daemon
// must return to what it held before the first client, however the clients ended; its memory use
// is then measured.
type job struct {
	Options
	o     *machine.Options
	hosts []*server

	mu     sync.Mutex
	report Report     // guarded by mu
	rnd    *rand.Rand // guarded by mu
}

// Run runs a soak test. The report lists failures; the error reports what prevented the lab from
// running.
func Run(ctx context.Context, o machine.Options, s Options) (*Report, error) {
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	o.Group = cell.Alone
	if err := o.Prepare(ctx, work); err != nil {
		return nil, err
	}
	var cells []cell.Cell
	for i := range tools {
		cells = append(cells, cell.Cell{Suite: s.Suite, Workload: cell.Workload{Tool: &tools[i]}})
	}
	if err := o.FetchPrograms(ctx, cells); err != nil {
		return nil, err
	}
	k, err := vm.FetchKernel(ctx, o.Cache, s.Suite, o.Step)
	if err != nil {
		return nil, fmt.Errorf("kernel of Debian %s: %w", s.Suite, err)
	}
	m, err := machine.Boot(ctx, &o, vm.Config{Kernel: k, CPUs: o.CPUs})
	if err != nil {
		return nil, err
	}
	run := &job{Options: s, o: &o, rnd: rand.New(rand.NewPCG(s.Seed, 0))}
	run.report = Report{
		Started: time.Now(), Kernel: report.KernelVersion{Suite: s.Suite, Release: k.Release, Package: k.Package},
		Host: host.Name(), Versions: host.Versions(ctx, o.Gorxe), Seed: s.Seed, Clients: map[string]*Visits{},
		Known: map[string]int{},
	}
	err = run.run(ctx, m)
	run.report.Complaints = m.Complaints()
	run.report.Duration = time.Since(run.report.Started)
	if err != nil {
		_ = os.WriteFile(filepath.Join(o.Artifacts, "console.log"), []byte(m.VM.Serial()), 0o644)
	}
	return &run.report, errors.Join(err, m.Close())
}

// run runs the soak test on a booted machine.
func (s *job) run(ctx context.Context, m *machine.Machine) error {
	for _, l := range m.Lanes {
		h, err := s.open(ctx, l)
		if err != nil {
			return err
		}
		s.hosts = append(s.hosts, h)
	}
	if err := s.awaitIdle(ctx); err != nil {
		return err
	}
	for _, h := range s.hosts {
		h.idle = h.last.Held()
	}
	for done := time.Duration(0); done < s.Traffic; done += s.Round {
		if err := s.round(ctx); err != nil {
			return err
		}
		if err := s.awaitIdle(ctx); err != nil {
			return err
		}
	}
	return s.close(ctx)
}

// round runs clients for the time of a round, and waits for their end.
func (s *job) round(ctx context.Context) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var first error
	until := time.Now().Add(s.Round)
	for _, h := range s.hosts {
		for range s.Clients {
			all.Go(func() {
				for time.Now().Before(until) && ctx.Err() == nil {
					if err := s.visit(ctx, h); err != nil {
						mu.Lock()
						first = errors.Join(first, err)
						mu.Unlock()
						return
					}
				}
			})
		}
	}
	all.Wait()
	return errors.Join(ctx.Err(), first)
}

// close stops the daemons as a service manager does, and the captures.
func (s *job) close(ctx context.Context) error {
	for _, h := range s.hosts {
		if err := h.stop(ctx); err != nil {
			s.fail("the daemon of lane %d: %v", h.Index, err)
		}
		sum, missed, err := h.capture.finish()
		if err != nil {
			s.fail("the capture of lane %d: %v", h.Index, err)
		}
		if h.capture.gorxe.broken(time.Time{}, nil) {
			s.fail("lane %d: gorxe misnumbered a request", h.Index)
		}
		s.mu.Lock()
		s.report.capture(&sum, missed)
		s.mu.Unlock()
		if err := h.save(s.o.Artifacts); err != nil {
			return err
		}
	}
	return nil
}

// fail records a failure.
func (s *job) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.Say("WRONG: %s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.wrong(text)
}

// draw selects the next client, and the time after which it is killed; 0: never.
func (s *job) draw() (w cell.Workload, f cell.Family, kill time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The first tool, rping, is selected in about half of the draws.
	tool := &tools[max(0, s.rnd.IntN(2*len(tools))-len(tools))]
	w, f = cell.Workload{Tool: tool, Params: tool.Runs[s.rnd.IntN(len(tool.Runs))]}, cell.Family(s.rnd.IntN(2))
	if s.rnd.Float64() < s.Kill {
		kill = 500*time.Millisecond + time.Duration(s.rnd.Int64N(int64(6*time.Second)))
	}
	return w, f, kill
}
