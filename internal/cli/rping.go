package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/serve/rping"
	"github.com/gorxe/gorxe/trace/text"
	"github.com/gorxe/gorxe/verbs"
)

// rpingParams are rping's flags.
type rpingParams struct {
	device         managedFlags
	server, client bool
	addr, source   string
	port           uint16
	count          uint64
	size           int
	verbose        bool
	validate       bool
	persistent     bool
}

func rpingCommand(a *app) *cobra.Command {
	p := &rpingParams{}
	c := &cobra.Command{
		Use:   "rping -s|-c [flags]",
		Short: "Ping by RDMA READ and WRITE over rdma_cm, as rping does",
		Long: `The server reads what the client names and writes it back. The other end may be gorxe or
rping of rdma-core; flags are those of rping.`,
		Example: `  gorxe rping -s -a 127.0.0.1                 server
  gorxe rping -c -a 127.0.0.1 -I 127.0.0.2 -C 10 -V    client on the same host
  gorxe rping -c -a 192.0.2.7 -C 100 -v      against "rping -s" on 192.0.2.7`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := p.check(); err != nil {
				return err
			}
			if p.server {
				return rpingServer(c.Context(), a, p)
			}
			return rpingClient(c.Context(), a, p)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&p.server, "server", "s", false, "answer pings")
	fs.BoolVarP(&p.client, "client", "c", false, "ping a server")
	fs.StringVarP(&p.addr, "address", "a", "", "`address` of the server, at the server that to listen at (default: all)")
	fs.StringVarP(&p.source, "source", "I", "", "local `address` of the client")
	fs.Uint16VarP(&p.port, "port", "p", rping.Port, "`port`")
	fs.Uint64VarP(&p.count, "count", "C", 0, "`number` of pings (0: without end)")
	addSize(fs, &p.size, "size", "S", rping.DefaultSize, "`bytes` of a ping, 23 to 65535")
	fs.BoolVarP(&p.verbose, "verbose", "v", false, "print each ping")
	fs.BoolVarP(&p.validate, "validate", "V", false, "compare every byte that comes back")
	fs.BoolVarP(&p.persistent, "persistent", "P", false, "server: go on after the first client, and serve many at a time")
	p.device.add(fs)
	addAccepted(fs, "debug", "d")
	addAccepted(fs, "own-qp", "q")
	return c
}

func (p *rpingParams) check() error {
	if p.server == p.client {
		return usagef("give -s to answer pings or -c to ping a server")
	}
	if p.client && p.addr == "" {
		return usagef("-c needs the server's address: -a ADDRESS")
	}
	if err := checkRanges(inRange("-S", p.size, rping.MinSize, rping.MaxSize)); err != nil {
		return err
	}
	return p.device.check()
}

// rpingServer serves one client, or all that come.
func rpingServer(ctx context.Context, a *app, p *rpingParams) error {
	dev, at, err := a.serving(ctx, &p.device, p.addr)
	if err != nil {
		return err
	}
	defer dev.Close()
	l, err := dev.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(at, p.port), 0)
	if err != nil {
		return err
	}
	defer l.Close()
	a.announce(l, dev)
	s := &rping.Server{PD: dev.AllocPD(), Size: p.size, KeepAlive: keepAlive, Ping: p.print(a, "server ping data: ")}
	if !p.persistent {
		r, err := l.Next(ctx)
		if err != nil {
			return err
		}
		return s.Serve(ctx, r)
	}
	// As much as any client may ask for.
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
				fmt.Fprintf(a.stderr, "gorxe: %v: %s\n", r.Remote(), oneLine(err))
			}
		})
	}
}

func rpingClient(ctx context.Context, a *app, p *rpingParams) error {
	dev, to, err := a.dialing(ctx, &p.device, p.source, p.addr, p.port)
	if err != nil {
		return err
	}
	defer dev.Close()
	c := &rping.Client{PD: dev.AllocPD(), Size: p.size, Count: p.count, Validate: p.validate, KeepAlive: keepAlive, Ping: p.print(a, "ping data: ")}
	if err := c.Run(ctx, to); err != nil {
		return err
	}
	compared := ""
	if p.validate {
		compared = ", every byte compared"
	}
	fmt.Fprintf(a.stdout, "%d pings of %d bytes came back%s\n", p.count, p.size, compared)
	return nil
}

// print returns what prints a ping, nil without -v.
func (p *rpingParams) print(a *app, head string) func(text []byte) {
	if !p.verbose {
		return nil
	}
	var mu sync.Mutex
	return func(ping []byte) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.stdout, "%s%s\n", head, text.Plain(string(ping)))
	}
}
