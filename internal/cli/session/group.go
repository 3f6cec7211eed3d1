package session

import (
	"context"
	"sync"
)

// Group runs goroutines. The first error cancels the others.
type Group struct {
	Ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
}

// NewGroup returns a group whose goroutines get a context derived from ctx.
func NewGroup(ctx context.Context) *Group {
	g := &Group{}
	g.Ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

// Fail cancels the context of the group. Wait returns the error of the first call.
func (g *Group) Fail(err error) {
	g.once.Do(func() {
		g.err = err
		g.cancel(err)
	})
}

// Go runs f in a goroutine of the group.
func (g *Group) Go(f func(context.Context) error) {
	g.wg.Go(func() {
		if err := f(g.Ctx); err != nil {
			g.Fail(err)
		}
	})
}

// Wait returns the first error, once all goroutines have ended.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.cancel(nil)
	return g.err
}

// Each runs do for all elements concurrently and returns the first error, which cancels the
// others.
func Each[T any](ctx context.Context, all []T, do func(ctx context.Context, c T) error) error {
	g := NewGroup(ctx)
	for _, c := range all {
		g.Go(func(ctx context.Context) error { return do(ctx, c) })
	}
	return g.Wait()
}
