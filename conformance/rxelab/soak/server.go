package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/leaks"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// server is a lane whose gorxe end runs only the daemon.
type server struct {
	*machine.Lane
	daemon  *machine.Program
	capture *stream
	idle    map[string]float64 // what the daemon holds without clients
	last    leaks.Gauges
}

const (
	metricsAddr = "127.0.0.1:9481"
	drainTime   = 40 * time.Second // for a daemon to stop
	idleTimeout = 3 * time.Minute  // for a daemon to detect that its clients are dead
	idlePoll    = 2 * time.Second
)

// open applies the loss to a lane and starts its daemon and its capture.
func (s *job) open(ctx context.Context, l *machine.Lane) (*server, error) {
	if err := l.Session.Put(ctx, payloadPath, 0o644, strings.NewReader(payload)); err != nil {
		return nil, err
	}
	if err := l.Apply(ctx, loss); err != nil {
		return nil, err
	}
	h := &server{Lane: l, daemon: &machine.Program{Name: "gorxe daemon", In: l.Netns}}
	h.daemon.Argv = []string{cell.GorxePath, "daemon", "--control-socket",
		fmt.Sprintf("/run/rxelab/soak-%d/control.sock", l.Index),
		"--metrics-listen", metricsAddr, "--perftest-payload", payloadPath, "--foreign-gids",
		l.Rxe.Addr[cell.IPv6].String()}
	var err error
	if h.capture, err = startStream(ctx, l); err != nil {
		return nil, err
	}
	if err := h.daemon.Start(l.Session, 0, 0); err != nil {
		return nil, err
	}
	ok, err := l.Listening(ctx, h.daemon, 0, cell.TimeoutBase)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("gorxe daemon is not ready within %v: %s", cell.TimeoutBase,
			transcript.LastLines(h.daemon.Log.String()))
	}
	return h, nil
}

// gauges gets the metrics of the daemon.
func (h *server) gauges(ctx context.Context) (leaks.Gauges, error) {
	host, port, _ := strings.Cut(metricsAddr, ":")
	ask := fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3`, host, port)
	out, err := h.Session.RunIn(ctx, h.Netns, "bash", "-c", ask)
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(out, "\r\n\r\n")
	return leaks.Read(strings.NewReader(body))
}

// awaitIdle waits until every daemon holds what it held before the first client, and records its
// memory use.
func (s *job) awaitIdle(ctx context.Context) error {
	for _, h := range s.hosts {
		late := time.Now().Add(idleTimeout)
		for {
			g, err := h.gauges(ctx)
			if err != nil {
				return errors.Join(err, h.ended())
			}
			h.last = g
			rest := g.Beyond(h.idle)
			if rest == "" {
				break
			}
			if time.Now().After(late) {
				s.fail("lane %d, %v after the last client, the daemon still holds %s", h.Index, idleTimeout, rest)
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(idlePoll):
			}
		}
		s.mu.Lock()
		line := s.report.sample(h.Index, h.last)
		s.mu.Unlock()
		s.Say("%s", line)
	}
	return nil
}

// ended returns an error if the daemon has ended.
func (h *server) ended() error {
	select {
	case <-h.daemon.Process.Done():
		return fmt.Errorf("gorxe daemon ended: %s: %s", vm.Describe(h.daemon.Process.Result()),
			transcript.LastLines(h.daemon.Log.String()))
	default:
		return nil
	}
}

// stop stops the daemon with SIGTERM. Its exit status must be 0.
func (h *server) stop(ctx context.Context) error {
	if err := h.ended(); err != nil {
		return err
	}
	if err := h.daemon.Process.Signal(vm.Terminate); err != nil {
		return err
	}
	select {
	case <-h.daemon.Process.Done():
		if r := h.daemon.Process.Result(); r.Code != 0 {
			return fmt.Errorf("after SIGTERM: %s: %s", vm.Describe(r), transcript.LastLines(h.daemon.Log.String()))
		}
		return nil
	case <-time.After(drainTime):
		return errors.Join(fmt.Errorf("it runs %v after SIGTERM", drainTime), machine.Reap(h.daemon))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// save saves the daemon's log.
func (h *server) save(dir string) error {
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("daemon-%d.log", h.Index)), []byte(h.daemon.Log.String()), 0o644)
}
