package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// limit limits a run of all cases.
const limit = 30 * time.Minute

// The ends of the cable between the machine, with rxe, and the tester.
const (
	netdev    = "wire0" // in the machine
	deviceMAC = "02:00:00:00:91:01"
	testerMAC = "02:00:00:00:91:02"
	mtu       = 4200 // of the interfaces, in bytes
)

var (
	deviceEnd = newEnd("rxe0", 1)
	testerEnd = newEnd("", 2)
)

func newEnd(device string, number int) cell.End {
	return cell.End{Device: device, Addr: map[cell.Family]netip.Addr{
		cell.IPv4: netip.MustParseAddr(fmt.Sprintf("198.18.91.%d", number)),
		cell.IPv6: netip.MustParseAddr(fmt.Sprintf("fd00:18:91::%d", number)),
	}}
}

// guest is a machine with rxe, at one end of a cable.
type guest struct {
	*machine.Machine
	*starter
	dir string
	gid int
	// python has Python and pyverbs of the release that has all operations.
	python *vm.Programs
}

// testRxe boots a kernel once and tests its rxe count times.
func (o *Options) testRxe(ctx context.Context, m *machine.Options, c Column,
	count int) (reports []*report.Report, err error) {
	k, err := vm.FetchKernel(ctx, m.Cache, c.Suite, m.Step)
	if err != nil {
		return nil, fmt.Errorf("kernel of Debian %s: %w", c.Suite, err)
	}
	m.Step("booting Linux " + k.Release)
	if err := m.FetchRelease(ctx, cell.NewVerbs); err != nil {
		return nil, err
	}
	g := &guest{python: m.Programs[cell.NewVerbs]}
	if g.dir, err = os.MkdirTemp("", "conform-"); err != nil { // short: the path of a socket must fit in 108 bytes
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	nic := vm.NIC{MAC: deviceMAC, MTU: mtu, Socket: g.cable(), Listen: true}
	g.Machine, err = machine.Boot(ctx, m, vm.Config{Kernel: k, CPUs: m.CPUs, NICs: []vm.NIC{nic}})
	if err != nil {
		return nil, err
	}
	if err := g.equip(ctx); err != nil {
		return nil, err
	}
	for n := range count {
		m.Step(fmt.Sprintf("testing %s, run %d of %d", c.Name, n+1, count))
		r, err := o.overCable(ctx, m, g, c, n)
		for _, complaint := range g.Complaints() {
			o.say("the kernel of %s complains: %s", c.Name, complaint)
		}
		if err != nil {
			// An error is ignored: the console is only an aid.
			_ = os.WriteFile(filepath.Join(m.Artifacts, c.Key()+"-console.log"), []byte(g.VM.Serial()), 0o644)
			return reports, fmt.Errorf("%s: %w", c.Name, err)
		}
		o.say("%s", summary(r))
		reports = append(reports, r)
	}
	return reports, nil
}

func (g *guest) cable() string { return filepath.Join(g.dir, "cable") }
func (g *guest) start() string { return filepath.Join(g.dir, "start") }

func (g *guest) close() error {
	var errs []error
	if g.Machine != nil {
		errs = append(errs, g.Machine.Close())
	}
	if g.starter != nil {
		errs = append(errs, g.starter.close())
	}
	return errors.Join(append(errs, os.RemoveAll(g.dir))...)
}

// otherDrivers removes the descriptions of the drivers of other devices in the machine: libibverbs
// would load all of them in each program.
const otherDrivers = "cd /etc/libibverbs.d && for f in *; do [ $f = rxe.driver ] || rm $f; done"

// equip makes rxe's device on the interface of the cable.
func (g *guest) equip(ctx context.Context) error {
	const dir = "/sys/class/net/"
	files, err := g.VM.ReadFiles(ctx, dir+"*/address")
	if err != nil {
		return err
	}
	name := ""
	for file, mac := range files {
		if strings.TrimSpace(mac) == deviceMAC {
			name = strings.TrimSuffix(strings.TrimPrefix(file, dir), "/address")
		}
	}
	lines := append([]string{fmt.Sprintf("link set %s name %s", name, netdev)},
		machine.Addressing(netdev, deviceEnd, testerEnd, testerMAC)...)
	for _, l := range lines {
		if _, err := g.VM.Run(ctx, append([]string{"ip"}, strings.Fields(l)...)...); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{{"sh", "-c", otherDrivers},
		{"rdma", "link", "add", deviceEnd.Device, "type", "rxe", "netdev", netdev}} {
		if _, err := g.VM.Run(ctx, argv...); err != nil {
			return err
		}
	}
	if err := g.awaitGID(ctx); err != nil {
		return err
	}
	g.starter, err = newStarter(g.VM.Session, g.start())
	if err == nil {
		g.starter.python = g.python
	}
	return err
}

// awaitGID waits until the kernel has added the GIDs of the addresses, shortly after it has made
// the device.
func (g *guest) awaitGID(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, machine.GraceDone)
	defer cancel()
	for {
		gids, err := machine.GIDs(ctx, g.VM.Session, deviceEnd)
		if err == nil {
			g.gid = gids[cell.IPv4]
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// startTime is the time that a program has until it accepts a connection: on an emulated processor
// it takes seconds.
const startTime = "60s"

// overCable runs gorxe conform once, in a network namespace with the other end of the cable.
func (o *Options) overCable(ctx context.Context, m *machine.Options, g *guest, c Column,
	n int) (*report.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := tester{Cable: g.cable(), IP: append([]string{"link set lo up",
		fmt.Sprintf("link set %s address %s mtu %d", tap, testerMAC, mtu)},
		machine.Addressing(tap, testerEnd, deviceEnd, deviceMAC)...)}
	start := fmt.Sprintf("%s %s %s", self, StarterCommand, g.start())
	t.Argv = append([]string{m.Gorxe}, o.arguments(c, deviceEnd.Addr[cell.IPv4].String(),
		testerEnd.Addr[cell.IPv4].String(), "raw", start, strconv.Itoa(g.gid))...)
	t.Argv = append(t.Argv, "--dut-device", deviceEnd.Device, "--dut-wait", startTime, "--timeout", "3s",
		"--silence", "500ms")
	return o.read(m, c, n, func(out, log io.Writer) error { return t.run(ctx, out, log) })
}
