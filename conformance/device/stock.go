package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
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
	// Port is the first TCP port of the programs' handshakes; 0 means 18515. Each program gets the
	// next one, so that a socket that is still in TIME_WAIT does not delay it.
	Port uint16
	// StartTime is the maximum time until a program accepts a connection, and that of the handshake
	// over it; 0 means 10 seconds.
	StartTime time.Duration

	mu    sync.Mutex
	next  uint16
	ahead []*ahead
	// ending are the programs that were started ahead and are not needed.
	ending sync.WaitGroup
}

// ports is the number of TCP ports that are used in turn.
const ports = 64

// port returns the TCP port for the next program.
func (s *Stock) port() uint16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.portLocked()
}

func (s *Stock) portLocked() uint16 {
	p := s.Port
	if p == 0 {
		p = 18515
	}
	if s.Start == "" {
		return p // the user starts all programs with the same command
	}
	n := s.next
	s.next = (s.next + 1) % ports
	return p + n
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
	case conformance.WriteClient, conformance.ReadClient, conformance.SendClient:
		return s.openClient(ctx, p, local)
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
	line := s.Start + " " + command
	if strings.Contains(s.Start, "{}") {
		line = strings.ReplaceAll(s.Start, "{}", command)
	}
	p.cmd = exec.Command("sh", "-c", line)
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
	for end := time.Now().Add(limit); ; {
		var d net.Dialer
		d.Timeout = time.Until(end)
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn, nil
		}
		wait := time.NewTimer(dialInterval)
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil, fmt.Errorf("%s: %w", address, context.Cause(ctx))
		case <-p.ended:
			wait.Stop()
			return nil, p.explain("the program ended before it accepted a connection", p.end())
		case <-wait.C:
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the program does not accept a connection: %w", err)
		}
	}
}

// maxLine limits the line of a program in an error, in bytes.
const maxLine = 200

// lastLine returns the last line of text that is not empty, of a longer line its end.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.TrimSpace(line[max(0, len(line)-maxLine):])
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
