package topcmd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/sources"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// gate is a source that holds a lock except while it waits for a frame. Whoever else holds the lock
// finds the pipeline between two frames.
type gate struct {
	trace.Source
	mu sync.Mutex
}

// Next waits for a frame without the lock.
func (g *gate) Next(f *capture.Frame) error {
	g.mu.Unlock()
	err := g.Source.Next(f)
	g.mu.Lock()
	return err
}

// runLive shows the flows of a live capture until ctx is done, the daemon ends, the key q, or the
// last interval. None of these is a failure.
func runLive(ctx context.Context, a *app.App, p *params, pipe *trace.Pipeline, m *meter, v view) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := p.live.Open(ctx, a, func() error { return nil })
	if err != nil {
		return err
	}
	defer c.Close()
	w := &watched{capture: c, pipe: pipe, meter: m, gate: &gate{Source: c}, since: time.Now(),
		ended: make(chan error, 1)}
	go func() {
		w.gate.mu.Lock()
		defer w.gate.mu.Unlock()
		w.ended <- pipe.Run(context.WithoutCancel(ctx), w.gate)
	}()
	v.title = c.Name
	err = w.watch(ctx, a, p, v)
	cancel()
	c.Close()
	if e := <-w.ended; err == nil && e != nil {
		err = fmt.Errorf("%s: %w", c.Name, e)
	}
	return err
}

// watched is a live capture being watched.
type watched struct {
	capture *sources.Capture
	pipe    *trace.Pipeline
	meter   *meter
	gate    *gate
	since   time.Time  // begin of the current interval
	ended   chan error // result of the pipeline
}

// next returns the table of the interval that ends now, and the frames missed so far.
func (w *watched) next() (t *table, missed uint64) {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	now := time.Now()
	over := max(now.Sub(w.since), time.Millisecond)
	w.since = now
	return w.meter.snapshot(over), w.pipe.Missing() + w.capture.Dropped()
}

// watch shows a table for each interval.
func (w *watched) watch(ctx context.Context, a *app.App, p *params, v view) error {
	var s *screen
	if a.Terminal(a.Stdout) {
		var err error
		if s, err = openScreen(a); err != nil {
			return err
		}
		defer s.close()
		v.keys = s.keys != nil
	} else {
		fmt.Fprintln(a.Stderr, w.capture.Banner)
	}
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	var latest *table
	show := func(blocks int) error {
		if s != nil {
			return s.draw(latest, v)
		}
		return write(a, latest.render(v), blocks == 0)
	}
	for blocks := 0; p.count == 0 || blocks < p.count; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.ended:
			w.ended <- err
			return nil
		case key := <-s.pressed():
			switch key {
			case 'q', 'Q', ctrlC:
				return nil
			case 's', 'S':
				v.order = (v.order + 1) % len(orders)
				if latest == nil {
					continue
				}
				if err := show(blocks); err != nil {
					return err
				}
			}
		case v.now = <-ticker.C:
			latest, v.missed = w.next()
			if err := show(blocks); err != nil {
				return err
			}
			blocks++
		}
	}
	return nil
}
