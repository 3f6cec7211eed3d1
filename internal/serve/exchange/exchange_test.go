package exchange

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
)

func TestWatchUnblocksAReadWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer b.Close()
		ctx, cancel := context.WithCancel(t.Context())
		stop := Watch(ctx, a)
		got := make(chan error)
		go func() { got <- ReadItem(a, "version", make([]byte, 16)) }()
		synctest.Wait()
		cancel()
		var ie *ItemError
		if err := <-got; !errors.As(err, &ie) || ie.Item != "version" {
			t.Errorf("got %v, want an error that names the item", err)
		}
		stop()
	})
}

func TestWatchStoppedLeavesTheConnectionAlone(t *testing.T) {
	a, b := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	Watch(ctx, a)()
	cancel()
	go WriteItem(b, "x", []byte("done"))
	if err := ReadItem(a, "x", make([]byte, 4)); err != nil {
		t.Error(err)
	}
}

func TestAnEndedConnectionIsNamed(t *testing.T) {
	for _, sent := range []string{"", "do"} {
		a, b := net.Pipe()
		go func() { b.Write([]byte(sent)); b.Close() }()
		if err := ReadItem(a, "done", make([]byte, 4)); !errors.Is(err, ErrPeerClosed) {
			t.Errorf("after %q: got %v, want ErrPeerClosed", sent, err)
		}
	}
}
