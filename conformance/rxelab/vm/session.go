package vm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// Session is the host's end of the connection to a guest. It is safe for concurrent use.
type Session struct {
	Info wire.Info // greeting of the guest

	conn  io.ReadWriteCloser
	write sync.Mutex

	mu   sync.Mutex
	next uint32
	open map[uint32]*Process
	lost error // error that ended the session; guarded by mu
}

// errClosed is the error of requests on an ended session.
var errClosed = errors.New("the conversation with the virtual machine has ended")

// NewSession waits for the guest's greeting and starts to serve the streams.
func NewSession(conn io.ReadWriteCloser) (*Session, error) {
	r := bufio.NewReaderSize(conn, 256<<10)
	f, err := wire.ReadFrame(r)
	if err != nil {
		return nil, err
	}
	s := &Session{conn: conn, open: map[uint32]*Process{}}
	if f.Kind != wire.Hello {
		return nil, fmt.Errorf("the guest began with frame kind %d, want a greeting", f.Kind)
	}
	if err := json.Unmarshal(f.Data, &s.Info); err != nil {
		return nil, fmt.Errorf("the guest's greeting: %w", err)
	}
	go s.serve(r)
	return s, nil
}

func (s *Session) serve(r io.Reader) {
	for {
		f, err := wire.ReadFrame(r)
		if err != nil {
			s.end(fmt.Errorf("%w: %w", errClosed, err))
			return
		}
		s.mu.Lock()
		p := s.open[f.Stream]
		if f.Kind == wire.Exit {
			delete(s.open, f.Stream)
		}
		s.mu.Unlock()
		if p != nil {
			p.frame(f)
		}
	}
}

func (s *Session) end(err error) {
	s.mu.Lock()
	open := s.open
	s.open = map[uint32]*Process{}
	if s.lost == nil {
		s.lost = err
	}
	s.mu.Unlock()
	for _, p := range open {
		p.finish(wire.Result{Code: -1, Err: err.Error()})
	}
}

// Close closes the connection. The guest then stops its machine.
func (s *Session) Close() error {
	s.end(errClosed)
	return s.conn.Close()
}

// Process is a request to the guest: a program, or a file being written or read.
type Process struct {
	s              *Session
	stream         uint32
	stdout, stderr io.Writer
	ready, done    chan struct{}
	readyOnce      sync.Once
	doneOnce       sync.Once
	result         wire.Result
}

func (p *Process) frame(f wire.Frame) {
	switch f.Kind {
	case wire.Stdout:
		_, _ = p.stdout.Write(f.Data) // an error of the writer does not end the stream
	case wire.Stderr:
		_, _ = p.stderr.Write(f.Data)
	case wire.Ready:
		p.readyOnce.Do(func() { close(p.ready) })
	case wire.Exit:
		var r wire.Result
		if err := json.Unmarshal(f.Data, &r); err != nil {
			r = wire.Result{Code: -1, Err: err.Error()}
		}
		p.finish(r)
	}
}

func (p *Process) finish(r wire.Result) {
	p.doneOnce.Do(func() {
		p.result = r
		close(p.done)
	})
}

// Ready returns a channel that is closed when the command listens on its Command.ListenPort.
func (p *Process) Ready() <-chan struct{} { return p.ready }

// Done returns a channel that is closed when the process has ended and all its output has been
// written.
func (p *Process) Done() <-chan struct{} { return p.done }

// Result returns how the process ended. Before Done it returns Code -1 and Err "still running".
func (p *Process) Result() wire.Result {
	select {
	case <-p.done:
		return p.result
	default:
		return wire.Result{Code: -1, Err: "still running"}
	}
}

// Signal sends a signal to the process group of the command.
func (p *Process) Signal(number byte) error {
	return p.s.send(wire.Frame{Stream: p.stream, Kind: wire.Signal, Data: []byte{number}})
}

func (s *Session) send(f wire.Frame) error {
	s.write.Lock()
	defer s.write.Unlock()
	return wire.Write(s.conn, f)
}

func (s *Session) request(k wire.Kind, v any, stdout, stderr io.Writer) (*Process, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	p := &Process{s: s, stdout: stdout, stderr: stderr, ready: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	if s.lost != nil {
		s.mu.Unlock()
		return nil, s.lost
	}
	s.next++
	p.stream = s.next
	s.open[p.stream] = p
	s.mu.Unlock()
	if err := s.send(wire.Frame{Stream: p.stream, Kind: k, Data: b}); err != nil {
		return nil, fmt.Errorf("%w: %w", errClosed, err)
	}
	return p, nil
}

// Start runs a program in the guest. Its output is written to the writers by a goroutine that
// serves all processes: they must not block for long.
func (s *Session) Start(c wire.Command, stdout, stderr io.Writer) (*Process, error) {
	return s.request(wire.Start, c, stdout, stderr)
}

// Run runs a program and returns its standard output. An exit status other than 0 is an error
// that includes standard error.
func (s *Session) Run(ctx context.Context, argv ...string) (string, error) {
	return s.RunIn(ctx, "", argv...)
}

// RunIn is Run in a network namespace.
func (s *Session) RunIn(ctx context.Context, netns string, argv ...string) (string, error) {
	var out, msg bytes.Buffer
	p, err := s.Start(wire.Command{Argv: argv, Netns: netns}, &out, &msg)
	if err != nil {
		return "", err
	}
	if err := p.wait(ctx); err != nil {
		return "", fmt.Errorf("in the virtual machine: %s: %w: %s", strings.Join(argv, " "), err,
			strings.TrimSpace(msg.String()))
	}
	return out.String(), nil
}

// wait waits until the process has ended. If ctx is done first, it kills the process.
func (p *Process) wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.Signal(Kill)
		return ctx.Err()
	}
	if r := p.result; r.Code != 0 {
		return errors.New(Describe(r))
	}
	return nil
}

// Signal numbers of Linux.
const (
	Interrupt byte = 2
	Kill      byte = 9
	Terminate byte = 15
)

// Describe describes how a process ended.
func Describe(r wire.Result) string {
	switch {
	case r.TimedOut:
		return "killed after its time limit"
	case r.Err != "":
		return r.Err
	case r.Signal != "":
		return "ended by signal: " + r.Signal
	}
	return fmt.Sprintf("exit status %d", r.Code)
}

// Put writes a file in the guest, whose files are in memory.
func (s *Session) Put(ctx context.Context, path string, mode uint32, r io.Reader) error {
	p, err := s.request(wire.Put, wire.File{Path: path, Mode: mode}, io.Discard, io.Discard)
	if err != nil {
		return err
	}
	buf := make([]byte, wire.MaxData)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := s.send(wire.Frame{Stream: p.stream, Kind: wire.Data, Data: buf[:n]}); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := s.send(wire.Frame{Stream: p.stream, Kind: wire.End}); err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return fmt.Errorf("write %s in the virtual machine: %w", path, err)
	}
	return nil
}

// ReadFiles returns the contents of the guest's files that match the patterns of path/filepath,
// by file name.
func (s *Session) ReadFiles(ctx context.Context, patterns ...string) (map[string]string, error) {
	var out bytes.Buffer
	p, err := s.request(wire.Read, patterns, &out, io.Discard)
	if err != nil {
		return nil, err
	}
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	files := map[string]string{}
	return files, json.Unmarshal(out.Bytes(), &files)
}

// Send sends a UDP datagram from a network namespace of the guest.
func (s *Session) Send(ctx context.Context, d wire.Datagram) error {
	p, err := s.request(wire.Send, d, io.Discard, io.Discard)
	if err != nil {
		return err
	}
	return p.wait(ctx)
}
