// Package machine boots the virtual machines of the lab and runs programs in them.
//
// A [Machine] has several lanes. A [Lane] is a link between rxe and gorxe, under a network
// condition. A [Program] is one end of what runs on it. Package machine knows cells, but neither
// runs nor judges them. Machine.mu guards the search of the console; a lane is used by one
// goroutine at a time.
package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/verbspeer"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Machine is a virtual machine with its lanes.
type Machine struct {
	VM    *vm.VM
	Lanes []*Lane

	mu   sync.Mutex
	seen int // number of bytes of the console that were searched for complaints; guarded by mu
}

// Boot boots a machine, copies the programs of this module into it and makes the lanes.
func Boot(ctx context.Context, o *Options, c vm.Config) (*Machine, error) {
	c.Guest = o.guest
	v, err := vm.Boot(ctx, c)
	if err != nil {
		return nil, err
	}
	m := &Machine{VM: v}
	if err := m.equip(ctx, o); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.seen = len(v.Serial())
	return m, nil
}

// Close ends the machine.
func (m *Machine) Close() error { return m.VM.Close() }

func (m *Machine) equip(ctx context.Context, o *Options) error {
	if w := m.VM.Info.Warnings; len(w) > 0 {
		return fmt.Errorf("kernel %s: %s", m.VM.Info.Kernel, strings.Join(w, "; "))
	}
	if err := m.bring(ctx, o); err != nil {
		return err
	}
	if _, err := m.VM.Run(ctx, "ip", "link", "set", "lo", "up"); err != nil {
		return err
	}
	for _, k := range sysctls {
		if err := m.VM.Put(ctx, k.file, 0o644, strings.NewReader(k.value)); err != nil {
			return err
		}
	}
	for _, p := range o.Programs {
		if err := p.Equip(ctx, m.VM.Session); err != nil {
			return fmt.Errorf("programs of Debian %s: %w; the cache directory must not be below /tmp or /run",
				p.Suite, err)
		}
		if o.operations && p.Suite == cell.NewVerbs {
			if err := m.warmUp(ctx, p); err != nil {
				return err
			}
		}
	}
	for i := range o.Lanes {
		l := newLane(m.VM.Session, i)
		l.ProgramsOf = o.Programs
		if err := l.setup(ctx, o.MTU); err != nil {
			return fmt.Errorf("lane %d: %w", i, err)
		}
		if o.Group.Operations() {
			if err := l.keepOrder(ctx); err != nil {
				return fmt.Errorf("lane %d: %w", i, err)
			}
		}
		m.Lanes = append(m.Lanes, l)
	}
	return nil
}

// bring copies the programs of this module into the machine.
func (m *Machine) bring(ctx context.Context, o *Options) error {
	for to, from := range map[string]string{
		cell.GorxePath: o.Gorxe, cell.VerbsPath: o.verbs, cell.BenchPath: o.Bench,
	} {
		if from == "" {
			continue
		}
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		err = m.VM.Put(ctx, to, 0o755, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	if !o.Group.Operations() {
		return nil
	}
	return errors.Join(
		m.VM.Put(ctx, cell.ScriptPath, 0o755, bytes.NewReader(verbspeer.Script)),
		m.VM.Put(ctx, cell.OpsPath, 0o644, bytes.NewReader(verbspeer.Ops)))
}

// warmUp makes Python compile the modules of the script: on an emulated processor that takes
// longer than a cell's timeout.
func (m *Machine) warmUp(ctx context.Context, p *vm.Programs) error {
	_, err := m.VM.Run(ctx, p.Command([]string{cell.ScriptPath, "-h"})...)
	return err
}

// sysctls make every address usable immediately, in every namespace: a link-local address that
// appears later would shift GID indexes.
var sysctls = []struct{ file, value string }{
	{"/proc/sys/net/core/devconf_inherit_init_net", "1"},
	{"/proc/sys/net/ipv6/conf/all/accept_dad", "0"},
	{"/proc/sys/net/ipv6/conf/default/accept_dad", "0"},
}

// complaint matches what a kernel prints about its own bugs. It excludes stalls and soft lockups,
// which a busy host causes.
var complaint = regexp.MustCompile(`(?m)^.*(BUG: unable|BUG: kernel|kernel BUG at|Oops|general protection|WARNING: CPU|Kernel panic|refcount_t|list_(add|del) corruption).*$`)

// Complaints returns the complaints of the kernel since the last call.
func (m *Machine) Complaints() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.VM.Serial()
	fresh := text[min(m.seen, len(text)):]
	m.seen = len(text)
	return complaint.FindAllString(fresh, 5)
}
