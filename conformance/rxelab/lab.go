package rxelab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Options say what to run and how.
type Options struct {
	Group  Group
	Suites []string       // kernels, by Debian release
	Level  Level          // how much of the matrix
	Filter *regexp.Regexp // only cells whose ID it matches; nil: all

	Gorxe     string // file: the program under test, static or dynamic, for this host's Linux; empty: built from this module
	Cache     string // directory for kernels
	Artifacts string // directory for what failed cells leave

	CPUs         int  // of each machine
	Lanes        int  // cells that run at a time
	MTU          int  // of the link, in bytes
	CaptureLimit int  // frames captured of a cell
	Retries      int  // how often a cell that failed is run again
	KeepAll      bool // keep the files of cells that passed, too

	Progress Progress

	guest      string
	verbs      string
	operations bool                    // there are cells of package verbspeer
	programs   map[string]*vm.Programs // of other Debian releases than the host's, by release
}

// artifacts is the directory of a cell's files.
func (o *Options) artifacts(id string) string {
	return filepath.Join(o.Artifacts, filepath.FromSlash(id))
}

// Progress is told what happens. Its methods are not called at the same time.
type Progress interface {
	Step(what string)                // something that takes a while begins
	Begin(k *vm.Kernel, cells int)   // a kernel's cells begin
	Done(r Result, done, cells int)  // a cell has ended
	Again(r Result)                  // a cell has failed and will be run again
	Lost(k *vm.Kernel, reason error) // a machine died and is booted again
}

// maxBoots bounds how often a kernel is booted again after it died.
const maxBoots = 10

// Run runs the matrix. Cells that fail are results; the error tells what kept the lab from running.
func Run(ctx context.Context, o Options) (*Report, error) {
	cells, err := o.cells()
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := o.prepare(ctx, work); err != nil {
		return nil, err
	}
	if err := o.fetchPrograms(ctx, cells); err != nil {
		return nil, err
	}
	r := &Report{Group: o.Group, Started: time.Now(), Level: o.Level, CaptureLimit: o.CaptureLimit, Host: hostName(), Versions: versions(ctx, o.Gorxe)}
	for _, p := range o.programs {
		for _, v := range p.Packages {
			r.Versions = append(r.Versions, Version{fmt.Sprintf("%s (Debian %s)", v.Name, p.Suite), v.Version})
		}
	}
	var all error
	for _, suite := range o.Suites {
		mine := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return c.Suite != suite })
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

// cells are the cells that the options select.
func (o *Options) cells() ([]Cell, error) {
	cells, err := Matrix(o.Group, o.Level, o.Suites)
	if err != nil {
		return nil, err
	}
	if o.Filter != nil {
		cells = slices.DeleteFunc(cells, func(c Cell) bool { return !o.Filter.MatchString(c.ID()) })
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("no cell of group %s and level %s matches %q", o.Group, o.Level, o.Filter)
	}
	return cells, nil
}

// prepare makes sure of everything that is not the kernel's: packages, the programs, the directories.
func (o *Options) prepare(ctx context.Context, work string) error {
	o.Progress.Step("checking the packages")
	if err := ensurePackages(ctx, o.Progress.Step); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Artifacts, 0o755); err != nil {
		return err
	}
	o.Progress.Step("building the guest's agent")
	o.guest = filepath.Join(work, "guest")
	if err := build(ctx, guestPackage, o.guest); err != nil {
		return err
	}
	if o.Group == Verbs {
		o.Progress.Step("building the end of the operations")
		o.verbs = filepath.Join(work, "verbs")
		if err := build(ctx, verbsPackage, o.verbs); err != nil {
			return err
		}
	}
	if o.Gorxe == "" {
		o.Progress.Step("building gorxe")
		o.Gorxe = filepath.Join(work, "gorxe")
		return build(ctx, gorxePackage, o.Gorxe)
	}
	return nil
}

// releasePackages are what tools of another release than the host's are from.
var releasePackages = []string{"perftest", "python3-pyverbs", "rdmacm-utils"}

