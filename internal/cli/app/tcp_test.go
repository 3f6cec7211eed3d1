package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
)

func portOf(a net.Addr) uint16 { return uint16(a.(*net.TCPAddr).Port) }

func TestAServerTakesOneClientAndFreesThePort(t *testing.T) {
	ports := make(chan uint16, 1)
	type accepted struct {
		conn net.Conn
		err  error
	}
	got := make(chan accepted, 1)
	go func() {
		conn, err := HostTCP{}.Accept(t.Context(), 0, func(a net.Addr) { ports <- portOf(a) })
		got <- accepted{conn, err}
	}()
	port := <-ports
	_, err := HostTCP{}.Accept(t.Context(), port, nil)
	if want := fmt.Sprintf("TCP port %d is in use: another server waits there; stop it or choose another port with -p",
		port); err == nil || err.Error() != want {
		t.Errorf("a second server: got %v, want %q", err, want)
	}
	conn, err := HostTCP{}.Dial(t.Context(), "127.0.0.1", port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a := <-got
	if a.err != nil {
		t.Fatal(a.err)
	}
	defer a.conn.Close()
	_, err = HostTCP{}.Dial(t.Context(), "127.0.0.1", port)
	if want := fmt.Sprintf(
		"no server listens on 127.0.0.1 TCP port %d: start the server there first, without a host argument",
		port); err == nil || err.Error() != want {
		t.Errorf("a second client: got %v, want %q", err, want)
	}
}

func TestWaitingForTCPCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := HostTCP{}.Accept(ctx, 0, func(net.Addr) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("accept: got %v", err)
	}
	if _, err := (HostTCP{}).Dial(ctx, "127.0.0.1", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("dial: got %v", err)
	}
}
