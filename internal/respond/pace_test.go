package respond

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe"
)

// eager is a listener to which clients come as fast as they are accepted.
type eager struct {
	accepted int
	closed   chan struct{}
}

func (l *eager) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	l.accepted++
	near, far := net.Pipe()
	far.Close()
	return near, nil
}

func (l *eager) Close() error   { close(l.closed); return nil }
func (l *eager) Addr() net.Addr { return &net.TCPAddr{} }

func TestAFloodOfClientsIsAcceptedAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(func() []*gorxe.Device { return nil }, Limits{}, slog.New(slog.DiscardHandler))
		l := &eager{closed: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Serve(ctx, l, Perftest); err != nil {
			t.Fatal(err)
		}
		if most := acceptBurst + int(time.Second/acceptInterval) + 1; l.accepted < most-2 || l.accepted > most {
			t.Errorf("%d clients were accepted in a second, want %d", l.accepted, most)
		}
		synctest.Wait()
	})
}

func TestClientsThatComeNowAndThenDoNotWait(t *testing.T) {
	var p pace
	now := time.Unix(1, 0)
	for i := range 10 * acceptBurst {
		if d := p.next(now); d > 0 {
			t.Fatalf("client %d waits for %v", i, d)
		}
		now = now.Add(acceptInterval)
	}
}
