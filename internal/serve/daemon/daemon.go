package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/daemon/peerlog"
	"github.com/gorxe/gorxe/internal/serve/respond"
	"github.com/gorxe/gorxe/verbs"
)

// States of a daemon, as reported in its status.
const (
	starting = "starting"
	running  = "running"
	draining = "draining"
)

// A Part is a service on the devices of a daemon, such as the built-in server. While parts drain,
// the devices disconnect their connections.
type Part interface {
	// Start starts the part and returns; ctx ends when the daemon has drained. After an error the
	// part must not leave anything behind.
	Start(ctx context.Context, d *Daemon) error
	// Drain stops accepting, notifies peers, and returns when they have answered or ctx ends.
	Drain(ctx context.Context) error
}

// Options holds the dependencies of a daemon. Only Version and Stderr have no default.
type Options struct {
	Version string
	Stderr  io.Writer // destination of the log
	Parts   []Part

	Open   func(verbs.Config) (*verbs.Device, error)
	Socket func(path string, mode fs.FileMode, gid int) (net.Listener, error)
	// Programs opens the socket for 'gorxe run'. If it is nil and Socket is set, there is no such
	// socket.
	Programs func(path string, mode fs.FileMode, gid int) (net.Listener, error)
	TCP      func(addr string) (net.Listener, error)
	Notify   func(state string) error
}

// Daemon is a running daemon.
type Daemon struct {
	plan    *Plan
	opts    Options
	log     *slog.Logger
	peers   *peerlog.Limiter // log of lines that peers cause
	level   slog.LevelVar
	state   atomic.Value // of string
	started time.Time

	packets *packets
	stop    context.CancelFunc // ends the daemon, as a signal does

	mu      sync.Mutex
	devices []*verbs.Device // guarded by mu

	watching sync.WaitGroup
}

// Run runs a daemon. It returns when ctx has ended and the daemon has drained, or with an error
// if it cannot start.
func Run(ctx context.Context, p *Plan, o Options) error {
	d := &Daemon{plan: p, opts: o.withDefaults(), started: time.Now()}
	d.state.Store(starting)
	d.level.Set(p.Log.Level)
	d.log = newLog(d.opts.Stderr, p.Log.Format, &d.level)
	d.peers = peerlog.New(d.log.Handler())
	defer d.peers.Close()
	return d.run(ctx)
}

func (o Options) withDefaults() Options {
	if o.Parts == nil {
		o.Parts = []Part{&Rping{}, &Respond{}, &Regions{}, &Programs{}}
	}
	if o.Open == nil {
		o.Open = verbs.Open
	}
	if o.Socket == nil {
		o.Socket = control.Listen
		if o.Programs == nil {
			o.Programs = control.ListenPrograms
		}
	}
	if o.TCP == nil {
		o.TCP = respond.Listen
	}
	if o.Notify == nil {
		o.Notify = notify
	}
	return o
}

func newLog(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// Devices returns the open devices.
func (d *Daemon) Devices() []*verbs.Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.devices)
}

// Plan returns the plan that the daemon was started with.
func (d *Daemon) Plan() *Plan { return d.plan }

// Log returns the daemon's log.
func (d *Daemon) Log() *slog.Logger { return d.log }

// PeerLog returns the daemon's log for lines that peers cause, which is rate-limited.
func (d *Daemon) PeerLog() *slog.Logger { return d.peers.Logger() }

func (d *Daemon) run(ctx context.Context) (err error) {
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	// The socket comes first: it detects another daemon that is running.
	socket, err := d.openSocket()
	if err != nil {
		return err
	}
	d.packets = newPackets(d.opts.Version)
	stopControl := d.serveControl(socket)
	defer stopControl()
	defer d.packets.end()
	if err := d.startTrace(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.closeTrace()) }()
	defer func() { err = errors.Join(err, d.closeDevices()) }()
	// Parts and connections outlive ctx until they are drained.
	working, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	if err := d.openDevices(working); err != nil {
		return err
	}
	stopMetrics, err := d.serveMetrics()
	if err != nil {
		return err
	}
	defer stopMetrics()
	for i, part := range d.opts.Parts {
		if err := part.Start(working, d); err != nil {
			d.drain(d.opts.Parts[:i])
			return err
		}
	}
	d.state.Store(running)
	d.tell("READY=1")
	d.log.Info("ready", "version", d.opts.Version, "control", d.plan.Control.Socket, "metrics", d.plan.Metrics.Listen)

	<-ctx.Done()
	d.state.Store(draining)
	d.tell("STOPPING=1")
	d.log.Info("stopping", "drain", d.plan.Drain.String())
	d.drain(d.opts.Parts)
	d.log.Info("stopped")
	return nil
}

