package device

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Stock is a device that runs the programs of rdma-core and perftest.
type Stock struct {
	// Host is the address at which the programs accept TCP connections, Addr that of the device's
	// RoCEv2 packets; usually both are the same.
	Host, Addr netip.Addr
	// Start runs a program on the device: a command line of sh in which {} stands for the program
	// with its arguments, which are appended if it has no {}. Nothing that the device sends becomes
	// part of it. The command must run as long as the program; its process group ends with it.
	// If Start is empty, Ask tells the user what to start.
	Start string
	Ask   func(command string)
	// Name is the RDMA device (-d), GIDIndex the index of the GID (-x, -g); -1: none.
	Name     string
	GIDIndex int
	// Port is the first TCP port of the programs' handshakes; 0 means 18515. Each program that
	// Start runs gets the next one, so that a socket in TIME_WAIT does not delay it.
	Port uint16
	// StartTime is the maximum time until a program accepts a connection, and that of the handshake
	// over it; 0 means 10 seconds.
	StartTime time.Duration

	mu    sync.Mutex
	next  uint16
	ahead []*ahead
	// refusals counts programs that failed while others ran and succeeded alone.
	refusals int
	// ending are the programs that were started ahead and are not needed.
	ending sync.WaitGroup
}

// Ports is the number of TCP ports that are used in turn.
const Ports = 64

// port returns the TCP port of a program that the user starts. The user may still have the loop of
// another program: each program has its own port.
func (s *Stock) port(p conformance.Program) uint16 { return s.first() + uint16(p)%Ports }

func (s *Stock) first() uint16 { return cmp.Or(s.Port, 18515) }

// nextLocked returns the TCP port of the next program that Start runs. s.mu is held.
func (s *Stock) nextLocked() uint16 {
	n := s.next
	s.next = (s.next + 1) % Ports
	return s.first() + n
}

// Open implements conformance.Device.
func (s *Stock) Open(ctx context.Context, p conformance.Program, local conformance.Local) (conformance.Peer, error) {
	switch p {
	case conformance.Pingpong, conformance.UCPingpong, conformance.UDPingpong:
		return s.openPingpong(ctx, p, local)
	case conformance.WriteServer, conformance.ReadServer, conformance.AtomicServer, conformance.SendServer,
		conformance.UCWriteServer, conformance.UCSendServer, conformance.UDSendServer,
		conformance.UCWriteLatServer, conformance.WriteServerTClass:
		return s.openPerftest(ctx, p, local)
	}
	switch p {
	case conformance.WriteClient, conformance.ReadClient, conformance.SendClient, conformance.LongSendClient:
		return s.openClient(ctx, p, local)
	case conformance.AtomicWriteClient, conformance.FlushClient:
		return s.openVerbs(ctx, p, local)
	case conformance.RPing, conformance.CMServer:
		return s.openService(ctx, p)
	}
	return nil, conformance.ErrUnsupported
}

// process is a program on the device.
type process struct {
	mu     sync.Mutex // guards out
	out    bytes.Buffer
	cmd    *exec.Cmd // nil if the user has started the program
	port   uint16
	ended  chan struct{}
	result error // valid after ended
}

// maxOutput is the length of the end of a program's output that is kept, in bytes.
const maxOutput = 64 << 10

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(b)
	p.out.Next(max(0, p.out.Len()-maxOutput))
	return len(b), nil
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start starts a program, or asks for it.
func (s *Stock) start(command string) (*process, error) {
	p := &process{ended: make(chan struct{})}
	if s.Start == "" {
		if s.Ask == nil {
			return nil, errors.New("no command starts programs on the device")
		}
		s.Ask(command)
		return p, nil
	}
	p.cmd = exec.Command("sh", "-c", s.line(command))
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.WaitDelay = time.Second
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.result = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// line returns the shell command that runs a program on the device.
func (s *Stock) line(command string) string {
	if strings.Contains(s.Start, "{}") {
		return strings.ReplaceAll(s.Start, "{}", command)
	}
	return s.Start + " " + command
}

// Line returns the shell command that runs a server on the device, and false if the program is no
// server.
func (s *Stock) Line(p conformance.Program) (string, bool) {
	command, ok := s.command(p, s.first())
	return s.line(command), ok
}

// stopTime is the time that a program has to end after SIGTERM.
const stopTime = time.Second

// stop ends the program and waits for its end. The shell may end before processes that it started,
// so their group is killed in any case.
func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	terminate(p.cmd)
	select {
	case <-p.ended:
	case <-time.After(stopTime):
	}
	kill(p.cmd)
	<-p.ended
}

