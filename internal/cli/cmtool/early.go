package cmtool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/verbs"
)

// earlyEnds detects connections that end before a server has accepted all n that it expects. If
// messages are to be exchanged, such an end is an error. Without messages, the peer may be done,
// and another client may follow.
type earlyEnds struct {
	end  *end
	n    int
	all  chan struct{} // closed when all have been accepted
	idle chan struct{} // receives a token when the last live connection has ended

	mu          sync.Mutex
	came, alive int // numbers of accepted and of live connections; guarded by mu
}

func newEarlyEnds(e *end, n int) *earlyEnds {
	return &earlyEnds{end: e, n: n, all: make(chan struct{}), idle: make(chan struct{}, 1)}
}

// next waits for a connection request. If all connections so far have ended, it waits only for
// nextWait.
func (s *earlyEnds) next(ctx context.Context, l *verbs.Listener) (*verbs.ConnRequest, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel(nil)
	waiting.Go(func() {
		select {
		case <-s.idle:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(nextWait):
			cancel(s.errorf("all that came have ended"))
		case <-ctx.Done():
		}
	})
	r, err := l.Next(ctx)
	if err == nil {
		s.mu.Lock()
		s.came++
		s.alive++
		s.mu.Unlock()
	}
	return r, err
}

// watch returns when all connections have been accepted, or with an error when c has ended
// before.
func (s *earlyEnds) watch(ctx context.Context, c *verbs.Conn) error {
	select {
	case <-s.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.Done():
	}
	switch {
	case session.IsDead(c):
		return s.errorf("%w", session.ErrPeerDead)
	case s.end.params.count > 0:
		return s.errorf("the peer ended one of them")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive--; s.alive == 0 {
		s.idle <- struct{}{}
	}
	return nil
}

// errorf returns the error that ends the wait for the remaining connections.
func (s *earlyEnds) errorf(format string, args ...any) error {
	s.mu.Lock()
	came := s.came
	s.mu.Unlock()
	return fmt.Errorf("%d of %s came, and "+format+": give both ends the same -n",
		append([]any{came, app.Plural(s.n, "connection")}, args...)...)
}

func (s *earlyEnds) allCame() { close(s.all) }
