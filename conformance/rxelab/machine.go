package rxelab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/verbspeer"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// machine is a virtual machine with its lanes.
type machine struct {
	vm    *vm.VM
	lanes []*lane

	mu   sync.Mutex
	seen int // bytes of the console that have been searched for complaints
}

// bootMachine boots a machine, brings gorxe in and makes the lanes.
func bootMachine(ctx context.Context, o *MachineOptions, c vm.Config) (*machine, error) {
	c.Guest = o.guest
	v, err := vm.Boot(ctx, c)
	if err != nil {
		return nil, err
	}
	m := &machine{vm: v}
	if err := m.equip(ctx, o); err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.seen = len(v.Serial())
	return m, nil
}

func (m *machine) close() error { return m.vm.Close() }

func (m *machine) equip(ctx context.Context, o *MachineOptions) error {
	if w := m.vm.Info.Warnings; len(w) > 0 {
		return fmt.Errorf("kernel %s: %s", m.vm.Info.Kernel, strings.Join(w, "; "))
	}
	if err := m.bring(ctx, o); err != nil {
		return err
	}
	if _, err := m.vm.Run(ctx, "ip", "link", "set", "lo", "up"); err != nil {
		return err
	}
	for _, k := range sysctls {
		if err := m.vm.Put(ctx, k.file, 0o644, strings.NewReader(k.value)); err != nil {
			return err
		}
	}
	for _, p := range o.programs {
		if err := p.Equip(ctx, m.vm.Session); err != nil {
			return fmt.Errorf("programs of Debian %s: %w; the cache directory must not be below /tmp or /run", p.Suite, err)
		}
		if o.operations && p.Suite == newVerbs {
			if err := m.warmUp(ctx, p); err != nil {
				return err
			}
		}
	}
	for i := range o.Lanes {
		l := newLane(m.vm.Session, i)
		l.programsOf = o.programs
		if err := l.setup(ctx, o.MTU); err != nil {
			return fmt.Errorf("lane %d: %w", i, err)
		}
		if o.Group == Verbs {
			if err := l.keepOrder(ctx); err != nil {
				return fmt.Errorf("lane %d: %w", i, err)
			}
		}
		m.lanes = append(m.lanes, l)
	}
	return nil
}

// bring puts the programs of this module into the machine.
func (m *machine) bring(ctx context.Context, o *MachineOptions) error {
	for to, from := range map[string]string{gorxePath: o.Gorxe, verbsPath: o.verbs} {
		if from == "" {
			continue
		}
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		err = m.vm.Put(ctx, to, 0o755, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	if o.Group != Verbs {
		return nil
	}
	return errors.Join(
		m.vm.Put(ctx, scriptPath, 0o755, bytes.NewReader(verbspeer.Script)),
		m.vm.Put(ctx, opsPath, 0o644, bytes.NewReader(verbspeer.Ops)))
}

// warmUp lets Python compile what the script uses: with an emulated processor that takes longer than a cell waits.
func (m *machine) warmUp(ctx context.Context, p *vm.Programs) error {
	_, err := m.vm.Run(ctx, p.Command([]string{scriptPath, "-h"})...)
	return err
}

// Every address is usable from the start, in every namespace: a link-local address that comes up later would shift GID indexes.
var sysctls = []struct{ file, value string }{
	{"/proc/sys/net/core/devconf_inherit_init_net", "1"},
	{"/proc/sys/net/ipv6/conf/all/accept_dad", "0"},
	{"/proc/sys/net/ipv6/conf/default/accept_dad", "0"},
}

// complaint matches what a kernel prints when it has met a bug of its own. Stalls and soft lockups are left out: a busy host
// makes them.
var complaint = regexp.MustCompile(`(?m)^.*(BUG: unable|BUG: kernel|kernel BUG at|Oops|general protection|WARNING: CPU|Kernel panic|refcount_t|list_(add|del) corruption).*$`)

// complaints returns what the kernel complained about since the last call.
func (m *machine) complaints() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.vm.Serial()
	fresh := text[min(m.seen, len(text)):]
	m.seen = len(text)
	return complaint.FindAllString(fresh, 5)
}
