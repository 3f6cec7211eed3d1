package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

func mustAddr(s string) netip.Addr { return netip.MustParseAddr(s) }

func portOf(a net.Addr) uint16 { return uint16(a.(*net.TCPAddr).Port) }

func TestAServerTakesOneClientAndFreesThePort(t *testing.T) {
	ports := make(chan uint16, 1)
	type accepted struct {
		conn net.Conn
		err  error
	}
	got := make(chan accepted, 1)
	go func() {
		conn, err := hostTCP{}.accept(t.Context(), 0, func(a net.Addr) { ports <- portOf(a) })
		got <- accepted{conn, err}
	}()
	port := <-ports
	_, err := hostTCP{}.accept(t.Context(), port, nil)
	if want := fmt.Sprintf("TCP port %d is in use: another server waits there; stop it or choose another port with -p", port); err == nil || err.Error() != want {
		t.Errorf("a second server: got %v, want %q", err, want)
	}
	conn, err := hostTCP{}.dial(t.Context(), "127.0.0.1", port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a := <-got
	if a.err != nil {
		t.Fatal(a.err)
	}
	defer a.conn.Close()
	_, err = hostTCP{}.dial(t.Context(), "127.0.0.1", port)
	if want := fmt.Sprintf("nobody listens on 127.0.0.1 TCP port %d: start the server there first, without a host argument", port); err == nil || err.Error() != want {
		t.Errorf("a second client: got %v, want %q", err, want)
	}
}

func TestWaitingForTCPCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := hostTCP{}.accept(ctx, 0, func(net.Addr) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("accept: got %v", err)
	}
	if _, err := (hostTCP{}).dial(ctx, "127.0.0.1", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("dial: got %v", err)
	}
}

func TestExchangeErrorsSayWhatThePeerShouldBe(t *testing.T) {
	for _, tt := range []struct{ err, want error }{
		{&exchange.ItemError{Item: "x", Op: "decode", Err: errTest}, errors.New("decode x: test; is the peer ib_foo, with the same parameters?")},
		{&exchange.ItemError{Item: "x", Op: "receive", Err: exchange.ErrPeerClosed},
			errors.New("receive x: peer closed the connection; look at the peer's own output: it must be ib_foo with the same parameters")},
		{errTest, errTest},
	} {
		if got := explainExchange(tt.err, "ib_foo"); got.Error() != tt.want.Error() {
			t.Errorf("got  %v\nwant %v", got, tt.want)
		}
	}
}

// Over real sockets: the whole way, without -d at the client, whose device is then where its TCP connection leaves.
func TestCommandsOverRealSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	const server = "127.66.7.1"
	for _, addr := range []string{server, "127.66.7.2"} {
		l, err := packet.ListenUDP(mustAddr(addr), packet.UDPOptions{})
		if err != nil {
			t.Skipf("no UDP port %d at %s: %v", packet.Port, addr, err)
		}
		l.Close()
	}
	for _, line := range []string{"pingpong rc -n 50 -s 10000 -c", "perf write_bw -n 100", "perf read_lat -n 100", "perf write_lat -n 100", "perf send_bw -n 50 -b -q 2"} {
		ready := make(chan net.Addr, 1)
		s := start(t, realTCP{ready: ready, local: server}, line+" -d "+server)
		port := portOf(<-ready)
		c := start(t, realTCP{local: "127.66.7.2"}, fmt.Sprintf("%s -p %d %s", line, port, server))
		<-s.done
		<-c.done
		mustSucceed(t, line, s, c)
		if strings.HasPrefix(line, "pingpong") && !strings.Contains(c.out.String(), "local address:  LID 0x0000") {
			t.Error(c)
		}
	}
}

func start(t *testing.T, conn tcp, line string) *run {
	r := &run{done: make(chan struct{})}
	a := &app{stdout: &r.out, stderr: &r.err, open: verbs.Open, addrs: packet.HostAddrs, tcp: conn}
	go func() {
		defer close(r.done)
		r.code = a.main(t.Context(), strings.Fields(line))
	}()
	return r
}

// realTCP is hostTCP on any free port, from a given address.
type realTCP struct {
	hostTCP
	ready chan<- net.Addr
	local string
}

func (r realTCP) accept(ctx context.Context, _ uint16, _ func(net.Addr)) (net.Conn, error) {
	return r.hostTCP.accept(ctx, 0, func(a net.Addr) { r.ready <- a })
}

func (r realTCP) dial(ctx context.Context, host string, port uint16) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(r.local)}}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(host, fmt.Sprint(port)))
}

func TestADeviceIsOpenedWhereTheConnectionIs(t *testing.T) {
	w := newWorld()
	a := &app{open: w.open, addrs: w.addrs}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dev, err := a.openAt(&deviceFlags{}, conn, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if got := dev.GIDs()[0].Addr; got != mustAddr("127.0.0.1") {
		t.Errorf("opened at %v", got)
	}
	if _, err := a.openAt(&deviceFlags{}, conn, false); err == nil || !strings.HasSuffix(err.Error(), "name another address or interface with -d") {
		t.Errorf("a second device there: %v", err)
	}
	p1, p2 := net.Pipe()
	defer p1.Close()
	defer p2.Close()
	if _, err := a.openAt(&deviceFlags{}, p1, false); err == nil || !strings.Contains(err.Error(), "name one with -d") {
		t.Errorf("on a connection without address: %v", err)
	}
}
