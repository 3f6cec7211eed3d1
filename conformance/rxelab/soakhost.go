package rxelab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// soakHost is a lane whose gorxe end runs nothing but the daemon.
type soakHost struct {
	*lane
	daemon  *program
	capture *stream
	idle    map[string]float64 // what the daemon holds with no client
	last    Gauges
}

const (
	soakMetrics = "127.0.0.1:9481"
	drainTime   = 40 * time.Second // for a daemon to stop
	lullTime    = 3 * time.Minute  // for a daemon to notice that its clients are dead
	lullPoll    = 2 * time.Second
)

// open puts a lane under the soak's condition and starts its daemon and its capture.
func (s *soak) open(ctx context.Context, l *lane) (*soakHost, error) {
	if err := l.s.Put(ctx, payloadPath, 0o644, strings.NewReader(soakPayload)); err != nil {
		return nil, err
	}
	if err := l.apply(ctx, soakLoss); err != nil {
		return nil, err
	}
	h := &soakHost{lane: l, daemon: &program{name: "gorxe daemon", in: l.netns}}
	h.daemon.argv = []string{gorxePath, "daemon", "--control-socket", fmt.Sprintf("/run/rxelab/soak-%d/control.sock", l.index),
		"--metrics-listen", soakMetrics, "--perftest-payload", payloadPath, "--foreign-gids", l.rxe.addr[IPv6].String()}
	var err error
	if h.capture, err = startStream(ctx, l); err != nil {
		return nil, err
	}
	if err := h.daemon.start(l.s, 0, 0); err != nil {
		return nil, err
	}
	ok, err := l.listening(ctx, h.daemon, 0, timeoutBase)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("gorxe daemon is not ready within %v: %s", timeoutBase, lastLines(h.daemon.log.String()))
	}
	return h, nil
}

// gauges asks the daemon what it holds.
func (h *soakHost) gauges(ctx context.Context) (Gauges, error) {
	host, port, _ := strings.Cut(soakMetrics, ":")
	ask := fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3`, host, port)
	out, err := h.s.RunIn(ctx, h.netns, "bash", "-c", ask)
	if err != nil {
		return nil, err
	}
	_, body, _ := strings.Cut(out, "\r\n\r\n")
	return readGauges(strings.NewReader(body))
}

// lull waits until every daemon holds what it held before the first client, and notes the memory that it has then.
func (s *soak) lull(ctx context.Context) error {
	for _, h := range s.hosts {
		late := time.Now().Add(lullTime)
		for {
			g, err := h.gauges(ctx)
			if err != nil {
				return errors.Join(err, h.ended())
			}
			h.last = g
			rest := g.beyond(h.idle)
			if rest == "" {
				break
			}
			if time.Now().After(late) {
				s.fail("lane %d, %v after the last client, the daemon still holds %s", h.index, lullTime, rest)
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lullPoll):
			}
		}
		s.mu.Lock()
		line := s.report.sample(h.index, h.last)
		s.mu.Unlock()
		s.Say("%s", line)
	}
	return nil
}

// ended says how a daemon ended that should run.
func (h *soakHost) ended() error {
	select {
	case <-h.daemon.p.Done():
		return fmt.Errorf("gorxe daemon ended: %s: %s", vm.Describe(h.daemon.p.Result()), lastLines(h.daemon.log.String()))
	default:
		return nil
	}
}

// stop ends the daemon with SIGTERM; it has to end well.
func (h *soakHost) stop(ctx context.Context) error {
	if err := h.ended(); err != nil {
		return err
	}
	if err := h.daemon.p.Signal(vm.Terminate); err != nil {
		return err
	}
	select {
	case <-h.daemon.p.Done():
		if r := h.daemon.p.Result(); r.Code != 0 {
			return fmt.Errorf("after SIGTERM: %s: %s", vm.Describe(r), lastLines(h.daemon.log.String()))
		}
		return nil
	case <-time.After(drainTime):
		return errors.Join(fmt.Errorf("it runs %v after SIGTERM", drainTime), reap(h.daemon))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// save keeps the daemon's log.
func (h *soakHost) save(dir string) error {
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("daemon-%d.log", h.index)), []byte(h.daemon.log.String()), 0o644)
}
