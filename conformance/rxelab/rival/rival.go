// Package rival compares gorxe with rxe: in two virtual machines, over the same interfaces,
// alternately. It implements bench.Ground for package tools/bench, which measures in the same way
// on the host. pairOfMachines is the ground, a side is one of its machines.
package rival

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/tools/bench"
	"github.com/gorxe/gorxe/tools/bench/cores"
)

// Options configure a comparison with rxe.
type Options struct {
	Suite    string         // kernel, by Debian release
	Rounds   int            // number of measurements of each contender
	Seconds  int            // measured seconds of a measurement
	Again    int            // maximum number of repetitions of disturbed measurements
	Links    []string       // links of gorxe
	Only     *regexp.Regexp // contenders to measure, as contest/contender; nil: all
	Profiles string         // directory for CPU profiles of gorxe; "": none
	Progress func(s bench.Sample, n, all int)
	LeftOut  func(l bench.Left)
}

// Contests returns the contests to measure.
func (r *Options) Contests() ([]bench.Contest, error) {
	for _, l := range r.Links {
		if !slices.Contains(Links(), l) {
			return nil, fmt.Errorf("link %q: there is %s", l, strings.Join(Links(), ", "))
		}
	}
	all := contestsOver(r.Links)
	for i := range all {
		if r.Only != nil {
			all[i].Only(func(contest, contender string) bool { return r.Only.MatchString(contest + "/" + contender) })
		}
	}
	all = slices.DeleteFunc(all, func(c bench.Contest) bool { return len(c.Contenders) == 0 })
	if len(all) == 0 {
		return nil, fmt.Errorf("%q matches no contender", r.Only)
	}
	return all, nil
}

// messages is the approximate number of messages per second of a latency test between emulated
// machines.
const messages = 500

// Run measures gorxe and rxe in two virtual machines, over the same interfaces, alternately.
func Run(ctx context.Context, o machine.Options, r Options) (*bench.Report, error) {
	contests, err := r.Contests()
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	o.Group, o.Lanes = cell.Alone, 0
	if err := o.Prepare(ctx, work); err != nil {
		return nil, err
	}
	o.Step("building bench")
	o.Bench = filepath.Join(work, "bench")
	if err := host.Build(ctx, host.BenchPackage, o.Bench); err != nil {
		return nil, err
	}
	k, err := vm.FetchKernel(ctx, o.Cache, r.Suite, o.Step)
	if err != nil {
		return nil, fmt.Errorf("kernel of Debian %s: %w", r.Suite, err)
	}
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	p, err := bootPair(ctx, &o, k)
	if err != nil {
		return nil, err
	}
	p.lost = lost
	report, err := bench.Measure(ctx, bench.Options{
		Gorxe: cell.GorxePath, Bench: cell.BenchPath, Contests: contests, Rounds: r.Rounds, Seconds: r.Seconds,
		Messages: messages, Again: r.Again,
		Profiles: r.Profiles, Words: &words, Progress: r.Progress, LeftOut: r.LeftOut,
	}, p)
	if err != nil {
		p.saveConsoles(o.Artifacts)
	} else {
		report.Machine.Revision = host.GorxeVersion(ctx, o.Gorxe)
	}
	return report, errors.Join(err, p.close())
}

// words are the texts about the machines in the report.
var words = bench.GroundText{
	Title: "Performance beside rxe",
	Intro: "Linux rdma_rxe and gorxe between the same two virtual machines, over the same virtio-net interfaces, in turn and in one run: `make\n" +
		"bench-vm`. QEMU emulates the processors in software, which makes everything slow, and not everything by the same factor. So only\n" +
		"the ratios below mean something, and they are those of this kind of machine. The processors are without PCLMULQDQ, which\n" +
		"emulation makes slower than tables: both sides look the CRC up in tables. `go run\n" +
		"./tools/bench/cmd/bench -render` makes this page again of what was measured.",
	Path:  "virtio-net of two QEMU machines with one processor each, joined by a Unix socket that offloads nothing",
	Host:  "machine",
	Cores: "the QEMU processes of the server's and of\nthe client's machine used, of one each, while their tools ran",
}

