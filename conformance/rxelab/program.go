package rxelab

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	if c.Workload.Tool.Talk != nil {
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

// programs returns the two ends of a cell; the server is nil where the client is to find nobody.
func (l *lane) programs(c Cell, port int) (server, client *program) {
	stock := &program{name: c.Workload.Tool.Name}
	gorxe := &program{name: "gorxe", in: l.netns}
	stock.argv, gorxe.argv = c.commands(&l.link, port)
	server, client = stock, gorxe
	if c.Role == Server {
		server, client = gorxe, stock
	}
	if stock.argv == nil {
		return nil, client
	}
	if p := l.programsOf[c.release()]; p != nil {
		stock.argv = p.Command(stock.argv)
	}
	return server, client
}

// failure is why a program that has ended did not do well, with what it said last.
func (p *program) failure() error {
	r := p.p.Result()
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s: %s", p.name, vm.Describe(r), lastLines(p.log.String()))
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
