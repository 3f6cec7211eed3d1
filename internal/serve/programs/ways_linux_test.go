//go:build linux && (amd64 || arm64)

package programs

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/serve/broker"
	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// A server answers the calls of programs: a [Host], or one for each program.
type server interface {
	Serve(listener *os.File, d trap.Descriptors) (*trap.Server, error)
}

// A way is a way in which programs access a device: it is the function that opens the device for
// them.
type way func(t *testing.T, open func() (*verbs.Device, error)) (server, *verbs.Device)

// waysVariable is "all" to test both ways, which takes minutes. Otherwise the race detector runs
// one, and go test without it the other.
const waysVariable = "GORXE_PROGRAMS_WAYS"

// eachWay runs a test with programs whose device this process owns, and with programs whose
// device a daemon owns.
func eachWay(t *testing.T, test func(t *testing.T, w way)) {
	run := func(name string, is bool, w way) {
		t.Run(name, func(t *testing.T) {
			if !is && os.Getenv(waysVariable) != "all" {
				t.Skipf("go test -race runs the way of a daemon, go test the other one, %s=all both (make programs)",
					waysVariable)
			}
			test(t, w)
		})
	}
	run("own device", !race.Enabled, func(t *testing.T, open func() (*verbs.Device, error)) (server, *verbs.Device) {
		t.Helper()
		return hostOf(t, open)
	})
	run("daemon", race.Enabled, daemonOf)
}

// of opens a device for programs.
func (w way) of(t *testing.T, open func() (*verbs.Device, error)) (server, *verbs.Device) {
	t.Helper()
	if err := trap.Probe(); err != nil {
		t.Skipf("no programs can be run here: %v", err)
	}
	return w(t, open)
}

// deviceOn opens a device on a loopback address that no other tests use.
func (w way) deviceOn(t *testing.T, addr string) (server, *verbs.Device) {
	t.Helper()
	return w.of(t, openOn(addr))
}

// hostOn is deviceOn for tests that do not use the device.
func (w way) hostOn(t *testing.T, addr string) server {
	t.Helper()
	h, _ := w.deviceOn(t, addr)
	return h
}

func openOn(addr string) func() (*verbs.Device, error) {
	return func() (*verbs.Device, error) { return verbs.Open(verbs.Config{Device: addr}) }
}

// hostOn returns the host of a way for tests that inspect the host.
func hostOn(t *testing.T, addr string) *Host {
	t.Helper()
	if err := trap.Probe(); err != nil {
		t.Skipf("no programs can be run here: %v", err)
	}
	h, _ := hostOf(t, openOn(addr))
	return h
}

// hostOf opens a device of this process.
func hostOf(t *testing.T, open func() (*verbs.Device, error)) (*Host, *verbs.Device) {
	t.Helper()
	dev, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	h, err := NewHost(dev, "rxe0", logOf(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, dev
}

func logOf(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// daemonOf starts a daemon that owns the device. Each program gets its own connection to it, as a
// 'gorxe run' has.
func daemonOf(t *testing.T, open func() (*verbs.Device, error)) (server, *verbs.Device) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gx") // a short name, because it is part of socket paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := config.Default()
	c.Log.Level = slog.LevelDebug
	c.Control.Socket = filepath.Join(dir, "control.sock")
	c.Devices = []config.Device{config.DefaultDevice("lo")}
	plan, err := daemon.MakePlan(t.Context(), c, daemon.Host{Addrs: packet.HostAddrs})
	if err != nil {
		t.Fatal(err)
	}
	var dev *verbs.Device
	ready, end := make(chan struct{}), make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		end <- daemon.Run(ctx, plan, daemon.Options{
			Version: "test", Stderr: t.Output(), Parts: []daemon.Part{&daemon.Programs{}},
			Open: func(verbs.Config) (_ *verbs.Device, err error) {
				dev, err = open()
				return dev, err
			},
			Notify: func(state string) error {
				if state == "READY=1" {
					close(ready)
				}
				return nil
			},
		})
	}()
	select {
	case <-ready:
	case err := <-end:
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
	d := &daemonClients{t: t, socket: control.ProgramsSocket(c.Control.Socket)}
	t.Cleanup(d.running.Wait)
	return d, dev
}

// daemonClients creates a host for each program.
type daemonClients struct {
	t       *testing.T
	socket  string
	running sync.WaitGroup
}

// Serve implements server.
func (d *daemonClients) Serve(listener *os.File, fds trap.Descriptors) (*trap.Server, error) {
	c, err := broker.Dial(d.t.Context(), d.socket, broker.Request{})
	if err != nil {
		return nil, err
	}
	h, err := NewRemoteHost(c, "rxe0", logOf(d.t))
	if err != nil {
		return nil, err
	}
	s, err := h.Serve(listener, fds)
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	d.running.Go(func() {
		<-s.Done()
		if err := h.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return s, nil
}