// fetchPrograms gets the programs of other releases that cells need.
func (o *Options) fetchPrograms(ctx context.Context, cells []Cell) error {
	o.programs = map[string]*vm.Programs{}
	for _, c := range cells {
		o.operations = o.operations || c.Workload.Tool.Kind == Operation
		release := c.release()
		if release == "" || o.programs[release] != nil {
			continue
		}
		p, err := vm.FetchPrograms(ctx, o.Cache, release, releasePackages, o.Progress.Step)
		if err != nil {
			return fmt.Errorf("programs of Debian %s: %w", release, err)
		}
		o.programs[release] = p
	}
	return nil
}

// runKernel runs the cells of one kernel, on as many machines as it takes.
func (o *Options) runKernel(ctx context.Context, suite string, cells []Cell, r *Report) error {
	k, err := vm.FetchKernel(ctx, o.Cache, suite, o.Progress.Step)
	if err != nil {
		return fmt.Errorf("kernel of Debian %s: %w", suite, err)
	}
	r.Kernels = append(r.Kernels, KernelVersion{Suite: suite, Release: k.Release, Package: k.Package})
	o.Progress.Begin(k, len(cells))
	q := &queue{cells: slices.Clone(cells)}
	failures := map[string][]string{} // of cells that get another try
	byID := map[string]Cell{}
	for _, c := range cells {
		byID[c.ID()] = c
	}
	var mu sync.Mutex
	count := 0
	done := func(res Result) {
		mu.Lock()
		defer mu.Unlock()
		if before := failures[res.ID]; !res.Passed() && len(before) < o.Retries {
			failures[res.ID] = append(before, strings.Join(res.Failures, "; "))
			q.add(byID[res.ID])
			o.Progress.Again(res)
			return
		}
		res.Before = failures[res.ID]
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
		case errors.Is(err, errLost):
			o.Progress.Lost(k, errLost)
		case err != nil:
			return err
		}
	}
	return nil
}

func (o *Options) runMachine(ctx context.Context, k *vm.Kernel, q *queue, done func(Result)) error {
	m, err := bootMachine(ctx, o, vm.Config{Kernel: k, CPUs: o.CPUs})
	if err != nil {
		return err
	}
	return errors.Join(m.work(ctx, o, q, done), m.close())
}

// Save writes the report for Load.
func (r *Report) Save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

// Load reads reports that Save wrote and puts them together: one of each kernel or condition, say. Where two have the same cell,
// the one of the later file stands and remembers how the other failed. Every version that took part is named.
func Load(files ...string) (*Report, error) {
	var all *Report
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var r Report
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if all == nil {
			all = &r
			continue
		}
		if all.group() != r.group() {
			return nil, fmt.Errorf("%s is of group %s, the files before it of group %s: render them apart", f, r.group(), all.group())
		}
		all.add(&r)
	}
	if all == nil {
		return nil, errors.New("no report to load")
	}
	return all, nil
}

// add takes over a later report.
func (r *Report) add(later *Report) {
	r.Duration += later.Duration
	if !slices.Contains(strings.Split(string(r.Level), ", "), string(later.Level)) {
		r.Level += ", " + later.Level
	}
	for _, k := range later.Kernels {
		if !slices.Contains(r.Kernels, k) {
			r.Kernels = append(r.Kernels, k)
		}
	}
	for _, v := range later.Versions {
		if !slices.Contains(r.Versions, v) {
			r.Versions = append(r.Versions, v)
		}
	}
	again := map[string]int{}
	for i, c := range later.Results {
		again[c.ID] = i
	}
	r.Results = slices.DeleteFunc(r.Results, func(c Result) bool {
		i, ok := again[c.ID]
		if ok {
			tries := c.Before
			if !c.Passed() {
				tries = append(tries, strings.Join(c.Failures, "; "))
			}
			later.Results[i].Before = append(tries, later.Results[i].Before...)
		}
		return ok
	})
	r.Results = append(r.Results, later.Results...)
}
