package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Commands look for a silent peer so often: one that was killed is missed within three seconds.
const (
	KeepAliveInterval = 500 * time.Millisecond
	keepAliveEach     = 250 * time.Microsecond // for each connection of a command that has many
)

// KeepAliveIntervalFor returns how often each of n connections is checked.
func KeepAliveIntervalFor(n int) time.Duration {
	return max(KeepAliveInterval, time.Duration(n)*keepAliveEach)
}

// KeepAlive ends a connection whose peer does not answer, as [verbs.Conn.KeepAlive] does, until stop is called.
func KeepAlive(ctx context.Context, c *verbs.Conn, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	// How it ends shows in the connection.
	looking.Go(func() { _ = c.KeepAlive(ctx, every) })
	return func() {
		cancel()
		looking.Wait()
	}
}

// IsDead reports whether a connection ended because its peer did not answer.
func IsDead(c *verbs.Conn) bool { return errors.Is(c.Err(), verbs.ErrUnreachable) }
