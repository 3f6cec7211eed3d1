package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/daemon/metrics"
	"github.com/gorxe/gorxe/verbs"
)

// Timeouts and limits of HTTP clients, so that a slow or silent client does not stay forever.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = time.Minute
	idleTimeout   = time.Minute
	maxHeader     = 1 << 14
)

// openSocket opens the control socket. If another daemon has it, the error names its process.
func (d *Daemon) openSocket() (net.Listener, error) {
	c := &d.plan.Control
	l, err := d.opts.Socket(c.Socket, c.Mode, d.plan.GID)
	if !errors.Is(err, control.ErrInUse) {
		return l, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var other control.Status
	if control.NewClient(c.Socket, nil).Get(ctx, "/v1/status", nil, &other) == nil && other.PID > 0 {
		return nil, fmt.Errorf(
			"control socket %s is in use by gorxe daemon %d: stop it, or choose another with --control-socket",
			c.Socket, other.PID)
	}
	return nil, fmt.Errorf("%w: stop that program, or give this one another with --control-socket", err)
}

// server returns an HTTP server that logs its errors at level debug.
func (d *Daemon) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: answerTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
}

// serveControl serves the control socket until stop is called.
func (d *Daemon) serveControl(l net.Listener) (stop func()) {
	return d.serve(l, d.server(&control.Server{
		Status: d.status, Devices: d.Devices, Counters: d.counters, DaemonCounters: d.daemonCounters,
		Packets: d.packets.stream, Level: &d.level, Log: d.log,
	}))
}

func (d *Daemon) serve(l net.Listener, s *http.Server) (stop func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("a server ended", "address", l.Addr(), "error", err)
		}
	}()
	return func() {
		// Answers are short: those in progress may finish.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		<-over
	}
}

// serveMetrics serves /metrics at the address of the plan.
func (d *Daemon) serveMetrics() (stop func(), err error) {
	if d.plan.Metrics.Listen == "" {
		return func() {}, nil
	}
	l, err := d.opts.TCP(d.plan.Metrics.Listen)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w: choose another address with --metrics-listen", err)
	}
	mux := http.NewServeMux()
	errorLog := slog.NewLogLogger(d.log.Handler(), slog.LevelDebug)
	mux.Handle("GET /metrics", gathered(promhttp.HandlerFor(d.registry(), promhttp.HandlerOpts{ErrorLog: errorLog})))
	over := make(chan struct{})
	s := d.server(paced(mux, over))
	s.ReadTimeout, s.WriteTimeout = scrapeTimeout, scrapeTimeout
	end := d.serve(newBoundedListener(l, maxScrapers, maxScrapersOfHost), s)
	return func() {
		close(over)
		end()
	}, nil
}

func (d *Daemon) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		&metrics.Collector{
			Devices: d.Devices, Counters: d.counters, Draining: func() bool { return d.state.Load() == draining },
			Version:        d.opts.Version,
			DaemonCounters: d.daemonCounters,
		},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// counters returns the counters of a device and of the services on it.
func (d *Daemon) counters(dev *verbs.Device) map[string]uint64 {
	all := dev.Counters()
	for _, p := range d.opts.Parts {
		switch p := p.(type) {
		case *Regions:
			p.count(dev, func(name string, value uint64) { all["region_"+name] = value })
		case *Rping:
			p.count(dev, func(name string, value uint64) { all["rping_"+name] = value })
		}
	}
	return all
}

// daemonCounters calls f with the counters of the daemon and its parts that do not belong to a
// device.
func (d *Daemon) daemonCounters(f func(name string, value uint64)) {
	f("log_lines_suppressed", d.peers.Suppressed())
	d.packets.count(f)
	for _, p := range d.opts.Parts {
		if c, ok := p.(interface {
			Counters(f func(name string, value uint64))
		}); ok {
			c.Counters(f)
		}
	}
}

// status returns the status of the daemon.
func (d *Daemon) status() control.Status {
	s := control.Status{
		Version: d.opts.Version, PID: pid, State: d.state.Load().(string),
		Started: d.started.UTC().Truncate(time.Second), LogLevel: strings.ToLower(d.level.Level().String()),
		Socket: d.plan.Control.Socket, Metrics: d.plan.Metrics.Listen,
		Devices: []control.Device{}, Services: d.plan.Services(), Regions: []control.Region{},
		Programs: []control.Program{},
	}
	for i, dev := range d.Devices() {
		s.Devices = append(s.Devices, control.DeviceOf(dev, d.plan.Devices[i].Peers))
	}
	for _, p := range d.opts.Parts {
		switch p := p.(type) {
		case *Regions:
			s.Regions = p.describe()
		case *Programs:
			p.describe(&s)
		}
	}
	return s
}
