package cli

import (
	"context"
	"sync"
)

// group runs goroutines of which the first error ends the others.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

func (g *group) fail(err error) {
	g.once.Do(func() {
		g.err = err
		g.cancel(err)
	})
}

func (g *group) do(f func(context.Context) error) {
	g.wg.Go(func() {
		if err := f(g.ctx); err != nil {
			g.fail(err)
		}
	})
}

// wait returns the first error when all have ended.
func (g *group) wait() error {
	g.wg.Wait()
	g.cancel(nil)
	return g.err
}

// each does something for all at once.
func each[T any](ctx context.Context, all []T, do func(ctx context.Context, c T) error) error {
	g := newGroup(ctx)
	for _, c := range all {
		g.do(func(ctx context.Context) error { return do(ctx, c) })
	}
	return g.wait()
}
