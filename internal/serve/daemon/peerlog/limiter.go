package peerlog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// Interval is the interval in which suppressed lines are reported.
const Interval = 10 * time.Second

// Limiter limits the lines of its loggers. Its methods are safe for concurrent use.
type Limiter struct {
	out slog.Handler

	mu         sync.Mutex
	hosts      buckets                 // guarded by mu
	all        map[string]*pace.Bucket // by message; guarded by mu
	suppressed uint64                  // guarded by mu
	window     window                  // guarded by mu
	timer      *time.Timer             // of the open window; guarded by mu
	closed     bool                    // guarded by mu
}

// window holds the lines suppressed since the last report.
type window struct {
	lines  uint64
	of     map[string]uint64 // by message
	latest netip.Addr        // host of the last line
	level  slog.Level        // highest
}

// New returns a limiter of the lines written to out.
func New(out slog.Handler) *Limiter {
	return &Limiter{out: out, all: map[string]*pace.Bucket{}}
}

// Logger returns a logger for lines that peers cause.
func (l *Limiter) Logger() *slog.Logger { return slog.New(&handler{l, l.out, netip.Addr{}}) }

// Suppressed returns the number of suppressed lines.
func (l *Limiter) Suppressed() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suppressed
}

// Close reports the lines suppressed since the last report. Lines suppressed later are not
// reported.
func (l *Limiter) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.report()
}

// admit takes a token for a line about host and returns true. If there is no token, it counts the
// line as suppressed and returns false.
func (l *Limiter) admit(r *slog.Record, host netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all[r.Message]
	if all == nil {
		all = new(pace.Bucket)
		l.all[r.Message] = all
	}
	// The host's bucket first: a host without tokens takes none from the bucket of all hosts.
	if l.hosts.get(key{r.Message, host}).TryTake(ofHost, r.Time) && all.TryTake(ofAll, r.Time) {
		return true
	}
	l.suppressed++
	w := &l.window
	if w.lines == 0 {
		*w = window{of: map[string]uint64{}, level: r.Level}
		if !l.closed {
			l.timer = time.AfterFunc(Interval, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				if !l.closed {
					l.report()
				}
			})
		}
	}
	w.lines++
	w.of[r.Message]++
	w.latest, w.level = host, max(w.level, r.Level)
	return false
}

// report writes the line about suppressed lines, if there are any. The caller holds l.mu.
func (l *Limiter) report() {
	w := l.window
	l.window = window{}
	if l.timer != nil {
		l.timer.Stop()
	}
	if w.lines == 0 || !l.out.Enabled(context.Background(), w.level) {
		return
	}
	var of []string
	for _, m := range slices.Sorted(maps.Keys(w.of)) {
		of = append(of, fmt.Sprintf("%s: %d", m, w.of[m]))
	}
	r := slog.NewRecord(time.Now(), w.level, "log lines suppressed", 0)
	r.AddAttrs(slog.Uint64("lines", w.lines), slog.String("messages", strings.Join(of, ", ")))
	if w.latest.IsValid() {
		r.AddAttrs(slog.String("latest_peer", w.latest.String()))
	}
	_ = l.out.Handle(context.Background(), r) // an error of the log cannot be reported
}

// handler is the handler of a logger.
type handler struct {
	l    *Limiter
	out  slog.Handler
	peer netip.Addr // from the logger's attributes
}

// peerKey is the attribute that names the peer.
const peerKey = "peer"

// Enabled implements [slog.Handler], as do the methods below.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.out.Enabled(ctx, level)
}

// Handle writes a record if the limits permit it.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	peer := h.peer
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == peerKey {
			peer = hostOf(a.Value)
		}
		return true
	})
	if !h.l.admit(&r, peer) {
		return nil
	}
	return h.out.Handle(ctx, r)
}

// WithAttrs returns a handler with additional attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := &handler{h.l, h.out.WithAttrs(attrs), h.peer}
	for _, a := range attrs {
		if a.Key == peerKey {
			with.peer = hostOf(a.Value)
		}
	}
	return with
}

// WithGroup returns a handler of a group.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.l, h.out.WithGroup(name), h.peer}
}

// hostOf returns the host that an attribute names, by its address with or without a port; the
// zero Addr if it names none.
func hostOf(v slog.Value) netip.Addr {
	switch a := v.Any().(type) {
	case netip.Addr:
		return a.Unmap()
	case netip.AddrPort:
		return a.Addr().Unmap()
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	text := v.String()
	if a, err := netip.ParseAddrPort(text); err == nil {
		return a.Addr().Unmap()
	}
	a, _ := netip.ParseAddr(text)
	return a.Unmap()
}
