package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Options say what machines are made of and have.
type Options struct {
	Group     cell.Group // of the cells that run: some need more programs
	Gorxe     string     // file: the program under test, static or dynamic, for this host's Linux; empty: built from this module
	Bench     string     // file: the program of tools/bench/cmd/bench, static; empty: the machines have none
	Cache     string     // directory for kernels
	Artifacts string     // directory for what failed cells leave

	CPUs  int               // of each machine
	Lanes int               // of each machine: cells that run at a time
	MTU   int               // of the link, in bytes
	Step  func(what string) // is told that something that takes a while begins

	guest      string
	verbs      string
	operations bool                    // there are cells of package verbspeer
	Programs   map[string]*vm.Programs // of other Debian releases than the host's, by release
}

// Prepare makes sure of everything that is not the kernel's: packages, the programs, the directories.
func (o *Options) Prepare(ctx context.Context, work string) error {
	o.Step("checking the packages")
	if err := host.EnsurePackages(ctx, o.Step); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Artifacts, 0o755); err != nil {
		return err
	}
	o.Step("building the guest's agent")
	o.guest = filepath.Join(work, "guest")
	if err := host.Build(ctx, host.GuestPackage, o.guest); err != nil {
		return err
	}
	if o.Group.Operations() {
		o.Step("building the end of the operations")
		o.verbs = filepath.Join(work, "verbs")
		if err := host.Build(ctx, host.VerbsPackage, o.verbs); err != nil {
			return err
		}
	}
	if o.Gorxe == "" {
		o.Step("building gorxe")
		o.Gorxe = filepath.Join(work, "gorxe")
		return host.Build(ctx, host.GorxePackage, o.Gorxe)
	}
	return nil
}

// releasePackages are what tools of another release than the host's are from.
var releasePackages = []string{"coreutils", "ibverbs-utils", "perftest", "python3-pyverbs", "rdmacm-utils"}

// FetchPrograms gets the programs of other releases that cells need.
func (o *Options) FetchPrograms(ctx context.Context, cells []cell.Cell) error {
	for _, c := range cells {
		o.operations = o.operations || c.Workload.Tool.Kind == cell.Operation
		if release := c.Release(); release != "" {
			if err := o.FetchRelease(ctx, release); err != nil {
				return err
			}
		}
	}
	return nil
}

// FetchRelease gets the programs of a release.
func (o *Options) FetchRelease(ctx context.Context, release string) error {
	if o.Programs[release] != nil {
		return nil
	}
	p, err := vm.FetchPrograms(ctx, o.Cache, release, releasePackages, o.Step)
	if err != nil {
		return fmt.Errorf("programs of Debian %s: %w", release, err)
	}
	if o.Programs == nil {
		o.Programs = map[string]*vm.Programs{}
	}
	o.Programs[release] = p
	return nil
}
