package rxelab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// errLost says that the machine does not answer any more: what a cell found before is no result.
var errLost = errors.New("the virtual machine is lost")

const (
	graceFailed = 3 * time.Second  // for the other end, when one has failed
	graceDone   = 20 * time.Second // for the other end, when one is done
	graceKill   = 15 * time.Second // for the agent to report a process that was killed
)

// program is one end of a cell while it runs.
type program struct {
	name string
	argv []string
	in   string     // network namespace
	out  transcript // its result
	log  transcript // all that it prints, in order
	p    *vm.Process
}

// command is the program as a person would start it.
func (p *program) command() string {
	line := strings.Join(p.argv, " ")
	if p.in != "" {
		line = "ip netns exec " + p.in + " " + line
	}
	return line
}

func (p *program) start(s *vm.Session, timeout time.Duration, port int) (err error) {
	p.p, err = s.Start(wire.Command{Argv: p.argv, Netns: p.in, Timeout: timeout, ListenPort: port}, io.MultiWriter(&p.out, &p.log), &p.log)
	return err
}

// verdict is what is wrong with the way the program ended.
func (p *program) verdict(c Cell, measures bool) error {
	if r := p.p.Result(); r.Code != 0 {
		return fmt.Errorf("%s: %s: %s", p.name, vm.Describe(r), lastLines(p.log.String()))
	}
	if err := c.checkOutput(p.out.String(), measures); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func lastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// programs returns the two ends of a cell.
func (l *lane) programs(c Cell, port int) (server, client *program) {
	stock := &program{name: c.Workload.Tool.Name}
	gorxe := &program{name: "gorxe", in: l.netns}
	server, client = stock, gorxe
	if c.Role == Client {
		stock.argv, gorxe.argv = c.stock(l.rxe, port, ""), c.gorxe(l.gorxe, port, c.host(l.rxe))
	} else {
		stock.argv, gorxe.argv = c.stock(l.rxe, port, c.host(l.gorxe)), c.gorxe(l.gorxe, port, "")
		server, client = gorxe, stock
	}
	if p := l.programsOf[c.Workload.Tool.Release]; p != nil {
		stock.argv = p.Command(stock.argv)
	}
	return server, client
}

// run runs a cell. It returns when the lane is free again; finish, called later and from any goroutine, completes the result.
// The error is errLost, or that of the context.
func (l *lane) run(ctx context.Context, c Cell, port int, dir string, limit int) (finish func() Result, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	res := newResult(c)
	failed := func(err error) (func() Result, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		res.fail(err.Error())
		return func() Result { return res }, l.alive()
	}
	if err := l.apply(ctx, c.Condition); err != nil {
		return failed(fmt.Errorf("network condition: %w", err))
	}
	capt, err := l.startCapture(ctx, filepath.Join(dir, "capture.pcap"), fmt.Sprintf("gorxe rxelab port %d", port), limit)
	if err != nil {
		return failed(fmt.Errorf("capture: %w", err))
	}
	before := l.counters(ctx)
	server, client := l.programs(c, port)
	begin := time.Now()
	problems, err := l.converse(ctx, c, server, client, port)
	res.Seconds = time.Since(begin).Seconds()
	for _, p := range problems {
		res.fail(p.Error())
	}
	res.Rxe = moved(before, l.counters(ctx))
	if merr := capt.mark(ctx); merr != nil && err == nil {
		err = l.alive()
	}
	writeLogs(dir, server, client, formatCounters(res.Rxe))
	return func() Result {
		t, err := capt.finish()
		t.Sent, t.Received = opcodesOf(&t.Summary, l.gorxe), opcodesOf(&t.Summary, l.rxe)
		res.traffic(t, err)
		return res
	}, err
}

// alive tells a lost machine from a failure within it.
func (l *lane) alive() error {
	ctx, cancel := context.WithTimeout(context.Background(), graceKill)
	defer cancel()
	if _, err := l.s.Run(ctx, "true"); err != nil {
		return errLost
	}
	return nil
}

// converse lets the two ends talk, and returns what went wrong.
func (l *lane) converse(ctx context.Context, c Cell, server, client *program, port int) ([]error, error) {
	limit := c.Timeout()
	if err := server.start(l.s, limit+graceDone, port); err != nil {
		return []error{err}, errLost
	}
	select {
	case <-server.p.Ready():
	case <-server.p.Done():
		return []error{fmt.Errorf("server ended before it listened on TCP port %d: %w", port, server.verdict(c, false))}, nil
	case <-time.After(c.base()):
		err := fmt.Errorf("%s: did not listen on TCP port %d within %v: %s", server.name, port, c.base(), lastLines(server.log.String()))
		return []error{err}, reap(server)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := client.start(l.s, limit, 0); err != nil {
		return []error{err}, errLost
	}
	first, second := client, server
	select {
	case <-client.p.Done():
	case <-server.p.Done():
		first, second = server, client
	case <-time.After(limit + graceKill):
		return []error{fmt.Errorf("no end within %v", limit)}, errLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	grace := graceDone
	if first.p.Result().Code != 0 {
		grace = graceFailed
	}
	select {
	case <-second.p.Done():
	case <-time.After(grace):
		err := fmt.Errorf("%s: still running %v after %s ended: %s", second.name, grace, first.name, lastLines(second.log.String()))
		problems := append([]error{first.verdict(c, first == client)}, err)
		return slices.DeleteFunc(problems, isNil), reap(second)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	problems := []error{first.verdict(c, first == client), second.verdict(c, second == client)}
	return slices.DeleteFunc(problems, isNil), nil
}

func isNil(err error) bool { return err == nil }

// reap kills a program; a process that does not go away hangs in the kernel, and the machine with it.
func reap(p *program) error {
	_ = p.p.Signal(vm.Kill)
	select {
	case <-p.p.Done():
		return nil
	case <-time.After(graceKill):
		return errLost
	}
}

func writeLogs(dir string, server, client *program, counters string) {
	for _, p := range []struct {
		role string
		*program
	}{{"server", server}, {"client", client}} {
		end := "not started"
		if p.p != nil {
			end = vm.Describe(p.p.Result())
		}
		text := fmt.Sprintf("# %s\n%s\n# %s\n", p.command(), p.log.String(), end)
		// A log that cannot be written shows by its absence; the result of the cell stands without it.
		_ = os.WriteFile(filepath.Join(dir, p.role+".log"), []byte(text), 0o644)
	}
	_ = os.WriteFile(filepath.Join(dir, "rxe-counters.txt"), []byte(counters), 0o644)
}
