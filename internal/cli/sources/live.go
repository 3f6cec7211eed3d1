// Package sources opens the live captures that commands read: of a network interface, or of the
// daemon.
package sources

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

// Live are the flags that select a live capture.
type Live struct {
	Interface    string
	Daemon       bool
	Socket, Peer string
}

// Add defines the flags on fs.
func (f *Live) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Interface, "interface", "i", "",
		"capture on a network `interface` until interrupted (needs CAP_NET_RAW)")
	fs.BoolVar(&f.Daemon, "daemon", false, "see the packets of a running 'gorxe daemon' until interrupted")
	fs.StringVar(&f.Socket, "socket", "",
		"with --daemon: `path` of its control socket (default: the first that exists of: this user's; "+
			"that of a daemon that 'gorxe run' started; the system's)")
	fs.StringVar(&f.Peer, "peer", "", "with --daemon: only packets to and from an `address`")
}

// Check rejects contradictions between the flags, and with source, the file to read.
func (f *Live) Check(source string) error {
	switch {
	case f.Interface != "" && source != "":
		return app.Usagef("-i %s captures: leave the file %q out", f.Interface, source)
	case f.Daemon && source != "":
		return app.Usagef("--daemon captures: leave the file %q out", source)
	case f.Daemon && f.Interface != "":
		return app.Usagef("give -i or --daemon, not both")
	case !f.Daemon && f.Socket+f.Peer != "":
		return app.Usagef("--socket and --peer are for --daemon")
	}
	if f.Peer != "" {
		if _, err := netip.ParseAddr(f.Peer); err != nil {
			return app.Usagef("--peer %q: give an IP address", f.Peer)
		}
	}
	return nil
}

// Selected reports whether the flags select a live capture.
func (f *Live) Selected() bool { return f.Interface != "" || f.Daemon }

// Capture is a live capture that ends when the context of [Live.Open] is done. It is a
// [trace.Source].
type Capture struct {
	trace.Source
	Name    string // "eth0" or "the daemon"
	Banner  string // what is captured, and how to end it
	close   func() error
	dropped func() uint64
}

// Close ends the capture. It may be called concurrently with Next.
func (c *Capture) Close() error { return c.close() }

// Dropped returns the number of frames that were not captured, because they came faster than they
// were read. The daemon counts them in frame comments instead; see [trace.Pipeline.Missing].
func (c *Capture) Dropped() uint64 {
	if c.dropped == nil {
		return 0
	}
	return c.dropped()
}

// Open starts the selected capture. idle is called before each wait for a frame.
func (f *Live) Open(ctx context.Context, a *app.App, idle func() error) (*Capture, error) {
	if f.Daemon {
		return f.openDaemon(ctx, a, idle)
	}
	c, err := a.Live(f.Interface, func() { _ = idle() })
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	return &Capture{Source: c, Name: f.Interface, Banner: fmt.Sprintf("capturing on %s, until Ctrl-C", f.Interface),
		dropped: c.Dropped, close: func() error { stop(); return c.Close() }}, nil
}

func (f *Live) openDaemon(ctx context.Context, a *app.App, idle func() error) (*Capture, error) {
	query := url.Values{}
	if f.Peer != "" {
		query.Set("peer", f.Peer)
	}
	body, err := a.Control(f.Socket).Stream(ctx, "/v1/packets", query)
	if err != nil {
		return nil, err
	}
	r, err := capture.Open(&idleReader{body, idle})
	if err != nil {
		body.Close()
		return nil, fmt.Errorf("the daemon: %w", err)
	}
	return &Capture{Source: &untilEnd{r, ctx}, Name: "the daemon", Banner: "the packets of the daemon, until Ctrl-C",
		close: body.Close}, nil
}

// idleReader calls idle before each read, which may block for a long time.
type idleReader struct {
	r    io.Reader
	idle func() error
}

func (r *idleReader) Read(b []byte) (int, error) {
	if err := r.idle(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
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
