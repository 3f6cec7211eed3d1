package perf

import (
	"context"
	"time"
)

// runClock measures the time of a run and, with -D, which part of the run is measured.
type runClock struct {
	began          time.Time
	started        bool
	from, to, last time.Duration // measured interval and end of a run with -D; last is 0 otherwise

	timed  context.Context // done at the end of a run with -D; made by the first limit
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

// stop releases the context that limit made.
func (c *runClock) stop() {
	if c.cancel != nil {
		c.cancel()
	}
}

// now returns the time since the start, 0 before it.
func (c *runClock) now() time.Duration {
	if !c.started {
		return 0
	}
	return time.Since(c.began)
}

// over reports whether a run with -D has reached its end.
func (c *runClock) over() bool { return c.last > 0 && c.started && c.now() >= c.last }

// counted reports whether the measured interval of a run with -D is over.
func (c *runClock) counted() bool { return c.last > 0 && c.started && c.now() >= c.to }

// counts reports whether time t is in the measured interval of a run with -D.
func (c *runClock) counts(t time.Duration) bool { return c.last > 0 && t >= c.from && t < c.to }

// limit returns a context that is also done at the end of a run with -D.
func (c *runClock) limit(ctx context.Context) context.Context {
	if c.last == 0 || !c.started {
		return ctx
	}
	if c.timed == nil {
		c.timed, c.cancel = context.WithDeadline(ctx, c.began.Add(c.last))
	}
	return c.timed
}
