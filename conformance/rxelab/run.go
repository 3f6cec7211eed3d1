package rxelab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// cellLane is a lane that runs one cell at a time.
type cellLane struct{ *machine.Lane }

// run runs a cell. It returns when the lane is free again. finish completes the result; it may be
// called later and from any goroutine. The error is ErrLost, or that of the context.
func (l cellLane) run(ctx context.Context, c cell.Cell, port int, dir string,
	limit int) (finish func() report.Result, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	res := report.NewResult(c)
	failed := func(err error) (func() report.Result, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		res.Fail(err.Error())
		return func() report.Result { return res }, l.Alive()
	}
	if err := l.Apply(ctx, c.Condition); err != nil {
		return failed(fmt.Errorf("network condition: %w", err))
	}
	capt, err := l.startCapture(ctx, filepath.Join(dir, "capture.pcap"),
		fmt.Sprintf("gorxe rxelab port %d", port), limit)
	if err != nil {
		return failed(fmt.Errorf("capture: %w", err))
	}
	before := l.counters(ctx)
	server, client := l.Programs(c, port)
	begin := time.Now()
	problems, err := l.converse(ctx, c, server, client, port)
	res.Seconds = time.Since(begin).Seconds()
	for _, p := range problems {
		res.Fail(p.Error())
	}
	if early := c.Workload.Tool.TooEarly; early != "" && client != nil {
		res.Early = strings.Contains(client.Log.String(), early)
	}
	res.Rxe = moved(before, l.counters(ctx))
	if merr := capt.mark(ctx); merr != nil && err == nil {
		err = l.Alive()
	}
	writeLogs(dir, server, client, formatCounters(res.Rxe))
	return func() report.Result {
		t, err := capt.finish()
		t.Sent, t.Received = opcodesOf(&t.Summary, l.Gorxe), opcodesOf(&t.Summary, l.Rxe)
		res.SetTraffic(t, err)
		if res.Passed() {
			if err := scarce(c, t); err != nil {
				res.Fail(err.Error())
			}
		}
		return res
	}, err
}

func writeLogs(dir string, server, client *machine.Program, counters string) {
	for _, p := range []struct {
		role string
		*machine.Program
	}{{"server", server}, {"client", client}} {
		if p.Program == nil {
			continue
		}
		end := "not started"
		if p.Process != nil {
			end = vm.Describe(p.Process.Result())
		}
		text := fmt.Sprintf("# %s\n%s\n# %s\n", p.Command(), p.Log.String(), end)
		// Errors are ignored: the result of the cell is valid without its logs.
		_ = os.WriteFile(filepath.Join(dir, p.role+".log"), []byte(text), 0o644)
	}
	_ = os.WriteFile(filepath.Join(dir, "rxe-counters.txt"), []byte(counters), 0o644)
}

// scarce returns an error if too few packets were captured: a tool that does not count its own
// messages might have stopped early.
func scarce(c cell.Cell, t report.Traffic) error {
	talk := c.Workload.Tool.Talk
	if talk == nil || talk.Packets == nil || t.Limited || t.Dropped > 0 {
		return nil
	}
	if want := talk.Packets(c.Workload.Params); t.Packets < want {
		return fmt.Errorf("%d packets were captured, the whole run has at least %d", t.Packets, want)
	}
	return nil
}

// opcodesOf returns the opcodes that an end sent from any of its addresses.
func opcodesOf(s *icrc.Summary, e cell.End) []int {
	var all icrc.Opcodes
	for _, addr := range e.Addr {
		from := s.Opcodes[addr]
		all.Add(from.List()...)
	}
	return all.List()
}
