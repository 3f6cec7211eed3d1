package rxelab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// MachineOptions say what machines are made of and have.
type MachineOptions struct {
	Group     Group  // of the cells that run: some need more programs
	Gorxe     string // file: the program under test, static or dynamic, for this host's Linux; empty: built from this module
	Cache     string // directory for kernels
	Artifacts string // directory for what failed cells leave

	CPUs  int               // of each machine
	Lanes int               // of each machine: cells that run at a time
	MTU   int               // of the link, in bytes
	Step  func(what string) // is told that something that takes a while begins

	guest      string
	verbs      string
	operations bool                    // there are cells of package verbspeer
	programs   map[string]*vm.Programs // of other Debian releases than the host's, by release
}

// prepare makes sure of everything that is not the kernel's: packages, the programs, the directories.
func (o *MachineOptions) prepare(ctx context.Context, work string) error {
	o.Step("checking the packages")
	if err := ensurePackages(ctx, o.Step); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Artifacts, 0o755); err != nil {
		return err
	}
	o.Step("building the guest's agent")
	o.guest = filepath.Join(work, "guest")
	if err := build(ctx, guestPackage, o.guest); err != nil {
		return err
	}
	if o.Group == Verbs {
		o.Step("building the end of the operations")
		o.verbs = filepath.Join(work, "verbs")
		if err := build(ctx, verbsPackage, o.verbs); err != nil {
			return err
		}
	}
	if o.Gorxe == "" {
		o.Step("building gorxe")
		o.Gorxe = filepath.Join(work, "gorxe")
		return build(ctx, gorxePackage, o.Gorxe)
	}
	return nil
}

// releasePackages are what tools of another release than the host's are from.
var releasePackages = []string{"perftest", "python3-pyverbs", "rdmacm-utils"}

// fetchPrograms gets the programs of other releases that cells need.
func (o *MachineOptions) fetchPrograms(ctx context.Context, cells []Cell) error {
	o.programs = map[string]*vm.Programs{}
	for _, c := range cells {
		o.operations = o.operations || c.Workload.Tool.Kind == Operation
		release := c.release()
		if release == "" || o.programs[release] != nil {
			continue
		}
		p, err := vm.FetchPrograms(ctx, o.Cache, release, releasePackages, o.Step)
		if err != nil {
			return fmt.Errorf("programs of Debian %s: %w", release, err)
		}
		o.programs[release] = p
	}
	return nil
}
