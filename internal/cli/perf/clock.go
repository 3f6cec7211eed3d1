package perf

import (
	"context"
	"time"
)

// runClock tells how far a run is, and with -D what of it counts.
type runClock struct {
	began          time.Time
	started        bool
	from, to, last time.Duration // last is 0 when messages are counted

	timed  context.Context // ends with a run by time; made when first asked for
	cancel context.CancelFunc
}

func newRunClock(p *params) runClock {
	var c runClock
	if p.duration > 0 {
		c.from, c.to, c.last = p.window()
	}
	return c
}

func (c *runClock) start() { c.began, c.started = time.Now(), true }

// stop releases what limit made.
func (c *runClock) stop() {
	if c.cancel != nil {
		c.cancel()
	}
}

// now is the time since the start, 0 before it.
func (c *runClock) now() time.Duration {
	if !c.started {
		return 0
	}
	return time.Since(c.began)
}

// over reports whether a timed run is at its end.
func (c *runClock) over() bool { return c.last > 0 && c.started && c.now() >= c.last }

// counted reports whether a timed run has seen all that counts.
func (c *runClock) counted() bool { return c.last > 0 && c.started && c.now() >= c.to }

// counts reports whether what happens at t belongs to the measurement of a timed run.
func (c *runClock) counts(t time.Duration) bool { return c.last > 0 && t >= c.from && t < c.to }

// limit returns ctx, ended early when a timed run is over.
func (c *runClock) limit(ctx context.Context) context.Context {
	if c.last == 0 || !c.started {
		return ctx
	}
	if c.timed == nil {
		c.timed, c.cancel = context.WithDeadline(ctx, c.began.Add(c.last))
	}
	return c.timed
}
