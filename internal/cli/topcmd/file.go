package topcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// runFile writes a block for each interval of a capture. After an interrupt it does not wait for
// the file, which may be a pipe.
func runFile(ctx context.Context, a *app.App, p *params, pipe *trace.Pipeline, m *meter, v view) error {
	done := make(chan error, 1)
	go func() { done <- readFile(ctx, a, p, pipe, m, v) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func readFile(ctx context.Context, a *app.App, p *params, pipe *trace.Pipeline, m *meter, v view) error {
	var in io.Reader = a.Stdin
	v.title = "standard input"
	if p.source != "-" {
		f, err := os.Open(p.source)
		if err != nil {
			return err
		}
		defer f.Close()
		in, v.title = f, p.source
	}
	r, err := capture.Open(in)
	if err != nil {
		return fmt.Errorf("%s: %w", v.title, err)
	}
	c := &clock{Source: r, interval: p.interval}
	blocks := 0
	c.tick = func(now time.Time, over time.Duration) error {
		t := m.snapshot(over)
		if t.sum.packets == 0 {
			return nil
		}
		v.now, v.missed = now, pipe.Missing()
		err := write(a, t.render(v), blocks == 0)
		if blocks++; err == nil && blocks == p.count {
			err = errEnough
		}
		return err
	}
	err = pipe.Run(ctx, c)
	if err == nil {
		err = c.finish()
	}
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("%s: %w", v.title, err)
	}
	if blocks == 0 {
		fmt.Fprintf(a.Stderr, "%s: no RoCEv2 packets to show in %s\n", v.title,
			app.Plural(int(pipe.Counts().Frames), "frame"))
	}
	return nil
}

// errEnough ends the reading after the last requested interval.
var errEnough = errors.New("enough intervals")

// clock is a source that calls tick at the end of each interval of frame times that has frames.
// Frames whose times go back, or that have none, belong to the current interval.
type clock struct {
	trace.Source
	interval time.Duration
	tick     func(now time.Time, over time.Duration) error

	begin, latest time.Time // of the current interval; latest frame
	frames        int       // in the current interval
}

// Next reads a frame. It calls tick first if the frame is in a later interval.
func (c *clock) Next(f *capture.Frame) error {
	if err := c.Source.Next(f); err != nil {
		return err
	}
	switch {
	case f.Time.IsZero():
	case c.begin.IsZero():
		c.begin, c.latest = f.Time, f.Time
	case f.Time.Sub(c.begin) >= c.interval:
		if err := c.tick(c.begin.Add(c.interval), c.interval); err != nil {
			return err
		}
		c.begin = c.begin.Add(f.Time.Sub(c.begin).Truncate(c.interval))
		c.frames = 0
	}
	if f.Time.After(c.latest) {
		c.latest = f.Time
	}
	c.frames++
	return nil
}

// finish calls tick for the last interval, which is as long as its frames show.
func (c *clock) finish() error {
	if c.frames == 0 {
		return nil
	}
	over := c.latest.Sub(c.begin)
	if over <= 0 {
		over = c.interval
	}
	return c.tick(c.latest, over)
}
