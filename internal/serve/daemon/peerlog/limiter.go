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

// Interval is how often suppressed lines are reported.
const Interval = 10 * time.Second

// Limiter bounds the lines of its loggers. Its methods may be called by many goroutines.
type Limiter struct {
	out slog.Handler

	mu         sync.Mutex
	hosts      buckets                 // guarded by mu
	all        map[string]*pace.Bucket // by message; guarded by mu
	suppressed uint64                  // guarded by mu
	window     window                  // guarded by mu
	timer      *time.Timer             // of the window that is open; guarded by mu
	closed     bool                    // guarded by mu
}

// window is what was suppressed since the last report.
type window struct {
	lines  uint64
	of     map[string]uint64 // by message
	latest netip.Addr        // host
	level  slog.Level        // the highest
}

// New returns a limiter of what is written to out.
func New(out slog.Handler) *Limiter {
	return &Limiter{out: out, all: map[string]*pace.Bucket{}}
}

// Logger returns a logger for lines that peers cause.
func (l *Limiter) Logger() *slog.Logger { return slog.New(&handler{l, l.out, netip.Addr{}}) }

// Suppressed is how many lines were not written.
func (l *Limiter) Suppressed() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suppressed
}

// Close reports what was suppressed since the last report. From then on nothing is reported.
func (l *Limiter) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.report()
}

// admit takes a token for a line, or counts it.
func (l *Limiter) admit(r *slog.Record, host netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all[r.Message]
	if all == nil {
		all = new(pace.Bucket)
		l.all[r.Message] = all
	}
	// The host's first: one that has none left takes nothing from the others.
	if l.hosts.get(key{r.Message, host}).TakeIfThere(ofHost, r.Time) && all.TakeIfThere(ofAll, r.Time) {
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

// report writes the line about what was suppressed, if anything was. l.mu is held.
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
	r := slog.NewRecord(time.Now(), w.level, "lines about peers suppressed", 0)
	r.AddAttrs(slog.Uint64("lines", w.lines), slog.String("messages", strings.Join(of, ", ")))
	if w.latest.IsValid() {
		r.AddAttrs(slog.String("latest_peer", w.latest.String()))
	}
	_ = l.out.Handle(context.Background(), r) // a log that cannot be written has nobody to tell
}

// handler is that of a logger.
type handler struct {
	l    *Limiter
	out  slog.Handler
	peer netip.Addr // of the logger's attributes
}

// peerKey is the attribute that names the peer.
const peerKey = "peer"

// Enabled implements [slog.Handler], as do the others.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.out.Enabled(ctx, level)
}

// Handle writes a record, if its rate is within the limits.
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

// WithAttrs returns a handler of more attributes.
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

// hostOf is the host that an attribute names, by its address or with a port; the zero Addr if it
// names none.
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
