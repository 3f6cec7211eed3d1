package rxelab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	if c.talk() != nil {
		return p.heard(c, measures, true)
	}
	if r := p.p.Result(); r.Code != 0 {
		return fmt.Errorf("%s: %s: %s", p.name, vm.Describe(r), lastLines(p.log.String()))
	}
	if err := c.checkOutput(p.out.String(), measures); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// heard is verdict for an end that a [Talk] describes; ended is false when the lab ended it.
func (p *program) heard(c Cell, client, ended bool) error {
	r := p.p.Result()
	if err := c.heard(r.Code, vm.Describe(r), p.log.String(), client, ended); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func lastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// programs returns the two ends of a cell; the server is nil where the client is to find nobody.
func (l *lane) programs(c Cell, port int) (server, client *program) {
	stock := &program{name: c.Workload.Tool.Name}
	gorxe := &program{name: "gorxe", in: l.netns}
	server, client = stock, gorxe
	if c.Role == Server {
		server, client = gorxe, stock
	}
	switch {
	case c.talk() != nil:
		stock.argv, gorxe.argv = c.lines(l, port)
	case c.Role == Client:
		stock.argv, gorxe.argv = c.stock(l.rxe, port, ""), c.gorxe(l.gorxe, port, c.host(l.rxe))
	default:
		stock.argv, gorxe.argv = c.stock(l.rxe, port, c.host(l.gorxe)), c.gorxe(l.gorxe, port, "")
	}
	if c.talk() == nil {
		gorxe.argv = append(gorxe.argv, c.foreignGIDs(l.rxe)...)
	}
	if stock.argv == nil {
		return nil, client
	}
	if p := l.programsOf[c.release()]; p != nil {
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
		if res.Passed() {
			if err := c.scarce(t); err != nil {
				res.fail(err.Error())
			}
		}
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

func writeLogs(dir string, server, client *program, counters string) {
	for _, p := range []struct {
		role string
		*program
	}{{"server", server}, {"client", client}} {
		if p.program == nil {
			continue
		}
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
