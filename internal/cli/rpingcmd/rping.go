// Package rpingcmd implements 'gorxe rping': both ends of rping.
package rpingcmd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/rping"
	"github.com/gorxe/gorxe/trace/text"
	"github.com/gorxe/gorxe/verbs"
)

// params are the flags of rping.
type params struct {
	device         app.ManagedFlags
	server, client bool
	addr, source   string
	port           uint16
	count          uint64
	size           int
	verbose        bool
	validate       bool
	persistent     bool
}

// Command makes the command 'gorxe rping'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "rping -s|-c [flags]",
		Short: "Ping by RDMA READ and WRITE over rdma_cm, as rping does",
		Long: `The server reads the memory that the client advertises and writes the data back. The other
end may be gorxe or rping of rdma-core; flags are those of rping.

Each end needs a local address whose UDP port 4791 no other process uses. -a selects it for a
server and -I for a client; --ib-dev selects it for either.`,
		Example: `  gorxe rping -s -a 127.0.0.1                 server
  gorxe rping -c -a 127.0.0.1 -I 127.0.0.2 -C 10 -V    client on the same host, at another address
  gorxe rping -c -a 192.0.2.7 -C 100 -v      against "rping -s" on 192.0.2.7`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.check(); err != nil {
				return err
			}
			if p.server {
				return serve(c.Context(), a, p)
			}
			return ping(c.Context(), a, p)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&p.server, "server", "s", false, "answer pings")
	fs.BoolVarP(&p.client, "client", "c", false, "ping a server")
	fs.StringVarP(&p.addr, "address", "a", "",
		"server: `address` to listen on (default: all); client: address of the server")
	fs.StringVarP(&p.source, "source", "I", "", "client: local `address` to use, the same as --ib-dev")
	fs.Uint16VarP(&p.port, "port", "p", rping.Port, "`port` of rdma_cm; these ports are not those of TCP and UDP")
	fs.Uint64VarP(&p.count, "count", "C", 0, "`number` of pings (0: unlimited)")
	app.AddSize(fs, &p.size, "size", "S", rping.DefaultSize, "`bytes` of a ping, 23 to 65535")
	fs.BoolVarP(&p.verbose, "verbose", "v", false, "print each ping")
	fs.BoolVarP(&p.validate, "validate", "V", false, "verify all returned data")
	fs.BoolVarP(&p.persistent, "persistent", "P", false,
		"server: keep serving after the first client, several at a time")
	p.device.Add(fs)
	app.AddAccepted(fs, "debug", "d")
	app.AddAccepted(fs, "own-qp", "q")
	return c
}

func (p *params) check() error {
	if p.server == p.client {
		return app.Usagef("give -s to answer pings or -c to ping a server")
	}
	if p.client && p.addr == "" {
		return app.Usagef("-c needs the server's address: -a ADDRESS")
	}
	if err := app.CheckRanges(app.InRange("-S", p.size, rping.MinSize, rping.MaxSize)); err != nil {
		return err
	}
	if p.server && p.source != "" {
		return app.Usagef("-I %s: -I is for the client; -a selects the address of the server", p.source)
	}
	if err := p.device.CheckSource("-I", p.source); err != nil {
		return err
	}
	return p.device.Check()
}

// serve serves one client, or with -P all clients.
func serve(ctx context.Context, a *app.App, p *params) error {
	dev, at, err := a.OpenToServe(ctx, &p.device, p.addr)
	if err != nil {
		return err
	}
	defer dev.Close()
	l, err := dev.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(at, p.port), 0)
	if err != nil {
		return err
	}
	defer l.Close()
	a.Announce(l, dev)
	s := &rping.Server{PD: dev.AllocPD(), Size: p.size, KeepAlive: session.KeepAliveInterval,
		Ping: p.print(a, "server ping data: ")}
	if !p.persistent {
		r, err := l.Next(ctx)
		if err != nil {
			return err
		}
		return s.Serve(ctx, r)
	}
	// With -P each client may use any size.
	s.Size = rping.MaxSize
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		r, err := l.Next(ctx)
		if err != nil {
			return err
		}
		serving.Go(func() {
			if err := s.Serve(ctx, r); err != nil && !errors.Is(err, ctx.Err()) {
				fmt.Fprintf(a.Stderr, "gorxe: %v: %s\n", r.Remote(), app.OneLine(err))
			}
		})
	}
}

func ping(ctx context.Context, a *app.App, p *params) error {
	dev, to, err := a.OpenToDial(ctx, &p.device, p.source, p.addr, p.port)
	if err != nil {
		return err
	}
	defer dev.Close()
	c := &rping.Client{PD: dev.AllocPD(), Size: p.size, Count: p.count, Validate: p.validate,
		KeepAlive: session.KeepAliveInterval, Ping: p.print(a, "ping data: ")}
	if err := c.Run(ctx, to); err != nil {
		return err
	}
	compared := ""
	if p.validate {
		compared = ", every byte compared"
	}
	fmt.Fprintf(a.Stdout, "%d pings of %d bytes returned%s\n", p.count, p.size, compared)
	return nil
}

// print returns a function that prints a ping, nil without -v.
func (p *params) print(a *app.App, head string) func(text []byte) {
	if !p.verbose {
		return nil
	}
	var mu sync.Mutex
	return func(ping []byte) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.Stdout, "%s%s\n", head, text.Plain(string(ping)))
	}
}
