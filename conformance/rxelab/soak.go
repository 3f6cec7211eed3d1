package rxelab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// SoakOptions say how long clients come to the daemons of a soak, and how.
type SoakOptions struct {
	Suite   string        // the kernel, by Debian release
	Traffic time.Duration // in all, without booting and lulls
	Round   time.Duration // of traffic, between two lulls
	Clients int           // of each lane at a time
	Kill    float64       // the part of the clients that is killed in the middle
	Seed    uint64        // of who comes when
	Say     func(format string, args ...any)
}

// soakLoss is what a soak's network does.
var soakLoss = Condition{Name: "loss 1 %", Direction: BothWays, Netem: []string{"loss", "1%"}}

// soak is one machine with a daemon on each of its lanes.
//
// The traffic comes in rounds. In the lull after each nobody is there, and a daemon has to come back to what it held before the
// first client, whatever became of the clients; what it holds of memory is then read.
type soak struct {
	SoakOptions
	o     *MachineOptions
	hosts []*soakHost

	mu     sync.Mutex
	report SoakReport // guarded by mu
	rnd    *rand.Rand // guarded by mu
}

// Soak lets unmodified clients come to daemons of gorxe for a time, in a network that loses packets, and kills some of them. The
// report says what failed; the error tells what kept the lab from running.
func Soak(ctx context.Context, o MachineOptions, s SoakOptions) (*SoakReport, error) {
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	o.Group = Alone
	if err := o.prepare(ctx, work); err != nil {
		return nil, err
	}
	var cells []Cell
	for i := range soakTools {
		cells = append(cells, Cell{Suite: s.Suite, Workload: Workload{Tool: &soakTools[i]}})
	}
	if err := o.fetchPrograms(ctx, cells); err != nil {
		return nil, err
	}
	k, err := vm.FetchKernel(ctx, o.Cache, s.Suite, o.Step)
	if err != nil {
		return nil, fmt.Errorf("kernel of Debian %s: %w", s.Suite, err)
	}
	m, err := bootMachine(ctx, &o, vm.Config{Kernel: k, CPUs: o.CPUs})
	if err != nil {
		return nil, err
	}
	run := &soak{SoakOptions: s, o: &o, rnd: rand.New(rand.NewPCG(s.Seed, 0))}
	run.report = SoakReport{
		Started: time.Now(), Kernel: KernelVersion{Suite: s.Suite, Release: k.Release, Package: k.Package}, Host: hostName(),
		Versions: versions(ctx, o.Gorxe), Seed: s.Seed, Clients: map[string]*Visits{}, Known: map[string]int{},
	}
	err = run.run(ctx, m)
	run.report.Complaints = m.complaints()
	run.report.Duration = time.Since(run.report.Started)
	if err != nil {
		_ = os.WriteFile(filepath.Join(o.Artifacts, "console.log"), []byte(m.vm.Serial()), 0o644)
	}
	return &run.report, errors.Join(err, m.close())
}

// run is the soak on a machine that is up.
func (s *soak) run(ctx context.Context, m *machine) error {
	for _, l := range m.lanes {
		h, err := s.open(ctx, l)
		if err != nil {
			return err
		}
		s.hosts = append(s.hosts, h)
	}
	if err := s.lull(ctx); err != nil {
		return err
	}
	for _, h := range s.hosts {
		h.idle = h.last.held()
	}
	for done := time.Duration(0); done < s.Traffic; done += s.Round {
		if err := s.round(ctx); err != nil {
			return err
		}
		if err := s.lull(ctx); err != nil {
			return err
		}
	}
	return s.close(ctx)
}

// round is traffic for the time of a round, and the end of the clients that are there then.
func (s *soak) round(ctx context.Context) error {
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

// close ends the daemons as a service manager does, and the captures.
func (s *soak) close(ctx context.Context) error {
	for _, h := range s.hosts {
		if err := h.stop(ctx); err != nil {
			s.fail("the daemon of lane %d: %v", h.index, err)
		}
		sum, missed, err := h.capture.finish()
		if err != nil {
			s.fail("the capture of lane %d: %v", h.index, err)
		}
		if h.capture.gorxe.broken(time.Time{}, nil) {
			s.fail("lane %d: gorxe misnumbered a request", h.index)
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

// fail notes what is wrong.
func (s *soak) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.Say("WRONG: %s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.wrong(text)
}

// draw chooses what the next client does, and when it is killed; 0 for never.
func (s *soak) draw() (w Workload, f Family, kill time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool := &soakTools[max(0, s.rnd.IntN(2*len(soakTools))-len(soakTools))] // half of them are the first, rping
	w, f = Workload{tool, tool.Runs[s.rnd.IntN(len(tool.Runs))]}, Family(s.rnd.IntN(2))
	if s.rnd.Float64() < s.Kill {
		kill = 500*time.Millisecond + time.Duration(s.rnd.Int64N(int64(6*time.Second)))
	}
	return w, f, kill
}
