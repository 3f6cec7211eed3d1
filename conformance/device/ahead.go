package device

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// ahead is a program that was started before it is needed: a server of perftest waits one second
// after it has accepted a connection.
type ahead struct {
	program conformance.Program
	cancel  context.CancelFunc
	ready   chan struct{} // closed when the other fields are valid
	process *process
	conn    net.Conn // nil for programs of rdma_cm
	err     error
	refused bool // the program exists and ended with an error before it accepted a connection
}

// Prepare starts the programs that are needed next in the background, and ends those that were
// started for others. Nothing is started ahead without the command Start, or if the device permits
// only one program at a time.
func (s *Stock) Prepare(next []conformance.Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Start == "" || s.refusals >= maxRefusals {
		return
	}
	var keep, surplus []*ahead
	wanted := map[conformance.Program]int{}
	for _, p := range next {
		wanted[p]++
	}
	for _, a := range s.ahead {
		if wanted[a.program]--; wanted[a.program] >= 0 {
			keep = append(keep, a)
		} else {
			surplus = append(surplus, a)
		}
	}
	for _, p := range next {
		if wanted[p] <= 0 {
			continue
		}
		wanted[p]--
		if a := s.begin(p); a != nil {
			keep = append(keep, a)
		}
	}
	s.ahead = keep
	for _, a := range surplus {
		s.ending.Go(a.discard)
	}
}

// begin starts a program in the background. It returns nil if the program is no server. s.mu is
// held.
func (s *Stock) begin(program conformance.Program) *ahead {
	port := s.nextLocked()
	command, ok := s.command(program, port)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.startTime(), s.late())
	a := &ahead{program: program, cancel: cancel, ready: make(chan struct{})}
	go func() {
		defer close(a.ready)
		if a.process, a.err = s.start(command); a.err != nil {
			return
		}
		a.process.port = port
		if _, ok := services[program]; ok {
			return
		}
		a.conn, a.err = s.dial(ctx, a.process, port)
		if a.err != nil {
			end := a.process.Ended()
			a.refused = end != nil && !errors.Is(end, errEnded) && !errors.Is(end, conformance.ErrUnsupported)
		}
	}()
	return a
}

// discard ends a program that is not needed.
func (a *ahead) discard() {
	a.cancel()
	<-a.ready
	if a.conn != nil {
		a.conn.Close()
	}
	if a.process != nil {
		a.process.stop()
	}
}

// open returns a program that is a server: one that was started ahead, or a new one. conn is nil
// for programs of rdma_cm.
func (s *Stock) open(ctx context.Context, program conformance.Program) (p *process, conn net.Conn, err error) {
	a, early := s.take(program)
	if a == nil {
		return s.ask(ctx, program)
	}
	p, conn, err = s.await(ctx, a)
	if err == nil || !early || ctx.Err() != nil || !a.refused {
		return p, conn, err
	}
	// The device may permit only one program at a time.
	s.discardAll()
	a, _ = s.take(program)
	if p, conn, err = s.await(ctx, a); err == nil {
		s.mu.Lock()
		s.refusals++
		s.mu.Unlock()
	}
	return p, conn, err
}

// maxRefusals is the number of programs that fail while others run, and succeed alone, after which
// no program is started ahead.
const maxRefusals = 2

// take returns a program that was started ahead, or starts it. It returns nil if the user has to
// start it.
func (s *Stock) take(program conformance.Program) (a *ahead, early bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.ahead {
		if a.program == program {
			s.ahead = append(s.ahead[:i:i], s.ahead[i+1:]...)
			return a, true
		}
	}
	if s.Start == "" {
		return nil, false
	}
	return s.begin(program), false
}

// await waits until a program accepts a connection.
func (s *Stock) await(ctx context.Context, a *ahead) (p *process, conn net.Conn, err error) {
	defer a.cancel()
	select {
	case <-a.ready:
	case <-ctx.Done():
		s.ending.Go(a.discard)
		return nil, nil, context.Cause(ctx)
	}
	if a.err != nil {
		if a.process != nil {
			a.process.stop()
		}
		return nil, nil, a.err
	}
	return a.process, a.conn, nil
}

// ask asks the user to start a program and connects to it.
func (s *Stock) ask(ctx context.Context, program conformance.Program) (p *process, conn net.Conn, err error) {
	port := s.port(program)
	command, ok := s.command(program, port)
	if !ok {
		return nil, nil, conformance.ErrUnsupported
	}
	if p, err = s.start(command); err != nil {
		return nil, nil, err
	}
	p.port = port
	if _, ok := services[program]; ok {
		return p, nil, nil
	}
	conn, err = s.dial(ctx, p, port)
	return p, conn, err
}

// Close ends the programs that were started ahead.
func (s *Stock) Close() error {
	s.discardAll()
	return nil
}

// discardAll ends the programs that were started ahead and waits for their end.
func (s *Stock) discardAll() {
	s.mu.Lock()
	all := s.ahead
	s.ahead = nil
	s.mu.Unlock()
	for _, a := range all {
		s.ending.Go(a.discard)
	}
	s.ending.Wait()
}

// startTime returns the maximum time until a program accepts a connection.
func (s *Stock) startTime() time.Duration {
	if s.StartTime == 0 {
		return 10 * time.Second
	}
	return s.StartTime
}

// handshake limits the handshake over conn to the time in which a program must start: perftest
// waits one second before it begins. The returned function must be called after it.
func (s *Stock) handshake(ctx context.Context, conn net.Conn) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, s.startTime())
	end := exchange.Watch(ctx, conn)
	return func() {
		end()
		cancel()
	}
}
