// Package clitest runs command lines of gorxe in tests, in a network in memory. [World] is the
// network, [Run] one command line in it.
package clitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/internal/record/recordtest"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// World is a network in memory with everything that commands open: devices by address, and TCP.
type World struct {
	Net   *pipe.Net
	MTU   int
	Fault fault.Config
	calls chan net.Conn
	TCP   app.TCP // replaces the fake TCP

	// ClientAt and ServerAt are the addresses of the ends of the fake TCP; zero: the loopback
	// address.
	ClientAt, ServerAt netip.Addr

	Live     func(string, func()) (app.LiveCapture, error)
	Stdin    io.Reader
	Terminal bool // standard output is a terminal

	recent *record.Recent // keeps the packets; nil: packets are not kept

	cables sync.Map // netip.Addr to packet.Link; Kill closes a link, so that end vanishes without a message

	commands []app.Command // commands of the programs

	frames      atomic.Int32 // number of frames received so far
	AfterFrames int32        // number of received frames after which Then is called
	Then        func()
}

// NewWorld returns a world whose programs have the given commands.
func NewWorld(commands ...app.Command) *World {
	return &World{Net: pipe.NewNet(), MTU: 1500, calls: make(chan net.Conn), commands: commands}
}

// Open opens a device whose name is an address of the world.
func (w *World) Open(cfg verbs.Config) (*verbs.Device, error) {
	if cfg.Device == "" {
		return verbs.Open(cfg)
	}
	addr, err := netip.ParseAddr(cfg.Device)
	if err != nil {
		return nil, err
	}
	l, err := w.Net.Open(addr, w.MTU)
	if err != nil {
		return nil, err
	}
	w.cables.Store(addr, l)
	if w.Fault != (fault.Config{}) {
		f := w.Fault
		f.Seed += uint64(addr.As16()[15])
		l = fault.New(l, f)
	}
	if w.recent != nil {
		l = w.recent.Wrap("", l)
	}
	l = packet.Tap(l, func(dir packet.Direction, _ packet.TapFrame) {
		if dir == packet.Incoming && w.frames.Add(1) == w.AfterFrames {
			w.Then()
		}
	})
	cfg.Device, cfg.Follow, cfg.Links = "", false, []packet.Link{l}
	return verbs.Open(cfg)
}

// Kill removes the device at an address from the network, as SIGKILL does. TCP connections stay
// open.
func (w *World) Kill(addr string) {
	l, _ := w.cables.Load(netip.MustParseAddr(addr))
	_ = l.(packet.Link).Close()
}

// Addrs returns the address of a device of the world, or the addresses of an interface of the
// host.
func (w *World) Addrs(device string) ([]netip.Addr, int, string, error) {
	if strings.ContainsAny(device, ".:") {
		addr, err := netip.ParseAddr(device)
		return []netip.Addr{addr}, w.MTU, "", err
	}
	return packet.HostAddrs(device)
}

// Accept waits for a client that dials in the world.
func (w *World) Accept(ctx context.Context, _ uint16, ready func(net.Addr)) (net.Conn, error) {
	if ready != nil {
		ready(nil)
	}
	select {
	case c := <-w.calls:
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Dial connects to the next caller of Accept in the world.
func (w *World) Dial(ctx context.Context, _ string, _ uint16) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case w.calls <- wired{b, w.ClientAt}:
		return wired{a, w.ServerAt}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wired is a connection in memory to a remote address; an invalid one stands for the loopback
// address.
type wired struct {
	net.Conn
	remote netip.Addr
}

// RemoteAddr returns the address of the other end.
func (c wired) RemoteAddr() net.Addr {
	a := c.remote
	if !a.IsValid() {
		a = netip.MustParseAddr("127.0.0.1")
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 40000))
}

// Run is one command line in the world.
type Run struct {
	Stdout, Stderr bytes.Buffer
	Code           int
	Done           chan struct{}
}

// Start starts a command line, whose words are separated by spaces.
func (w *World) Start(ctx context.Context, line string) *Run {
	return w.StartWords(ctx, strings.Fields(line))
}

// StartWords starts a command with arguments.
func (w *World) StartWords(ctx context.Context, args []string) *Run {
	r := &Run{Done: make(chan struct{})}
	a := &app.App{Stdin: w.Stdin, Stdout: &r.Stdout, Stderr: &r.Stderr, Addrs: w.Addrs,
		Terminal: func(io.Writer) bool { return w.Terminal }, Open: w.Open, TCP: w, Live: w.Live, Commands: w.commands}
	if w.TCP != nil {
		a.TCP = w.TCP
	}
	go func() {
		defer close(r.Done)
		r.Code = a.Main(ctx, args)
	}()
	return r
}

// Run runs a command line to its end.
func (w *World) Run(ctx context.Context, line string) *Run {
	r := w.Start(ctx, line)
	<-r.Done
	return r
}

// String returns the exit code and the output.
func (r *Run) String() string {
	return fmt.Sprintf("exit code %d\nstdout:\n%sstderr:\n%s", r.Code, r.Stdout.String(), r.Stderr.String())
}

// Pair runs the command lines of a server and a client to their ends, in a world that w makes and a
// synctest bubble in which no goroutine may be left over.
func Pair(t *testing.T, w func() *World, server, client string) (s, c *Run) {
	t.Helper()
	recent := recordtest.Keep(t)
	synctest.Test(t, func(t *testing.T) {
		w := w()
		w.recent = recent
		s = w.Start(t.Context(), server)
		c = w.Start(t.Context(), client)
		<-s.Done
		<-c.Done
	})
	return s, c
}

// Ends appends the device address of each end, and for the client the server's address, to a
// command line.
func Ends(line string) (server, client string) {
	return line + " -d 127.66.0.1", line + " -d 127.66.0.2 127.66.0.1"
}

// MustSucceed fails the test unless all runs ended with exit code 0 and printed no error.
func MustSucceed(t *testing.T, line string, runs ...*Run) {
	t.Helper()
	for i, r := range runs {
		if r.Code != 0 || r.Stderr.Len() > 0 {
			t.Errorf("%s: end %d: %v", line, i, r)
		}
	}
}

// TooLong reports whether line runs all sizes under the race detector, which takes minutes for
// the largest ones.
func TooLong(line string) bool { return race.Enabled && strings.Contains(line, " -a") }

// ManagedPair is Pair for commands that connect by rdma_cm: the client starts as soon as the server
// listens.
func ManagedPair(t *testing.T, w func() *World, server, client string) (s, c *Run) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := w()
		s = w.Start(t.Context(), server)
		synctest.Wait()
		c = w.Start(t.Context(), client)
		<-s.Done
		<-c.Done
	})
	return s, c
}
