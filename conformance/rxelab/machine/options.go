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

// Options configure machines.
type Options struct {
	Group cell.Group // group of the cells to run; some need more programs
	// Gorxe is the path of the program under test, static, or dynamic for this host's Linux; "":
	// built from this module.
	Gorxe     string
	Bench     string // path of tools/bench/cmd/bench, static; "": not available
	Cache     string // directory for kernels
	Artifacts string // directory for the files of failed cells

	CPUs  int               // number of processors of each machine
	Lanes int               // number of lanes of each machine, and so of concurrent cells
	MTU   int               // MTU of the link in bytes
	Step  func(what string) // reports the start of a step that takes a while

	guest      string
	verbs      string
	operations bool                    // there are cells of package verbspeer
	Programs   map[string]*vm.Programs // programs of Debian releases, by release
}

// Prepare prepares everything except the kernel: packages, programs, directories.
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

// releasePackages are the packages with the tools of another release than the host's.
var releasePackages = []string{"coreutils", "ibverbs-utils", "perftest", "python3-pyverbs", "rdmacm-utils"}

// FetchPrograms fetches the programs of other releases that cells need.
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

// FetchRelease fetches the programs of a release.
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
