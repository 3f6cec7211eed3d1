package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// KeepAliveInterval is the interval of the checks for a silent peer. A peer that was killed is
// detected within three seconds.
const (
	KeepAliveInterval = 500 * time.Millisecond
	keepAliveEach     = 250 * time.Microsecond // for each connection of a command with many
)

// KeepAliveIntervalFor returns the interval of the checks of each of n connections.
func KeepAliveIntervalFor(n int) time.Duration {
	return max(KeepAliveInterval, time.Duration(n)*keepAliveEach)
}

// KeepAlive ends a connection whose peer does not respond, as [verbs.Conn.KeepAlive] does, until
// stop is called.
func KeepAlive(ctx context.Context, c *verbs.Conn, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	// The result is available from the connection.
	looking.Go(func() { _ = c.KeepAlive(ctx, every) })
	return func() {
		cancel()
		looking.Wait()
	}
}

// IsDead reports whether a connection ended because its peer did not respond.
func IsDead(c *verbs.Conn) bool { return errors.Is(c.Err(), verbs.ErrUnreachable) }
