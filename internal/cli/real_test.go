package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// Over real sockets: the whole way, without -d at the client, whose device is then where its TCP connection leaves.
func TestCommandsOverRealSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	const server = "127.66.7.1"
	for _, addr := range []string{server, "127.66.7.2"} {
		l, err := packet.ListenUDP(netip.MustParseAddr(addr), packet.UDPOptions{})
		if err != nil {
			t.Skipf("no UDP port %d at %s: %v", packet.Port, addr, err)
		}
		l.Close()
	}
	for _, line := range []string{"pingpong rc -n 50 -s 10000 -c", "perf write_bw -n 100", "perf read_lat -n 100", "perf write_lat -n 100", "perf send_bw -n 50 -b -q 2"} {
		ready := make(chan net.Addr, 1)
		s := start(t, realTCP{ready: ready, local: server}, line+" -d "+server)
		port := (<-ready).(*net.TCPAddr).Port
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
	a := &app{stdout: &r.out, stderr: &r.err, open: verbs.Open, addrs: packet.HostAddrs, tcp: conn, commands: commands}
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
