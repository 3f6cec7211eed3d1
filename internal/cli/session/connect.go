package session

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// connect opens the connection for a tool's exchange: with a host as client, without as server.
// waiting, if not nil, is called when the port of a server is open.
func connect(ctx context.Context, a *app.App, host string, port uint16, waiting func()) (net.Conn,
	exchange.Role, error) {
	if host != "" {
		conn, err := a.TCP.Dial(ctx, host, port)
		return conn, exchange.Client, err
	}
	var ready func(net.Addr)
	if waiting != nil {
		ready = func(net.Addr) { waiting() }
	}
	conn, err := a.TCP.Accept(ctx, port, ready)
	return conn, exchange.Server, err
}

// ExplainExchange adds advice to an error of the exchange. tool describes the required peer.
func ExplainExchange(err error, tool string) error {
	var item *exchange.ItemError
	if !errors.As(err, &item) {
		return err
	}
	var timeout net.Error
	switch {
	case item.Op == "decode":
		return fmt.Errorf("%w; is the peer %s, with the same parameters?", err, tool)
	case errors.Is(err, exchange.ErrPeerClosed), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w; look at the peer's own output: it must be %s with the same parameters", err, tool)
	}
	return err
}
