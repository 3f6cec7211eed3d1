package cli

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

	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/testnet"
)

// newMemorySocket is a control socket in memory, which is not there when it is closed.
func newMemorySocket() *testnet.Listener {
	l := testnet.Listen()
	l.Gone = fs.ErrNotExist
	return l
}

// host is one with an interface eth0 at 192.0.2.1, the default, and the addresses of a world.
func (w *world) host() daemon.Host {
	return daemon.Host{
		Suggest: func() []string { return []string{"192.0.2.1"} },
		Addrs: func(device string) ([]netip.Addr, int, string, error) {
			a, err := netip.ParseAddr(device)
			if err != nil {
				return nil, 0, "", errors.New("no network interface " + device)
			}
			return []netip.Addr{a}, w.mtu, "eth0", nil
		},
		GroupID: func(string) (int, error) { return 0, errors.New("no such group") },
	}
}

// startWith is start with a control socket, on which a daemon listens and which others ask.
func (w *world) startWith(ctx context.Context, socket *testnet.Listener, ready func(string) error, args ...string) *run {
	r := &run{done: make(chan struct{})}
	a := &app{
		stdin: w.stdin, stdout: &r.out, stderr: &r.err, terminal: func(io.Writer) bool { return w.terminal }, open: w.open, addrs: w.addrs, tcp: w, host: w.host(), commands: w.commands,
		daemon: daemon.Options{
			TCP:    func(string) (net.Listener, error) { return &callers{w: w, over: make(chan struct{})}, nil },
			Socket: func(string, fs.FileMode, int) (net.Listener, error) { return socket, nil },
			Notify: ready,
		},
		control: func(string) *control.Client { return control.NewClient("/run/gorxe/control.sock", socket.Dial) },
	}
	go func() {
		defer close(r.done)
		r.code = a.main(ctx, args)
	}()
	return r
}

func (w *world) look(t *testing.T, socket *testnet.Listener, line string) *run {
	t.Helper()
	r := w.startWith(t.Context(), socket, nil, strings.Fields(line)...)
	<-r.done
	return r
}

// withDaemonIn runs f while a daemon runs in a world.
func withDaemonIn(t *testing.T, in func() *world, line string, f func(t *testing.T, w *world, s *testnet.Listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, s := in(), newMemorySocket()
		ready := make(chan string, 2)
		ctx, stop := context.WithCancel(t.Context())
		d := w.startWith(ctx, s, func(state string) error { ready <- state; return nil }, strings.Fields(line)...)
		select {
		case <-ready:
		case <-d.done:
			t.Fatal(d)
		}
		f(t, w, s)
		stop()
		<-d.done
		if d.code != 0 {
			t.Error(d)
		}
	})
}

// callers are the clients of a world as a listener.
type callers struct {
	w    *world
	over chan struct{}
	once sync.Once
}

func (l *callers) Accept() (net.Conn, error) {
	select {
	case c := <-l.w.calls:
		return called{c}, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *callers) Close() error { l.once.Do(func() { close(l.over) }); return nil }

func (l *callers) Addr() net.Addr { return responderAddr }

// called is a connection in memory that came from a host.
type called struct{ net.Conn }

var (
	responderAddr = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.66.0.1:18515"))
	callerAddr    = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.66.0.2:40000"))
)

func (called) LocalAddr() net.Addr { return responderAddr }

func (called) RemoteAddr() net.Addr { return callerAddr }
