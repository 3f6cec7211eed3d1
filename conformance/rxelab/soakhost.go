package rxelab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
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
	if h.capture, err = l.startStream(ctx); err != nil {
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

// stream is a capture without end that is checked while it comes, and of which only the latest is kept.
type stream struct {
	p    *vm.Process
	w    *io.PipeWriter
	msg  transcript
	over chan struct{}

	recent     recent
	rxe, gorxe numbering // of the requests of either end
	sum        icrc.Summary
	err        error
}

func (l *lane) startStream(ctx context.Context) (*stream, error) {
	r, w := io.Pipe()
	c := &stream{w: w, over: make(chan struct{})}
	theirs := slices.Collect(maps.Values(l.rxe.addr))
	go func() {
		defer close(c.over)
		c.sum, c.err = icrc.Observe(r, icrc.Observer{Frame: c.recent.keep, Packet: func(from netip.Addr, packet []byte) {
			of := &c.gorxe
			if slices.Contains(theirs, from) {
				of = &c.rxe
			}
			of.see(time.Now(), packet)
		}})
		_, _ = io.Copy(io.Discard, r) // what could not be read must not block the conversation with the machine
	}()
	up := watch(&c.msg, "listening on")
	var err error
	c.p, err = l.s.Start(wire.Command{Argv: []string{"tcpdump", "-i", l.netdev, "-n", "-s", "0", "-B", "65536", "-w", "-", "udp", "port", "4791"}}, w, up)
	if err != nil {
		return nil, err
	}
	select {
	case <-up.found:
		return c, nil
	case <-c.p.Done():
		return nil, fmt.Errorf("tcpdump: %s: %s", vm.Describe(c.p.Result()), c.msg.String())
	case <-time.After(captureStart):
		return nil, fmt.Errorf("tcpdump did not start within %v", captureStart)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// finish ends the capture and says what was in it, and how many frames tcpdump was too slow for.
func (c *stream) finish() (sum icrc.Summary, missed int, err error) {
	_ = c.p.Signal(vm.Interrupt)
	select {
	case <-c.p.Done():
	case <-time.After(captureStart):
		_ = c.p.Signal(vm.Kill)
	}
	c.w.Close()
	<-c.over
	if m := droppedFrames.FindStringSubmatch(c.msg.String()); m != nil {
		missed, _ = strconv.Atoi(m[1])
	}
	return c.sum, missed, c.err
}
