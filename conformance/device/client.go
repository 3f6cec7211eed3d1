package device

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// ClientLen is the length of the messages of perftest's clients in bytes, and ClientMessages their
// number, which all fit into the send queue.
const (
	ClientLen      = 4096
	ClientMessages = 8
)

// LongClientLen is the length of the messages of LongSendClient in bytes, and LongClientMessages
// their number.
const (
	LongClientLen      = 120 * perftestMTU
	LongClientMessages = 16
)

// clients are the clients of perftest. length and messages are those of the traffic.
var clients = map[conformance.Program]struct {
	test             perftest.Test
	command          string
	length, messages int
}{
	conformance.WriteClient:    {perftest.WriteBW, "ib_write_bw", ClientLen, ClientMessages},
	conformance.ReadClient:     {perftest.ReadBW, "ib_read_bw", ClientLen, ClientMessages},
	conformance.SendClient:     {perftest.SendBW, "ib_send_bw", ClientLen, ClientMessages},
	conformance.LongSendClient: {perftest.SendBW, "ib_send_bw", LongClientLen, LongClientMessages},
}

// openClient starts a client of perftest and performs the handshake of the server, up to the item
// after which the client begins its traffic.
func (s *Stock) openClient(ctx context.Context, program conformance.Program,
	local conformance.Local) (conformance.Peer, error) {
	t := clients[program]
	p, conn, err := s.startClient(ctx, program, local.Addr, func(at netip.AddrPort) string {
		return fmt.Sprintf("%s -p %d -m %d -s %d -n %d -u %d -F%s %v", t.command, at.Port(), perftestMTU, t.length,
			t.messages, local.AckTimeout, s.deviceFlags("-x"), at.Addr())
	})
	if err != nil {
		return nil, err
	}
	stop := s.handshake(ctx, conn)
	defer stop()
	e := &end{local: local}
	before, last := clientSteps(t.test)
	if err := perftest.Drive(conn, exchange.Server, before, e); err != nil {
		return nil, p.failed(conn, err)
	}
	if err := s.checkGID(e.peer.GID); err != nil {
		conn.Close()
		p.stop()
		return nil, err
	}
	return &client{connected{process: p, conn: conn, target: conformance.Target{
		Addr: s.Addr, QPN: bth.QPN(e.peer.QPN), PSN: bth.PSN(e.peer.PSN), RKey: e.peer.RKey, VA: e.peer.VAddr,
		MTU: perftestMTU, Length: uint64(t.length),
	}}, last, e, s.startTime()}, nil
}

// startClient starts a program that connects to the tester, and waits for its connection. command
// returns the program with its arguments for the address to connect to.
func (s *Stock) startClient(ctx context.Context, program conformance.Program, local netip.Addr,
	command func(at netip.AddrPort) string) (*process, net.Conn, error) {
	var port uint16
	if s.Start == "" {
		port = s.port(program)
	}
	at, err := s.reachable(local)
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", netip.AddrPortFrom(at, port).String())
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	port = l.Addr().(*net.TCPAddr).AddrPort().Port()
	p, err := s.start(command(netip.AddrPortFrom(at, port)))
	if err != nil {
		return nil, nil, err
	}
	conn, err := s.accept(ctx, p, l.(*net.TCPListener))
	if err != nil {
		p.stop()
		return nil, nil, err
	}
	return p, conn, nil
}

// reachable returns the tester's address for TCP connections of the device: local, or that on the
// route to the host if only RoCEv2 packets use IPv6. perftest connects over IPv4 only.
func (s *Stock) reachable(local netip.Addr) (netip.Addr, error) {
	if local.Is4() == s.Host.Is4() {
		return local, nil
	}
	c, err := net.Dial("udp", netip.AddrPortFrom(s.Host, 9).String()) // sends nothing
	if err != nil {
		return local, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// clientSteps returns the items of a test before its traffic: those before the last one, and the
// last one, whose answer lets the client begin.
func clientSteps(t perftest.Test) (before []perftest.Step, last perftest.Step) {
	steps := append(perftest.Opening(), perftest.Script(t, perftest.Params{Role: exchange.Client, QPs: 1,
		Sizes: []uint64{ClientLen}})...)
	steps = steps[:slices.IndexFunc(steps, func(s perftest.Step) bool { return s.Kind == perftest.Run })]
	steps = slices.DeleteFunc(steps, func(s perftest.Step) bool { return !s.Kind.Wire() })
	return steps[:len(steps)-1], steps[len(steps)-1]
}

// client is a client of perftest.
type client struct {
	connected
	last perftest.Step
	end  *end
	// limit is the time that Go may take.
	limit time.Duration
}

// Go answers the last item of the handshake.
func (c *client) Go() error {
	c.conn.SetDeadline(time.Now().Add(c.limit))
	return perftest.Drive(c.conn, exchange.Server, []perftest.Step{c.last}, c.end)
}

// accept waits for the connection of a program.
func (s *Stock) accept(ctx context.Context, p *process, l *net.TCPListener) (net.Conn, error) {
	limit := s.startTime()
	if p.cmd == nil {
		limit = personTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no program connected within %v", limit))
	defer cancel()
	go func() {
		select {
		case <-ctx.Done():
		case <-p.ended:
		}
		l.SetDeadline(time.Unix(1, 0))
	}()
	for {
		conn, err := l.Accept()
		switch {
		case err == nil && !s.from(conn):
			conn.Close() // from another host
		case err == nil:
			return conn, nil
		case p.Ended() != nil:
			return nil, p.explain("the program ended before it connected", p.Ended())
		case ctx.Err() != nil:
			return nil, p.explain("port "+strconv.Itoa(l.Addr().(*net.TCPAddr).Port), context.Cause(ctx))
		default:
			return nil, err
		}
	}
}

// from reports whether a connection comes from the device.
func (s *Stock) from(conn net.Conn) bool {
	a, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return false
	}
	from := a.Addr().Unmap()
	return from == s.Host || from == s.Addr || from.IsLoopback() && s.Host.IsLoopback()
}

// explain returns an error with the last line that the program has printed.
func (p *process) explain(what string, err error) error {
	if line := lastLine(p.output()); line != "" {
		return fmt.Errorf("%s: %w; the program printed %q", what, err, line)
	}
	return fmt.Errorf("%s: %w", what, err)
}
