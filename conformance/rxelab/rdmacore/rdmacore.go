// Package rdmacore runs rdma-core's own tests on Linux rxe and stores the results, as a reference
// for gorxe's results.
package rdmacore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// Options configure where the tests run and where their results are stored.
type Options struct {
	Suites []string // kernels, by Debian release
	Dir    string   // directory with Script, also for the results
	Say    func(format string, args ...any)
}

const (
	// Script is the name of the file that runs the tests.
	Script = "run.py"
	// tests is the directory of the tests in Debian's package python3-pyverbs.
	tests     = "/usr/share/doc/rdma-core/tests"
	pyverbs   = "python3-pyverbs"
	guestFile = "/run/rxelab/rdma-core-tests.py"
	timeLimit = 30 * time.Minute // limit for all tests, on an emulated processor
)

// A release is a version of rdma-core with its programs.
type release struct {
	version  string // version of the Debian package
	programs *vm.Programs
}

// Run runs the tests of the host's rdma-core and of that of Debian trixie on the rxe of each
// kernel, and writes a file for each to a subdirectory of Options.Dir, for example
// rdma-core-56/rxe-6.12.txt.
func Run(ctx context.Context, o machine.Options, r Options) error {
	script, err := os.ReadFile(filepath.Join(r.Dir, Script))
	if err != nil {
		return fmt.Errorf("the program that runs rdma-core's tests: %w", err)
	}
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	o.Group, o.Lanes = cell.Core, 1
	if err := o.Prepare(ctx, work); err != nil {
		return err
	}
	releases, err := fetch(ctx, &o)
	if err != nil {
		return err
	}
	for _, suite := range r.Suites {
		k, err := vm.FetchKernel(ctx, o.Cache, suite, o.Step)
		if err != nil {
			return fmt.Errorf("kernel of Debian %s: %w", suite, err)
		}
		for _, rel := range releases {
			if err := r.test(ctx, &o, k, rel, script); err != nil {
				return fmt.Errorf("rdma-core %s on Linux %s: %w", rel.version, k.Release, err)
			}
		}
	}
	return nil
}

// fetch makes the tests of both releases available.
func fetch(ctx context.Context, o *machine.Options) ([]release, error) {
	version, err := host.PackageVersion(ctx, pyverbs)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(tests); err != nil {
		return nil, fmt.Errorf("%w; the package %s has it", err, pyverbs)
	}
	if err := o.FetchRelease(ctx, cell.NewVerbs); err != nil {
		return nil, err
	}
	p := o.Programs[cell.NewVerbs]
	for _, pkg := range p.Packages {
		if pkg.Name == pyverbs {
			return []release{{version, nil}, {pkg.Version, p}}, nil
		}
	}
	return nil, fmt.Errorf("the programs of Debian %s lack %s", p.Suite, pyverbs)
}

// test runs the tests of a release in a new machine, so that damage by one test run does not
// affect another release.
func (r *Options) test(ctx context.Context, o *machine.Options, k *vm.Kernel, rel release, script []byte) (err error) {
	r.Say("rdma-core %s on rxe of Linux %s", rel.version, k.Release)
	m, err := machine.Boot(ctx, o, vm.Config{Kernel: k, CPUs: o.CPUs})
	if err != nil {
		return err
	}
	defer func() {
		if e := m.Close(); err == nil {
			err = e
		}
	}()
	if err := m.VM.Put(ctx, guestFile, 0o644, bytes.NewReader(script)); err != nil {
		return err
	}
	l := m.Lanes[0]
	argv := []string{
		"/usr/bin/python3", guestFile, tests, l.Rxe.Device, strconv.Itoa(l.Rxe.GID[cell.IPv4]),
		l.Rxe.Addr[cell.IPv4].String(),
	}
	if rel.programs != nil {
		argv = rel.programs.Command(argv)
	}
	out, err := run(ctx, m.VM.Session, argv)
	for _, c := range m.Complaints() {
		r.Say("the kernel complained: %s", c)
	}
	name := fmt.Sprintf("rdma-core-%s-rxe-%s", version(rel.version, 1), version(k.Release, 2))
	log := filepath.Join(o.Artifacts, name+".log")
	if werr := os.WriteFile(log, []byte(out+"\n# console\n"+m.VM.Serial()), 0o644); err == nil {
		err = werr
	}
	if err != nil {
		return fmt.Errorf("%w; see %s", err, log)
	}
	t, err := parse(out)
	if err != nil {
		return fmt.Errorf("%w; see %s", err, log)
	}
	r.Say("%s", t.summary())
	dir := filepath.Join(r.Dir, "rdma-core-"+version(rel.version, 1))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, "rxe-"+version(k.Release, 2)+".txt")
	head := fmt.Sprintf("# rdma-core %s on rxe of Linux %s, by make interop-rdma-core\n", rel.version, k.Release)
	return os.WriteFile(file, []byte(head+t.text()), 0o644)
}

// run runs a program in the machine and returns its output.
func run(ctx context.Context, s *vm.Session, argv []string) (string, error) {
	var out transcript.Buffer
	p, err := s.Start(wire.Command{Argv: argv, Timeout: timeLimit}, &out, &out)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Signal(vm.Kill) // the machine ends anyway
		return out.String(), ctx.Err()
	}
	if res := p.Result(); res.Code != 0 {
		return out.String(), fmt.Errorf("%s: %s", strings.Join(argv, " "), vm.Describe(res))
	}
	return out.String(), nil
}

// version returns the first numbers of a version: 6.12 for 6.12.41+deb13-amd64.
func version(full string, numbers int) string {
	parts := strings.SplitN(full, ".", numbers+1)
	return strings.Join(parts[:min(numbers, len(parts))], ".")
}
