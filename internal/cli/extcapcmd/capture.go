package extcapcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/sources"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/filter"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// runCapture writes the packets of a device to the FIFO until ctx is done, the daemon ends or
// Wireshark closes the FIFO. None of these is a failure.
func runCapture(ctx context.Context, a *app.App, p *params) error {
	chosen, err := filter.Parse(p.filter)
	if err != nil {
		return app.Usagef("capture %w", err)
	}
	d := &ofDevice{ctx: ctx, app: a, params: p}
	if err := d.refresh(); err != nil {
		return err
	}
	out, err := openFIFO(ctx, p.fifo)
	if err != nil {
		return err
	}
	defer out.Close()
	w := writer(out, p.comments)
	if err := w.Flush(); err != nil { // Wireshark waits for the file header
		return ended(err)
	}
	live := sources.Live{Daemon: true, Socket: p.socket, Peer: p.peer}
	c, err := live.Open(ctx, a, w.Flush)
	if err != nil {
		return err
	}
	defer c.Close()
	d.Source = c
	pipe := trace.Pipeline{Outputs: []trace.Output{w}, Options: trace.Options{NoMeaning: !p.comments}}
	if p.filter != "" {
		pipe.Filter = chosen
	}
	return ended(pipe.Run(context.WithoutCancel(ctx), d))
}

// ended returns err unless it means that Wireshark closed the FIFO.
func ended(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// frameWriter is an output of frames.
type frameWriter interface {
	trace.Output
	Flush() error
}

// writer returns a writer of frames to w, with the meaning of the packets as comments or without.
func writer(w io.Writer, comments bool) frameWriter {
	o := pcapng.Options{Application: "gorxe " + app.BuildVersion(), Description: "packets of gorxe daemon"}
	if comments {
		return pcapng.NewPackets(w, o)
	}
	return &frames{Writer: pcapng.NewWriter(w, o)}
}

// frames writes frames without comments of its own. It is an output of a trace.Pipeline.
type frames struct {
	*pcapng.Writer
	latest int // number of the latest frame
}

// Packet writes the frame of p, once.
func (w *frames) Packet(p *trace.Packet) error {
	if p.Number == w.latest {
		return nil
	}
	return w.Frame(p.Frame)
}

// Frame writes f.
func (w *frames) Frame(f *capture.Frame) error {
	w.latest = f.Number
	return w.Writer.Frame(f)
}

// openFIFO opens a FIFO or a file for writing, or fails when ctx is done: opening a FIFO waits for
// a reader.
func openFIFO(ctx context.Context, name string) (*os.File, error) {
	return app.OpenUntil(ctx, name, func() (*os.File, error) {
		return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	})
}

// maxAddresses is the maximum number of addresses whose owner an ofDevice keeps. Frames of further
// addresses are left out.
const maxAddresses = 1024

// ofDevice is a source of the frames of one device, with their own numbers. In the daemon's stream
// a frame has the local address of its link as its interface; see record.Hub.
type ofDevice struct {
	trace.Source
	ctx    context.Context
	app    *app.App
	params *params

	mine   map[string]bool // by address: whether the device has it
	number int             // of the latest frame
}

// refresh asks the daemon which addresses the device has. It fails if there is no such device.
func (d *ofDevice) refresh() error {
	all, err := devices(d.ctx, d.app, d.params)
	if err != nil {
		return err
	}
	found := false
	if d.mine == nil {
		d.mine = map[string]bool{}
	}
	for i := range all {
		is := interfaceName(all[i].Name) == d.params.iface
		found = found || is
		for _, g := range all[i].GIDs {
			d.mine[g.Addr.String()] = is
		}
	}
	if !found {
		return fmt.Errorf("the daemon has no device for the interface %q", d.params.iface)
	}
	return nil
}

// Next reads the next frame of the device.
func (d *ofDevice) Next(f *capture.Frame) error {
	for {
		if err := d.Source.Next(f); err != nil {
			return err
		}
		mine, known := d.mine[f.Interface]
		if !known && len(d.mine) < maxAddresses {
			// The device may have another address now. An error means that the daemon is ending, or
			// that the device is gone.
			d.mine[f.Interface] = false
			_ = d.refresh()
			mine = d.mine[f.Interface]
		}
		if mine {
			d.number++
			f.Number = d.number
			return nil
		}
	}
}
