package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// ErrLost reports that the machine no longer responds. The result of the running cell is invalid.
var ErrLost = errors.New("the virtual machine is lost")

// Time limits of the lab for processes.
const (
	GraceFailed = 3 * time.Second  // for the other end, after one has failed
	GraceDone   = 20 * time.Second // for the other end, after one is done
	GraceKill   = 15 * time.Second // for the agent to report a process that was killed
)

// Program is one end of a running cell.
type Program struct {
	Name    string
	Argv    []string
	In      string            // network namespace
	Out     transcript.Buffer // standard output
	Log     transcript.Buffer // all output, in order
	Process *vm.Process
}

// Command returns the command line of the program for a shell.
func (p *Program) Command() string {
	line := strings.Join(p.Argv, " ")
	if p.In != "" {
		line = "ip netns exec " + p.In + " " + line
	}
	return line
}

// Start starts the program in a machine and, if port is not 0, watches for it to listen there.
func (p *Program) Start(s *vm.Session, timeout time.Duration, port int) (err error) {
	p.Process, err = s.Start(wire.Command{Argv: p.Argv, Netns: p.In, Timeout: timeout, ListenPort: port},
		io.MultiWriter(&p.Out, &p.Log), &p.Log)
	return err
}

// Verdict returns an error unless the program ended as expected.
func (p *Program) Verdict(c cell.Cell, measures bool) error {
	if c.Workload.Tool.Talk != nil {
		return p.Heard(c, measures, true)
	}
	if r := p.Process.Result(); r.Code != 0 {
		return fmt.Errorf("%s: %s: %s", p.Name, vm.Describe(r), transcript.LastLines(p.Log.String()))
	}
	if err := c.CheckOutput(p.Out.String(), measures); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Heard is Verdict for an end that a [cell.CMTool] describes. ended is false if the lab ended it.
func (p *Program) Heard(c cell.Cell, client, ended bool) error {
	r := p.Process.Result()
	if err := c.Heard(r.Code, vm.Describe(r), p.Log.String(), client, ended); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Programs returns the two ends of a cell. The server is nil if the client must not reach one.
func (l *Lane) Programs(c cell.Cell, port int) (server, client *Program) {
	stock := &Program{Name: c.Workload.Tool.Name}
	gorxe := &Program{Name: "gorxe", In: l.Netns}
	stock.Argv, gorxe.Argv = c.Commands(&l.Link, port)
	server, client = stock, gorxe
	if c.Role == cell.Server {
		server, client = gorxe, stock
	}
	if stock.Argv == nil {
		return nil, client
	}
	if p := l.ProgramsOf[c.Release()]; p != nil {
		stock.Argv = p.Command(stock.Argv)
		if i := slices.Index(gorxe.Argv, "--") + 1; i > 0 { // a program under gorxe run
			gorxe.Argv = append(gorxe.Argv[:i:i], p.Command(gorxe.Argv[i:])...)
		}
	}
	return server, client
}

// Failure returns an error if a program has ended with a status other than 0, with its last
// output.
func (p *Program) Failure() error {
	r := p.Process.Result()
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s: %s", p.Name, vm.Describe(r), transcript.LastLines(p.Log.String()))
}

// Alive returns ErrLost if the machine no longer responds.
func (l *Lane) Alive() error {
	ctx, cancel := context.WithTimeout(context.Background(), GraceKill)
	defer cancel()
	if _, err := l.Session.Run(ctx, "true"); err != nil {
		return ErrLost
	}
	return nil
}

// Reap kills a program. A process that cannot be killed hangs in the kernel, so the machine is
// lost.
func Reap(p *Program) error {
	_ = p.Process.Signal(vm.Kill)
	select {
	case <-p.Process.Done():
		return nil
	case <-time.After(GraceKill):
		return ErrLost
	}
}
