package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/verbs"
)

// Real sockets, without -d at the client, whose device then uses the source address of its TCP
// connection.
func TestCommandsOverRealSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	const server = "127.66.7.1"
	for _, addr := range []string{server, "127.66.7.2"} {
		l, err := socket.ListenUDP(netip.MustParseAddr(addr), socket.UDPOptions{})
		if err != nil {
			t.Skipf("no UDP port %d at %s: %v", packet.Port, addr, err)
		}
		l.Close()
	}
	for _, line := range []string{"pingpong rc -n 50 -s 10000 -c", "perf write_bw -n 100", "perf read_lat -n 100",
		"perf write_lat -n 100", "perf send_bw -n 50 -b -q 2"} {
		ready := make(chan net.Addr, 1)
		s := start(t, realTCP{ready: ready, local: server}, line+" -d "+server)
		port := (<-ready).(*net.TCPAddr).Port
		c := start(t, realTCP{local: "127.66.7.2"}, fmt.Sprintf("%s -p %d %s", line, port, server))
		<-s.Done
		<-c.Done
		clitest.MustSucceed(t, line, s, c)
		if strings.HasPrefix(line, "pingpong") && !strings.Contains(c.Stdout.String(), "local address:  LID 0x0000") {
			t.Error(c)
		}
	}
}

func start(t *testing.T, conn app.TCP, line string) *clitest.Run {
	r := &clitest.Run{Done: make(chan struct{})}
	a := &app.App{Stdout: &r.Stdout, Stderr: &r.Stderr, Open: verbs.Open, Addrs: packet.HostAddrs, TCP: conn,
		Commands: commands}
	go func() {
		defer close(r.Done)
		r.Code = a.Main(t.Context(), strings.Fields(line))
	}()
	return r
}

// realTCP is HostTCP with any free port and a given source address.
type realTCP struct {
	app.HostTCP
	ready chan<- net.Addr
	local string
}

func (r realTCP) Accept(ctx context.Context, _ uint16, _ func(net.Addr)) (net.Conn, error) {
	return r.HostTCP.Accept(ctx, 0, func(a net.Addr) { r.ready <- a })
}

func (r realTCP) Dial(ctx context.Context, host string, port uint16) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(r.local)}}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(host, fmt.Sprint(port)))
}
