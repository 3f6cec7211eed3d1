package rxelab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Options select what to run and how.
type Options struct {
	machine.Options
	Suites []string       // kernels, by Debian release
	Level  cell.Level     // part of the matrix
	Filter *regexp.Regexp // run only cells whose ID matches; nil: all

	CaptureLimit int  // maximum number of captured frames of a cell
	Retries      int  // maximum number of retries of a failed cell
	KeepAll      bool // keep the files of passed cells too

	Progress Progress
}

// artifacts returns the directory for a cell's files.
func (o *Options) artifacts(id string) string {
	return filepath.Join(o.Artifacts, filepath.FromSlash(id))
}

// Progress receives the progress of a run. Its methods are not called concurrently.
type Progress interface {
	Begin(k *vm.Kernel, cells int)         // the cells of a kernel start
	Done(r report.Result, done, cells int) // a cell has ended
	Again(r report.Result)                 // a cell has failed and will be retried
	Lost(k *vm.Kernel, reason error)       // a machine died and will be booted again
}

// maxBoots is the maximum number of boots of a kernel.
const maxBoots = 10

// Run runs the matrix. A failed cell is a result; the error reports what prevented the lab from
// running.
func Run(ctx context.Context, o Options) (*report.Report, error) {
	cells, err := o.cells()
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := o.Prepare(ctx, work); err != nil {
		return nil, err
	}
	if err := o.FetchPrograms(ctx, cells); err != nil {
		return nil, err
	}
	r := &report.Report{Group: o.Group, Started: time.Now(), Level: o.Level, CaptureLimit: o.CaptureLimit,
		Host: host.Name(), Versions: host.Versions(ctx, o.Gorxe)}
	for _, p := range o.Programs {
		for _, v := range p.Packages {
			r.Versions = append(r.Versions,
				host.Version{Program: fmt.Sprintf("%s (Debian %s)", v.Name, p.Suite), Version: v.Version})
		}
	}
	var all error
	for _, suite := range o.Suites {
		mine := slices.DeleteFunc(slices.Clone(cells), func(c cell.Cell) bool { return c.Suite != suite })
		if len(mine) == 0 {
			continue
		}
		if err := o.runKernel(ctx, suite, mine, r); err != nil {
			all = errors.Join(all, err)
			break
		}
	}
	r.Duration = time.Since(r.Started)
	return r, all
}

// cells returns the cells that the options select.
func (o *Options) cells() ([]cell.Cell, error) {
	cells, err := cell.Matrix(o.Group, o.Level, o.Suites)
	if err != nil {
		return nil, err
	}
	if o.Filter != nil {
		cells = slices.DeleteFunc(cells, func(c cell.Cell) bool { return !o.Filter.MatchString(c.ID()) })
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("no cell of group %s and level %s matches %q", o.Group, o.Level, o.Filter)
	}
	return cells, nil
}

// runKernel runs the cells of one kernel, on several machines if a machine dies.
func (o *Options) runKernel(ctx context.Context, suite string, cells []cell.Cell, r *report.Report) error {
	k, err := vm.FetchKernel(ctx, o.Cache, suite, o.Step)
	if err != nil {
		return fmt.Errorf("kernel of Debian %s: %w", suite, err)
	}
	r.Kernels = append(r.Kernels, report.KernelVersion{Suite: suite, Release: k.Release, Package: k.Package})
	o.Progress.Begin(k, len(cells))
	q := &queue{cells: slices.Clone(cells)}
	tries := newRetries(o.Retries)
	byID := map[string]cell.Cell{}
	for _, c := range cells {
		byID[c.ID()] = c
	}
	var mu sync.Mutex
	count := 0
	done := func(res report.Result) {
		mu.Lock()
		defer mu.Unlock()
		if tries.shouldRetry(&res) {
			q.add(byID[res.ID])
			o.Progress.Again(res)
			return
		}
		count++
		r.Results = append(r.Results, res)
		o.Progress.Done(res, count, len(cells))
	}
	for boots := 0; !q.empty(); boots++ {
		if boots == maxBoots {
			return fmt.Errorf("kernel %s: the machine died %d times", k.Release, boots)
		}
		err := o.runMachine(ctx, k, q, done)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, machine.ErrLost):
			o.Progress.Lost(k, machine.ErrLost)
		case err != nil:
			return err
		}
	}
	return nil
}

func (o *Options) runMachine(ctx context.Context, k *vm.Kernel, q *queue, done func(report.Result)) error {
	m, err := machine.Boot(ctx, &o.Options, vm.Config{Kernel: k, CPUs: o.CPUs})
	if err != nil {
		return err
	}
	r := &runner{Machine: m, o: o}
	return errors.Join(r.work(ctx, q, done), m.Close())
}
