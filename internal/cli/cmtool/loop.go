package cmtool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/verbs"
)

// loopTimes is a histogram of the setup times of a loop: 1 µs to 10 minutes, with 3 significant
// digits.
type loopTimes struct {
	mu   sync.Mutex
	hist *hdrhistogram.Histogram // guarded by mu
}

func newLoopTimes() *loopTimes {
	return &loopTimes{hist: hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)}
}

func (t *loopTimes) add(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// RecordValue fails only for values over ten minutes, which no connection takes.
	_ = t.hist.RecordValue(took.Microseconds())
}

// print prints the rate and the setup times of the connections.
func (t *loopTimes) print(e *end, all time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.printTimes(" made and ended", int(t.hist.TotalCount()), all, all.Round(time.Millisecond),
		func(percent float64) time.Duration {
			return time.Duration(t.hist.ValueAtPercentile(percent)) * time.Microsecond
		})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(e.out, "memory: %d MiB in use, %d MiB from the system\n", m.HeapAlloc>>20, m.Sys>>20)
}

// loop makes and ends connections for the duration of -D, params.parallel at a time.
func (e *end) loop(ctx context.Context) error {
	times, begin := newLoopTimes(), time.Now()
	err := session.Each(ctx, make([]struct{}, e.params.parallel), func(ctx context.Context, _ struct{}) error {
		for time.Since(begin) < e.params.duration {
			if err := e.once(ctx, times); err != nil {
				return err
			}
		}
		return nil
	})
	times.print(e, time.Since(begin))
	return err
}

// once makes one connection, exchanges its messages and ends it.
func (e *end) once(ctx context.Context, times *loopTimes) error {
	c, took, err := e.ask(verbs.RC, func(c *connection) error { return e.dial(ctx, c) })
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return err
	}
	times.add(took)
	if err := e.exchangeOne(ctx, c); err != nil {
		return err
	}
	return c.conn.Disconnect(ctx)
}

// serve accepts connections without end and serves each until its peer ends it.
func (e *end) serve(ctx context.Context) error {
	l, err := e.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	times, begin := newLoopTimes(), time.Now()
	var serving sync.WaitGroup
	for {
		r, err := l.Next(ctx)
		if err != nil {
			serving.Wait()
			times.print(e, time.Since(begin))
			return err
		}
		serving.Go(func() {
			if err := e.serveOne(ctx, r, times); err != nil && ctx.Err() == nil {
				fmt.Fprintf(e.out, "%v: %s\n", r.Remote(), app.OneLine(err))
			}
		})
	}
}

func (e *end) serveOne(ctx context.Context, r *verbs.ConnRequest, times *loopTimes) error {
	c, took, err := e.ask(verbs.RC, func(c *connection) error { return e.take(ctx, r, c) })
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return err
	}
	times.add(took)
	if err := e.exchangeOne(ctx, c); err != nil {
		return err
	}
	select {
	case <-c.conn.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch err := c.conn.Err(); {
	case session.IsDead(c.conn):
		return session.ErrPeerDead
	case !errors.Is(err, verbs.ErrDisconnected):
		return err
	}
	return nil
}

// exchangeOne exchanges the messages of a connection. It fails if the peer stays silent.
func (e *end) exchangeOne(ctx context.Context, c *connection) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer session.WatchProgress(run, cancel, silenceLimit, c.messages)()
	if err := c.exchange(run, e); err != nil {
		return e.explain(err)
	}
	return nil
}

// close releases what prepare made. The calls fail only for objects in use, and these are not in
// use.
func (c *connection) close() {
	_ = c.qp.Close()
	_ = c.mr.Dereg()
	_ = c.cq.CQ.Close()
}
