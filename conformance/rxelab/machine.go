package rxelab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	alone sync.RWMutex // locked for a cell that runs alone

	mu   sync.Mutex
	seen int // bytes of the console that have been searched for complaints
}

// bootMachine boots a machine, brings gorxe in and makes the lanes.
func bootMachine(ctx context.Context, o *Options, c vm.Config) (*machine, error) {
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

func (m *machine) equip(ctx context.Context, o *Options) error {
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
func (m *machine) bring(ctx context.Context, o *Options) error {
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

// work runs cells on all lanes until the queue is empty, the machine is lost or the context ends. Results go to done, from
// several goroutines.
func (m *machine) work(ctx context.Context, o *Options, q *queue, done func(Result)) error {
	var lanes, tails sync.WaitGroup
	errs := make([]error, len(m.lanes))
	for i, l := range m.lanes {
		lanes.Go(func() { errs[i] = m.serve(ctx, o, l, q, &tails, done) })
	}
	lanes.Wait()
	tails.Wait()
	return errors.Join(errs...)
}

func (m *machine) serve(ctx context.Context, o *Options, l *lane, q *queue, tails *sync.WaitGroup, done func(Result)) error {
	for ctx.Err() == nil {
		select {
		case <-m.vm.Stopped():
			return errLost
		default:
		}
		c, port, ok := q.next()
		if !ok {
			return nil
		}
		release := m.occupy(c)
		finish, err := l.run(ctx, c, port, o.artifacts(c.ID()), o.CaptureLimit)
		release()
		if finish == nil {
			return err
		}
		bugs := m.complaints()
		tails.Go(func() {
			r := finish()
			if ctx.Err() != nil {
				return // cut off: no result
			}
			for _, b := range bugs {
				r.fail("the kernel complained: " + b)
			}
			if errors.Is(err, errLost) {
				r.fail(errLost.Error())
			}
			m.tidy(&r, o, len(bugs) > 0 || err != nil)
			done(r)
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// occupy waits until a cell may run beside those that do.
func (m *machine) occupy(c Cell) (release func()) {
	if c.Workload.Params.Alone {
		m.alone.Lock()
		return m.alone.Unlock
	}
	m.alone.RLock()
	return m.alone.RUnlock
}

// tidy keeps the files of a failed cell and, unless all are wanted, removes those of another.
func (m *machine) tidy(r *Result, o *Options, console bool) {
	dir := o.artifacts(r.ID)
	if r.Passed() {
		if o.KeepAll {
			return
		}
		_ = os.RemoveAll(dir)
		for d := filepath.Dir(dir); d != o.Artifacts && os.Remove(d) == nil; d = filepath.Dir(d) {
		}
		return
	}
	_ = os.WriteFile(filepath.Join(dir, "failure.txt"), []byte(strings.Join(r.Failures, "\n")+"\n"), 0o644)
	if console {
		_ = os.WriteFile(filepath.Join(dir, "console.log"), []byte(m.vm.Serial()), 0o644)
	}
	setAside(dir)
}

// setAside gives the files of a failed run a name that the next run of the cell does not use.
func setAside(dir string) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s-failed-%d", dir, n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			_ = os.Rename(dir, to)
			return
		}
	}
}