// tell sends a state to the service manager.
func (d *Daemon) tell(state string) {
	err := d.opts.Notify(state)
	if errors.Is(err, fs.ErrNotExist) && d.state.Load() == draining {
		return // the process that started the daemon waited only for its start
	}
	if err != nil {
		d.log.Warn("cannot notify the service manager", "state", state, "error", err)
	}
}

// drain drains devices and parts concurrently, within the time that the plan permits.
func (d *Daemon) drain(parts []Part) {
	ctx, cancel := context.WithTimeout(context.Background(), d.plan.Drain)
	defer cancel()
	var wg sync.WaitGroup
	for _, dev := range d.Devices() {
		wg.Go(func() {
			if err := dev.Drain(ctx); err != nil {
				d.log.Warn("connections cut off while draining", "device", dev.Name(), "error", err)
			}
		})
	}
	for _, p := range parts {
		wg.Go(func() {
			if err := p.Drain(ctx); err != nil {
				d.log.Warn("service cut off while draining", "error", err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		// A part that ignores ctx is left running; its devices are closed.
	}
}

func (d *Daemon) openDevices(ctx context.Context) error {
	for i := range d.plan.Devices {
		c := &d.plan.Devices[i]
		dev, err := d.opts.Open(verbs.Config{
			Name: c.Name, Device: c.On(), Link: c.Link, Follow: true, ConnManager: true, Admit: c.Wants,
			MTU: verbs.MTU(c.MTU), MaxQP: c.MaxQP, MaxMR: c.MaxMR,
			Peers: c.Peers, Logger: d.log, Spin: cmp.Or(c.Spin, -1), Shards: c.Shards, Wrap: d.packets.wrap,
			Observer: d.packets.observer(),
			Loopback: c.Loopback,
		})
		if err != nil {
			return fmt.Errorf("device %s on %s: %w", c.Name, c.On(), err)
		}
		d.mu.Lock()
		d.devices = append(d.devices, dev)
		d.mu.Unlock()
		if why := d.plan.Places[i].Missing; why != nil {
			d.log.Warn("waiting for the network", "device", c.Name, "on", c.On(), "reason", why)
		}
		for _, g := range dev.GIDs() {
			d.log.Info("GID", "device", c.Name, "index", g.Index, "gid", g.GID.String(), "interface", g.NetDev,
				"mtu", int(g.MTU))
		}
		d.watching.Go(func() { d.watch(ctx, dev) })
	}
	return nil
}

// watch logs the events of a device until it is closed. Events of queue pairs and queues have
// level debug, because the host does not cause them.
func (d *Daemon) watch(ctx context.Context, dev *verbs.Device) {
	for {
		e, err := dev.Event(ctx)
		if err != nil {
			return
		}
		for _, p := range d.opts.Parts {
			if p, ok := p.(*Programs); ok {
				p.event(dev, e)
			}
		}
		log, level := d.log, slog.LevelDebug
		switch e.Type {
		case verbs.EventPortActive:
			level = slog.LevelInfo
		case verbs.EventPortErr:
			level = slog.LevelWarn
		case verbs.EventDeviceFatal:
			level = slog.LevelError
		default: // a peer can break its queue pairs arbitrarily often
			log = d.PeerLog()
		}
		log.Log(ctx, level, "event", "device", dev.Name(), "event", e.String())
	}
}

func (d *Daemon) closeDevices() error {
	var errs []error
	for _, dev := range d.Devices() {
		errs = append(errs, dev.Close())
	}
	d.watching.Wait()
	return errors.Join(errs...)
}

// pid is the process ID of this process.
var pid = os.Getpid()
