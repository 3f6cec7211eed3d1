package rxelab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

// runner runs cells on all lanes of a machine.
type runner struct {
	*machine.Machine
	o     *Options
	alone sync.RWMutex // write-locked for a cell that must run alone
}

// work runs cells on all lanes until the queue is empty, the machine is lost or ctx is done. It
// passes results to done, from several goroutines.
func (m *runner) work(ctx context.Context, q *queue, done func(report.Result)) error {
	var lanes, tails sync.WaitGroup
	errs := make([]error, len(m.Lanes))
	for i, l := range m.Lanes {
		lanes.Go(func() { errs[i] = m.serve(ctx, cellLane{l}, q, &tails, done) })
	}
	lanes.Wait()
	tails.Wait()
	return errors.Join(errs...)
}

func (m *runner) serve(ctx context.Context, l cellLane, q *queue, tails *sync.WaitGroup,
	done func(report.Result)) error {
	for ctx.Err() == nil {
		select {
		case <-m.VM.Stopped():
			return machine.ErrLost
		default:
		}
		c, port, ok := q.next()
		if !ok {
			return nil
		}
		release := m.occupy(c)
		finish, err := l.run(ctx, c, port, m.o.artifacts(c.ID()), m.o.CaptureLimit)
		release()
		if finish == nil {
			return err
		}
		bugs := m.Complaints()
		tails.Go(func() {
			r := finish()
			if ctx.Err() != nil {
				return // interrupted: there is no result
			}
			for _, b := range bugs {
				r.Fail("the kernel complained: " + b)
			}
			if errors.Is(err, machine.ErrLost) {
				r.Fail(machine.ErrLost.Error())
			}
			m.tidy(&r, len(bugs) > 0 || err != nil)
			done(r)
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// occupy waits until a cell may run concurrently with the running ones.
func (m *runner) occupy(c cell.Cell) (release func()) {
	if c.Workload.Params.Alone {
		m.alone.Lock()
		return m.alone.Unlock
	}
	m.alone.RLock()
	return m.alone.RUnlock
}

// tidy keeps the files of a failed cell and, unless KeepAll is set, removes those of a passed
// one.
func (m *runner) tidy(r *report.Result, console bool) {
	dir := m.o.artifacts(r.ID)
	if r.Passed() {
		if m.o.KeepAll {
			return
		}
		_ = os.RemoveAll(dir)
		for d := filepath.Dir(dir); d != m.o.Artifacts && os.Remove(d) == nil; d = filepath.Dir(d) {
		}
		return
	}
	_ = os.WriteFile(filepath.Join(dir, "failure.txt"), []byte(strings.Join(r.Failures, "\n")+"\n"), 0o644)
	if console {
		_ = os.WriteFile(filepath.Join(dir, "console.log"), []byte(m.VM.Serial()), 0o644)
	}
	setAside(dir)
}

// setAside renames the directory of a failed run, so that the next run of the cell does not
// overwrite it.
func setAside(dir string) {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s-failed-%d", dir, n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			_ = os.Rename(dir, to)
			return
		}
	}
}
