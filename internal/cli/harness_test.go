package cli

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

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/internal/record/recordtest"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// world is a network in memory with everything that commands open: devices by address, and TCP.
type world struct {
	net   *packet.PipeNet
	mtu   int
	fault packet.FaultConfig
	calls chan net.Conn
	tcp   tcp // replaces the fake TCP

	clientAt, serverAt netip.Addr // of the fake TCP; none is the loopback interface

	live     func(string, func()) (liveCapture, error)
	stdin    io.Reader
	terminal bool // what commands print to is one

	recent *record.Recent // keeps the packets; nil where nobody wants them

	cables sync.Map // netip.Addr to packet.Link: pulled out, that end is gone without a word

	commands []command // that there are

	frames atomic.Int32 // received so far
	onSeen int32        // when so many were,
	doThen func()       // this is done
}

// newWorldOf makes a world for programs with some commands.
func newWorldOf(commands ...command) *world {
	return &world{net: packet.NewPipeNet(), mtu: 1500, calls: make(chan net.Conn), commands: commands}
}

func (w *world) open(cfg verbs.Config) (*verbs.Device, error) {
	if cfg.Device == "" {
		return verbs.Open(cfg)
	}
	addr, err := netip.ParseAddr(cfg.Device)
	if err != nil {
		return nil, err
	}
	l, err := w.net.Open(addr, w.mtu)
	if err != nil {
		return nil, err
	}
	w.cables.Store(addr, l)
	if w.fault != (packet.FaultConfig{}) {
		f := w.fault
		f.Seed += uint64(addr.As16()[15])
		l = packet.Fault(l, f)
	}
	if w.recent != nil {
		l = w.recent.Wrap("", l)
	}
	l = packet.Tap(l, func(dir packet.Direction, _ packet.TapFrame) {
		if dir == packet.Incoming && w.frames.Add(1) == w.onSeen {
			w.doThen()
		}
	})
	cfg.Device, cfg.Follow, cfg.Links = "", false, []packet.Link{l}
	return verbs.Open(cfg)
}

// kill takes the device at an address off the network, as SIGKILL does. TCP connections stay.
func (w *world) kill(addr string) {
	l, _ := w.cables.Load(netip.MustParseAddr(addr))
	_ = l.(packet.Link).Close()
}

// addrs are those of a device in the world, which is an address.
func (w *world) addrs(device string) ([]netip.Addr, int, string, error) {
	if strings.ContainsAny(device, ".:") {
		addr, err := netip.ParseAddr(device)
		return []netip.Addr{addr}, w.mtu, "", err
	}
	return packet.HostAddrs(device)
}

func (w *world) accept(ctx context.Context, _ uint16, ready func(net.Addr)) (net.Conn, error) {
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

func (w *world) dial(ctx context.Context, _ string, _ uint16) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case w.calls <- wired{b, w.clientAt}:
		return wired{a, w.serverAt}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wired is a connection in memory to an address, that of the loopback interface for none.
type wired struct {
	net.Conn
	remote netip.Addr
}

func (c wired) RemoteAddr() net.Addr {
	a := c.remote
	if !a.IsValid() {
		a = netip.MustParseAddr("127.0.0.1")
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 40000))
}

// run is one command line in the world.
type run struct {
	out, err bytes.Buffer
	code     int
	done     chan struct{}
}

func (w *world) start(ctx context.Context, line string) *run {
	return w.startWords(ctx, strings.Fields(line))
}

func (w *world) startWords(ctx context.Context, args []string) *run {
	r := &run{done: make(chan struct{})}
	a := &app{stdin: w.stdin, stdout: &r.out, stderr: &r.err, addrs: w.addrs, terminal: func(io.Writer) bool { return w.terminal }, open: w.open, tcp: w, live: w.live, commands: w.commands}
	if w.tcp != nil {
		a.tcp = w.tcp
	}
	go func() {
		defer close(r.done)
		r.code = a.main(ctx, args)
	}()
	return r
}

func (w *world) run(ctx context.Context, line string) *run {
	r := w.start(ctx, line)
	<-r.done
	return r
}

func (r *run) String() string {
	return fmt.Sprintf("exit code %d\nstdout:\n%sstderr:\n%s", r.code, r.out.String(), r.err.String())
}

// pair runs a server and a client to their ends, in a bubble in which no goroutine may be left over.
func pair(t *testing.T, w func() *world, server, client string) (s, c *run) {
	t.Helper()
	recent := recordtest.Keep(t)
	synctest.Test(t, func(t *testing.T) {
		w := w()
		w.recent = recent
		s = w.start(t.Context(), server)
		c = w.start(t.Context(), client)
		<-s.done
		<-c.done
	})
	return s, c
}

// ends appends the address of each end, and of the client's server, to a command line.
func ends(line string) (server, client string) {
	return line + " -d 127.66.0.1", line + " -d 127.66.0.2 127.66.0.1"
}

func mustSucceed(t *testing.T, line string, runs ...*run) {
	t.Helper()
	for i, r := range runs {
		if r.code != 0 || r.err.Len() > 0 {
			t.Errorf("%s: end %d: %v", line, i, r)
		}
	}
}

// tooLong is true for lines with all sizes where the race detector makes minutes of the largest ones.
func tooLong(line string) bool { return race.Enabled && strings.Contains(line, " -a") }

// managedPair runs a server and, as soon as it listens, a client to their ends.
func managedPair(t *testing.T, w func() *world, server, client string) (s, c *run) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := w()
		s = w.start(t.Context(), server)
		synctest.Wait()
		c = w.start(t.Context(), client)
		<-s.done
		<-c.done
	})
	return s, c
}