// failed ends a program with which the handshake failed, and returns the error. If the program has
// closed the connection, the error says how the program ended.
func (p *process) failed(conn net.Conn, err error) error {
	conn.Close()
	if p.cmd != nil && errors.Is(err, exchange.ErrPeerClosed) {
		select {
		case <-p.ended:
			err = fmt.Errorf("%w; the program ended: %w", err, p.end())
		case <-time.After(stopTime):
		}
	}
	p.stop()
	return p.explain("the handshake failed", err)
}

// dialInterval is the time between two attempts to connect to a program that starts.
const dialInterval = 20 * time.Millisecond

// personTime is the time in which a person must start a program.
const personTime = time.Hour

// dial connects to the TCP port of a program that starts.
func (s *Stock) dial(ctx context.Context, p *process, port uint16) (net.Conn, error) {
	limit := s.startTime()
	if p.cmd == nil {
		limit = personTime
	}
	address := net.JoinHostPort(s.Host.String(), strconv.Itoa(int(port)))
	last := errors.New("its host does not answer")
	tried := false // the last attempt may time out because little time is left
	for end := time.Now().Add(limit); ; {
		var d net.Dialer
		d.Timeout = time.Until(end)
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() == nil && !(tried && os.IsTimeout(err)) {
			last, tried = err, true
		}
		wait := time.NewTimer(dialInterval)
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil, p.unreached(address, fmt.Errorf("%w: %w", context.Cause(ctx), reason(last)))
		case <-p.ended:
			wait.Stop()
			return nil, p.explain("the program ended before it accepted a connection", p.end())
		case <-wait.C:
		}
		if time.Now().After(end) {
			return nil, p.unreached(address, fmt.Errorf("%w: %w", s.late(), reason(last)))
		}
	}
}

// late is the error of a program that does not accept a connection in time.
func (s *Stock) late() error {
	return fmt.Errorf("the program does not accept a connection within %v", s.startTime())
}

// reason returns the part of an error of net that the user does not know: without the addresses.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// unreached returns the error of a program that runs, but accepts no connection.
func (p *process) unreached(address string, err error) error {
	err = fmt.Errorf("%s: %w", address, err)
	if p.cmd == nil {
		return err
	}
	if line := lastLine(p.output()); line != "" {
		return fmt.Errorf("%w; its last output is %q", err, line)
	}
	return fmt.Errorf("%w; its command runs and has printed nothing", err)
}

// maxLine is the maximum length of a line of output in an error, in bytes.
const maxLine = 200

// lastLine returns the last line of text that tells something, or its end. Rulers of perftest
// and the message of 'ssh -tt' about its end do not.
func lastLine(text string) string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.Trim(line, "-") == "",
			strings.HasSuffix(line, " closed.") && strings.Contains(line, "onnection to "):
			continue
		case len(line) > maxLine:
			return "…" + line[len(line)-maxLine:]
		}
		return line
	}
	return ""
}

// deviceFlags returns the flags that select the RDMA device and the GID.
func (s *Stock) deviceFlags(gidFlag string) string {
	var b strings.Builder
	if s.Name != "" {
		fmt.Fprintf(&b, " -d %s", s.Name)
	}
	if s.GIDIndex >= 0 {
		fmt.Fprintf(&b, " %s %d", gidFlag, s.GIDIndex)
	}
	return b.String()
}
