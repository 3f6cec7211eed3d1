package clitest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/testnet"
)

// NewMemorySocket returns a control socket in memory. Once it is closed, Dial fails as for a
// missing file.
func NewMemorySocket() *testnet.Listener {
	l := testnet.Listen()
	l.Gone = fs.ErrNotExist
	return l
}

// host returns a host whose default device is on 192.0.2.1. Every address belongs to its interface
// eth0.
func (w *World) host() daemon.Host {
	return daemon.Host{
		Suggest: func() []string { return []string{"192.0.2.1"} },
		Addrs: func(device string) ([]netip.Addr, int, string, error) {
			a, err := netip.ParseAddr(device)
			if err != nil {
				return nil, 0, "", errors.New("no network interface " + device)
			}
			return []netip.Addr{a}, w.MTU, "eth0", nil
		},
		GroupID: func(string) (int, error) { return 0, errors.New("no such group") },
	}
}

// StartWith is StartWords with a control socket: a daemon listens on it, other commands connect to
// it. ready, if not nil, gets the states that the daemon reports to the service manager.
func (w *World) StartWith(ctx context.Context, socket *testnet.Listener, ready func(string) error,
	args ...string) *Run {
	r := &Run{Done: make(chan struct{})}
	a := &app.App{
		Stdin: w.Stdin, Stdout: &r.Stdout, Stderr: &r.Stderr, Terminal: func(io.Writer) bool { return w.Terminal },
		Open: w.Open, Addrs: w.Addrs, TCP: w, Host: w.host(), Commands: w.commands,
		Daemon: daemon.Options{
			TCP:    func(string) (net.Listener, error) { return NewCallers(w), nil },
			Socket: func(string, fs.FileMode, int) (net.Listener, error) { return socket, nil },
			Notify: ready,
		},
		Control: func(string) *control.Client { return control.NewClient("/run/gorxe/control.sock", socket.Dial) },
	}
	go func() {
		defer close(r.Done)
		r.Code = a.Main(ctx, args)
	}()
	return r
}

// Look runs a command line with a control socket and waits for its end.
func (w *World) Look(t *testing.T, socket *testnet.Listener, line string) *Run {
	t.Helper()
	r := w.StartWith(t.Context(), socket, nil, strings.Fields(line)...)
	<-r.Done
	return r
}

// WithDaemon runs f while the command line line, a daemon, runs in the world that in makes.
func WithDaemon(t *testing.T, in func() *World, line string, f func(t *testing.T, w *World, s *testnet.Listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, s := in(), NewMemorySocket()
		ready := make(chan string, 2)
		ctx, stop := context.WithCancel(t.Context())
		d := w.StartWith(ctx, s, func(state string) error { ready <- state; return nil }, strings.Fields(line)...)
		select {
		case <-ready:
		case <-d.Done:
			t.Fatal(d)
		}
		f(t, w, s)
		stop()
		<-d.Done
		if d.Code != 0 {
			t.Error(d)
		}
	})
}

// Callers is a listener that accepts the clients of a world.
type Callers struct {
	w    *World
	over chan struct{}
	once sync.Once
}

// NewCallers returns a listener for the clients of w.
func NewCallers(w *World) *Callers { return &Callers{w: w, over: make(chan struct{})} }

// Accept returns the connection of the next client.
func (l *Callers) Accept() (net.Conn, error) {
	select {
	case c := <-l.w.calls:
		return called{c}, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *Callers) Close() error { l.once.Do(func() { close(l.over) }); return nil }

// Addr returns the address of the built-in server.
func (l *Callers) Addr() net.Addr { return responderAddr }

// called is a connection in memory from a client address.
type called struct{ net.Conn }

var (
	responderAddr = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.66.0.1:18515"))
	callerAddr    = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.66.0.2:40000"))
)

// LocalAddr returns the address of the built-in server.
func (called) LocalAddr() net.Addr { return responderAddr }

// RemoteAddr returns the address of the client.
func (called) RemoteAddr() net.Addr { return callerAddr }