// pairOfMachines is the bench.Ground of [Run].
type pairOfMachines struct {
	sides  [2]*side // server and client
	cores  []int
	cable  *vm.Cable
	dir    string
	kernel *vm.Kernel
	lost   context.CancelCauseFunc // cancels the run
}

// bootPair boots two machines that are connected by two cables.
func bootPair(ctx context.Context, o *machine.Options, k *vm.Kernel) (*pairOfMachines, error) {
	first, err := cores.PerEnd(nil)
	if err != nil {
		return nil, err
	}
	p := &pairOfMachines{cores: first, kernel: k}
	if p.dir, err = os.MkdirTemp("", "rxelab-wire-"); err != nil {
		return nil, err
	}
	if p.cable, err = vm.NewCable(p.dir, 1); err != nil {
		return nil, errors.Join(err, p.close())
	}
	for i := range p.sides {
		o.Step(fmt.Sprintf("booting machine %d of 2, Linux %s", i+1, k.Release))
		if p.sides[i], err = p.bootSide(ctx, o, i); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// bootSide boots a machine. The first machine makes the socket that the second one connects to.
func (p *pairOfMachines) bootSide(ctx context.Context, o *machine.Options, index int) (*side, error) {
	s := newSide(index)
	c := vm.Config{Kernel: p.kernel, CPUs: 1, Cores: p.cores[index : index+1], Without: badlyEmulated}
	for w, e := range s.ends {
		n := vm.NIC{MAC: e.mac, MTU: mtu, Socket: filepath.Join(p.dir, "wire.sock"), Listen: index == 0}
		if w == lossyWire {
			n.Socket, n.Listen = p.cable.Sockets()[index], false
		}
		c.NICs = append(c.NICs, n)
	}
	var err error
	if s.Machine, err = machine.Boot(ctx, o, c); err != nil {
		return nil, err
	}
	if err := s.name(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

const mtu = 9000

// badlyEmulated are instructions that QEMU emulates bit by bit, about a hundred times slower than
// a processor. They would decide the comparison: the ICRC would take a third of the time. Without
// them, both rxe and gorxe use tables.
var badlyEmulated = []string{"pclmulqdq"}

func (p *pairOfMachines) close() error {
	var errs []error
	for _, s := range p.sides {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	if p.cable != nil {
		errs = append(errs, p.cable.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// saveConsoles saves the output of the kernels.
func (p *pairOfMachines) saveConsoles(dir string) {
	for _, s := range p.sides {
		// Errors are ignored: the console is only an aid.
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("console-%d.log", s.index)), []byte(s.VM.Serial()), 0o644)
	}
}

// Describe implements bench.Ground.
func (p *pairOfMachines) Describe(m *bench.Machine) {
	m.MTU = mtu
	m.CoreOf = [2]int{p.cores[0], p.cores[1]}
	m.Tools["kernel of the machines"] = fmt.Sprintf("%s, Debian %s", p.kernel.Release, p.kernel.Suite)
	if out, err := exec.Command(vm.Emulator, "--version").Output(); err == nil {
		first, _, _ := strings.Cut(string(out), "\n")
		m.Tools["emulator"] = first
	}
}

// Prepare implements bench.Ground: it moves the interfaces to the users of the job and sets the
// loss of the cable.
func (p *pairOfMachines) Prepare(ctx context.Context, j *bench.Job) error {
	wire := plainWire
	if j.Contest.Loss > 0 {
		wire = lossyWire
	}
	p.cable.SetLoss(j.Contest.Loss)
	var both sync.WaitGroup
	var errs [2]error
	for i, s := range p.sides {
		to := byRxe
		if j.Gorxe(i) {
			to = byGorxe
		}
		both.Go(func() { errs[i] = s.give(ctx, to) })
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		err = fmt.Errorf("giving the interfaces to the next contender: %w", err)
		p.lost(err)
		return err
	}
	for i, s := range p.sides {
		e := s.ends[wire]
		j.Ends[i] = bench.End{Address: e.Addr[cell.IPv4].String(), Device: e.Device, GID: e.GID[cell.IPv4]}
	}
	return nil
}
