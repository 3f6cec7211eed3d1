package device

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/gorxe/gorxe/conformance"
)

// services are the commands of the programs that listen with rdma_cm; the arguments are the address
// and the port.
var services = map[conformance.Program]string{
	// Persistent: each connection has a thread of its own.
	conformance.RPing: "rping -s -P -S 8192 -a %v -p %d",
	// 64 connections, so that the program does not end before the case.
	conformance.CMServer: "ucmatose -b %v -p %d -c 64 -C 1",
}

// openService starts a program that listens with rdma_cm. It does not wait until the program
// listens, which only a REQ shows.
func (s *Stock) openService(ctx context.Context, program conformance.Program) (conformance.Peer, error) {
	p, _, err := s.open(ctx, program)
	if err != nil {
		return nil, err
	}
	return &service{process: p, target: conformance.Target{Addr: s.Addr, Port: p.port}}, nil
}

// service is a program that listens with rdma_cm.
type service struct {
	*process
	target conformance.Target
}

func (v *service) Target() conformance.Target { return v.target }
func (v *service) Go() error                  { return nil }
func (v *service) Output() string             { return v.output() }
func (v *service) Close() error               { v.stop(); return nil }

// Ended returns nil while the program runs, then why it ended.
func (p *process) Ended() error {
	select {
	case <-p.ended:
		return p.end()
	default:
		return nil
	}
}

// notFound is the exit status of a shell, and of ssh, if the command does not exist.
const notFound = 127

// errEnded is the error of a program that ended without an error.
var errEnded = errors.New("it ended by itself")

// end returns why the program has ended, conformance.ErrUnsupported if it does not exist.
func (p *process) end() error {
	var exit *exec.ExitError
	switch {
	case p.result == nil:
		return errEnded
	case errors.As(p.result, &exit) && exit.ExitCode() == notFound:
		return conformance.ErrUnsupported
	}
	return p.result
}

// Check runs the program true on the device. It returns an error if the shell does not find it:
// then a command of Start does not exist, rather than a program of the device.
func (s *Stock) Check() error {
	if s.Start == "" {
		return nil
	}
	p, err := s.start("true")
	if err != nil {
		return err
	}
	defer p.stop()
	select {
	case <-p.ended:
	case <-time.After(s.startTime()):
	}
	if errors.Is(p.Ended(), conformance.ErrUnsupported) {
		return p.explain("--dut-start", fmt.Errorf("'%s' ended with status %d: command not found", s.line("true"),
			notFound))
	}
	return nil
}

// Manual reports whether a person starts the program.
func (p *process) Manual() bool { return p.cmd == nil }

// command returns the command of a program that is a server.
func (s *Stock) command(program conformance.Program, port uint16) (string, bool) {
	if c, ok := services[program]; ok {
		return fmt.Sprintf(c, s.Addr, port), true
	}
	if k, ok := pingpongs[program]; ok {
		return fmt.Sprintf("%s -p %d -s %d -r %d -n 1000000%s", k.command, port, k.length, pingpongReceives,
			s.deviceFlags("-g")), true
	}
	if t, ok := perftests[program]; ok {
		return fmt.Sprintf("%s -p %d -m %d -n 1000000 -F%s", t.command, port, perftestMTU, s.deviceFlags("-x")), true
	}
	return "", false
}
