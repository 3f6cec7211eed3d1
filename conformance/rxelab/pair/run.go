package pair

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
)

// Result is the result of a run.
type Result struct {
	Run     Run
	Failure string // "": it passed
	Skipped string // reason why it did not run
	Took    time.Duration
}

// RunAll runs pairs on this host, several at a time, and calls done after each. As an ordinary
// user it skips runs that need network namespaces.
func RunAll(ctx context.Context, pairs []Run, gorxe string, lanes int, done func(r Result, n int)) ([]Result, error) {
	if gorxe == "" {
		dir, err := os.MkdirTemp("", "rxelab-build-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		gorxe = filepath.Join(dir, "gorxe")
		if err := host.Build(ctx, host.GorxePackage, gorxe); err != nil {
			return nil, err
		}
	}
	results := make([]Result, len(pairs))
	var mu sync.Mutex
	next, ended := 0, 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	var wg sync.WaitGroup
	errs := make([]error, lanes)
	for lane := range lanes {
		wg.Go(func() {
			g, err := newGround(ctx, lane)
			if err != nil {
				errs[lane] = err
			}
			defer g.close()
			for err == nil && ctx.Err() == nil {
				i := take()
				if i >= len(pairs) {
					return
				}
				r := g.run(ctx, pairs[i], gorxe, cell.Port(i))
				mu.Lock()
				results[i] = r
				ended++
				done(r, ended)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return results, errors.Join(append(errs, ctx.Err())...)
}

// run runs one pair.
func (g *ground) run(ctx context.Context, p Run, gorxe string, port int) Result {
	r := Result{Run: p}
	if !g.has(p.Path, p.Family) {
		r.Skipped = "needs network namespaces: run as root"
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	begin := time.Now()
	addr := g.addr[p.Path.wire()][p.Family]
	server := g.command(ctx, p, gorxe, 0, port, "")
	if err := server.start(); err != nil {
		r.Failure = err.Error()
		return r
	}
	client, err := g.connect(ctx, p, gorxe, port, addr[0].String())
	if err != nil {
		cancel()
	}
	failure := errors.Join(err, client.verdict(p, true), server.wait(), server.verdict(p, false))
	r.Took = time.Since(begin)
	if failure != nil {
		r.Failure = failure.Error()
	}
	return r
}

// process is one of the two ends of a run.
type process struct {
	name string
	cmd  *exec.Cmd
	out  transcript.Buffer
	log  transcript.Buffer
	err  error
}

func (g *ground) command(ctx context.Context, p Run, gorxe string, end, port int, host string) *process {
	name := cell.Server
	if end == 1 {
		name = cell.Client
	}
	t := p.Workload.Tool
	argv := append([]string{gorxe}, t.Gorxe...)
	argv = append(argv, "-d", g.addr[p.Path.wire()][p.Family][end].String(), "--link", pathLinks[p.Path][end],
		t.GIDFlag, "0", "-p", strconv.Itoa(port))
	argv = append(append(argv, t.Fixed...), p.Workload.Params.Flags(t)...)
	if p.Fault != "" && p.FaultAt == name {
		argv = append(argv, "--fault", p.Fault+",seed="+strconv.Itoa(port))
	}
	if host != "" {
		argv = append(argv, host)
	}
	argv = g.wrap(p.Path, end, argv)
	e := &process{name: name.String(), cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	e.cmd.Stdout, e.cmd.Stderr = &e.out, &e.log
	return e
}

func (e *process) start() error { return e.cmd.Start() }

func (e *process) wait() error {
	e.err = e.cmd.Wait()
	return nil
}

func (e *process) verdict(p Run, measures bool) error {
	if e.err != nil {
		return fmt.Errorf("%s: %w: %s", e.name, e.err, transcript.LastLines(e.out.String()+e.log.String()))
	}
	if err := (cell.Cell{Workload: p.Workload}).CheckOutput(e.out.String(), measures); err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	return nil
}

// notYet is in the client's output while the server is not listening yet.
const notYet = "no server listens"

// connect runs the client, repeatedly until its server listens.
func (g *ground) connect(ctx context.Context, p Run, gorxe string, port int, host string) (*process, error) {
	for {
		c := g.command(ctx, p, gorxe, 1, port, host)
		if err := c.start(); err != nil {
			return c, err
		}
		_ = c.wait()
		if c.err == nil || !strings.Contains(c.log.String(), notYet) {
			return c, c.err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
}
