// Package cmtool implements 'gorxe cm': tests of the connection manager that interoperate with
// ucmatose, udaddy and cmtime. A run is one end of a test, of type end. Its methods make a number
// of connections (connections), make and end connections repeatedly (loop, serve), synchronize with
// cmtime (runSynced), or exchange datagrams (datagrams). end.mu guards the connections that were
// made.
package cmtool

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/verbs"
)

// defaultPort is the default port of ucmatose, rdma_server and cmtime.
const defaultPort = 7471

// params are the parameters of a test of the connection manager.
type params struct {
	device   app.ManagedFlags
	server   bool
	host     string // server that a client connects to
	bind     string
	port     uint16
	space    string // "tcp" or "udp"
	conns    int
	parallel int
	step     bool // keep step with cmtime over TCP
	count    int
	size     int
	seconds  int // 0: a fixed number of connections
	duration time.Duration
}

// Limits of params.
const (
	maxConns = 1 << 16
	maxSends = 1 << 14
	maxBytes = 1 << 23
)

// Command makes the command 'gorxe cm'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "cm {-s | -c host} [flags]",
		Short: "Connect and disconnect with rdma_cm, as ucmatose does",
		Long: `Makes connections with the connection manager, sends messages both ways over each and
ends them. The client reports the connection rate. The other end may be gorxe
or a tool of librdmacm: ucmatose, rdma_server, rdma_client or cmtime. With -P udp both ends
use datagram queue pairs instead of connections; with "-P udp -p 7174" the other end may be
udaddy. Give both ends the same number of connections and messages, and the same size; a
server with -n 0 accepts any number of connections. Some flags differ from those of ucmatose:
-s makes the server (there "-s HOST" makes the client), -c HOST the client, and -n is the number
of connections (there -c).

cmtime of rdma-core 52 to 58 needs --step. Then both ends make and end connections in three
rounds (one connection, then the number of -n, then this number again) and send no messages.
They also connect over TCP, to the port of -p, IPv4 only.

Each end needs a local address whose UDP port 4791 no other process uses: -b or --ib-dev
selects it.`,
		Example: `  gorxe cm -s -b 127.0.0.1                      server
  gorxe cm -c 127.0.0.1 -b 127.0.0.2 -n 100     client on the same host, with 100 connections
  gorxe cm -s -b 127.0.0.1 -n 0 -C 0            server until it is stopped, without messages
  gorxe cm -c 127.0.0.1 -b 127.0.0.2 -D 60 -C 0 its client, which connects and disconnects for a minute
  gorxe cm -c 192.0.2.7 -n 32 -C 100            against "ucmatose -c 32 -C 100" on 192.0.2.7
  gorxe cm -s -P udp -p 7174                    against "udaddy -s 192.0.2.1"
  gorxe cm -s -n 100 --step                     against "cmtime -s 192.0.2.1 -c 100"`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if p.step && !c.Flags().Changed("count") {
				p.count = 0
			}
			if err := p.check(); err != nil {
				return err
			}
			return run(c.Context(), a, p)
		},
	}
	p.addFlags(c.Flags())
	return c
}

func (p *params) addFlags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.BoolVarP(&p.server, "server", "s", false, "wait for connections")
	fs.StringVarP(&p.host, "client", "c", "", "connect to `host`")
	fs.StringVarP(&p.bind, "bind", "b", "", "local `address`: server: to listen on; client: to use, as --ib-dev")
	fs.Uint16VarP(&p.port, "port", "p", defaultPort, "`port` to listen on or connect to")
	fs.StringVarP(&p.space, "port-space", "P", "tcp", "port `space`: tcp for connections, udp for datagram queue pairs")
	fs.IntVarP(&p.conns, "connections", "n", 1,
		"`number` of connections; 0 at a server: unlimited, until it is stopped")
	fs.IntVarP(&p.seconds, "duration", "D", 0,
		"client: connect and disconnect for this number of `seconds`, -j connections at a time; instead of -n")
	fs.IntVarP(&p.parallel, "parallel", "j", 64,
		"client: maximum `number` of connections that are being made at a time")
	fs.BoolVar(&p.step, "step", false, "synchronize with cmtime of rdma-core 52 to 58 over a TCP connection")
	fs.IntVarP(&p.count, "count", "C", 10, "`number` of messages each way on each connection")
	app.AddSize(fs, &p.size, "size", "S", 100, "`bytes` per message; K and M mean 2^10 and 2^20")
	p.device.Add(fs)
}

func (p *params) check() error {
	err := app.CheckRanges(
		app.InRange("-n", p.conns, p.fewest(), maxConns), app.InRange("-D", p.seconds, 0, 1<<30),
		app.InRange("-j", p.parallel, 1, maxConns),
		app.InRange("-C", p.count, 0, maxSends), app.InRange("-S", p.size, 1, maxBytes))
	if err != nil {
		return err
	}
	if p.server == (p.host != "") {
		return app.Usagef("give one of -s, to wait for connections, and -c HOST, to make them")
	}
	if p.space != "tcp" && p.space != "udp" {
		return app.Usagef("-P %q: choose tcp or udp", p.space)
	}
	p.duration = time.Duration(p.seconds) * time.Second
	if p.seconds > 0 && (p.server || p.space == "udp") {
		return app.Usagef("-D %d: -D is for clients; give the server -n 0", p.seconds)
	}
	if p.seconds > 0 && p.conns != 1 {
		return app.Usagef("-n %d: with -D the time limits the number of connections: omit -n", p.conns)
	}
	if p.conns == 0 && p.space == "udp" {
		return app.Usagef("-n 0: with -P udp a server needs the number of queue pairs")
	}
	if p.step && (p.space == "udp" || p.seconds > 0 || p.conns == 0 || p.count > 0) {
		return app.Usagef("--step: cmtime makes as many connections as -n says and sends nothing over them: omit -C, -D, -P udp and -n 0")
	}
	if !p.server {
		if err := p.device.CheckSource("-b", p.bind); err != nil {
			return err
		}
	}
	return p.device.Check()
}

// fewest returns the minimum of -n: 0 makes a server run without end.
func (p *params) fewest() int {
	if p.server {
		return 0
	}
	return 1
}

func (p *params) portSpace() verbs.PortSpace {
	if p.space == "udp" {
		return verbs.PortSpaceUDP
	}
	return verbs.PortSpaceTCP
}

// run runs one end of the test.
func run(ctx context.Context, a *app.App, p *params) (err error) {
	e := &end{params: p, out: a.Stdout, tcp: a.TCP}
	if p.server {
		e.dev, e.at, err = a.OpenToServe(ctx, &p.device, p.bind)
	} else {
		e.dev, e.remote, err = a.OpenToDial(ctx, &p.device, p.bind, p.host, p.port)
	}
	if err != nil {
		return err
	}
	defer e.dev.Close()
	e.pd = e.dev.AllocPD()
	e.announce = func(l *verbs.Listener) { a.Announce(l, e.dev) }
	switch {
	case p.step:
		return e.runSynced(ctx)
	case p.space == "udp":
		return e.datagrams(ctx)
	case p.duration > 0:
		return e.loop(ctx)
	case p.conns == 0:
		return e.serve(ctx)
	}
	return e.connections(ctx)
}
