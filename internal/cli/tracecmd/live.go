package tracecmd

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// liveFlags select a live capture.
type liveFlags struct {
	iface  string
	daemon bool
	socket string
	peer   string
}

func (f *liveFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.iface, "interface", "i", "",
		"capture on a network `interface` until interrupted (needs CAP_NET_RAW)")
	fs.BoolVar(&f.daemon, "daemon", false, "see the packets of a running 'gorxe daemon' until interrupted")
	fs.StringVar(&f.socket, "socket", "",
		"with --daemon: `path` of its control socket (default: the first that exists of: this user's; "+
			"that of a daemon that 'gorxe run' started; the system's)")
	fs.StringVar(&f.peer, "peer", "", "with --daemon: only packets to and from an `address`")
}

func (f *liveFlags) check(source string) error {
	switch {
	case f.iface != "" && source != "":
		return app.Usagef("-i %s captures: leave the file %q out", f.iface, source)
	case f.daemon && source != "":
		return app.Usagef("--daemon captures: leave the file %q out", source)
	case f.daemon && f.iface != "":
		return app.Usagef("give -i or --daemon, not both")
	case !f.daemon && f.socket+f.peer != "":
		return app.Usagef("--socket and --peer are for --daemon")
	}
	if f.peer != "" {
		if _, err := netip.ParseAddr(f.peer); err != nil {
			return app.Usagef("--peer %q: give an IP address", f.peer)
		}
	}
	return nil
}

// runLive captures until ctx is done, which is not a failure.
func runLive(ctx context.Context, a *app.App, p *params, t *tracing) error {
	c, err := a.Live(p.live.iface, func() { _ = t.Flush() })
	if err != nil {
		return err
	}
	defer c.Close()
	if err = t.open(a, p); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "capturing on %s, until Ctrl-C\n", p.live.iface)
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := t.run(context.WithoutCancel(ctx), c); err != nil {
		return fmt.Errorf("%s: %w", p.live.iface, err)
	}
	printSummary(a, p.live.iface, t)
	if missed := c.Dropped(); missed > 0 {
		fmt.Fprintf(a.Stderr, "%s: %s missed: they came faster than they could be read\n", p.live.iface,
			app.Plural(int(missed), "frame"))
	}
	return nil
}

// runDaemonTrace shows the packets of a daemon until ctx is done or the daemon ends, which is not
// a failure.
func runDaemonTrace(ctx context.Context, a *app.App, p *params, t *tracing) error {
	query := url.Values{}
	if p.live.peer != "" {
		query.Set("peer", p.live.peer)
	}
	body, err := a.Control(p.live.socket).Stream(ctx, "/v1/packets", query)
	if err != nil {
		return err
	}
	defer body.Close()
	r, err := capture.Open(&flushing{body, t})
	if err != nil {
		return fmt.Errorf("the daemon: %w", err)
	}
	if err = t.open(a, p); err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "the packets of the daemon, until Ctrl-C")
	err = t.run(context.WithoutCancel(ctx), &untilEnd{r, ctx})
	if err != nil {
		return fmt.Errorf("the daemon: %w", err)
	}
	printSummary(a, "the daemon", t)
	return nil
}

// untilEnd is a capture whose error after ctx is done means its end, even in the middle of a frame.
type untilEnd struct {
	trace.Source
	ctx context.Context
}

func (u *untilEnd) Next(f *capture.Frame) error {
	err := u.Source.Next(f)
	if err != nil && u.ctx.Err() != nil {
		return io.EOF
	}
	return err
}
