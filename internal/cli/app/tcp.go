package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// dialTimeout is the maximum time a client waits for the TCP connection to its server.
const dialTimeout = 10 * time.Second

// TCP opens the connections over which tools exchange the attributes of their queue pairs.
type TCP interface {
	// Accept waits for one client and then stops listening. ready, if not nil, is called once
	// clients can connect.
	Accept(ctx context.Context, port uint16, ready func(net.Addr)) (net.Conn, error)
	Dial(ctx context.Context, host string, port uint16) (net.Conn, error)
}

// HostTCP is the TCP implementation of the host.
type HostTCP struct{}

// Accept waits for one client on port and then stops listening.
func (HostTCP) Accept(ctx context.Context, port uint16, ready func(net.Addr)) (net.Conn, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", ":"+strconv.Itoa(int(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"TCP port %d is in use: another server waits there; stop it or choose another port with -p", port)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on TCP port %d: %w", port, err)
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	if ready != nil {
		ready(l.Addr())
	}
	conn, err := l.Accept()
	if ctx.Err() != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, context.Cause(ctx)
	}
	return conn, err
}

// Dial connects to a server. The error is a *RefusedError if no server listens there.
func (HostTCP) Dial(ctx context.Context, host string, port uint16) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &dns):
		return nil, fmt.Errorf("host %q is not known (%v)", host, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, &RefusedError{Host: host, Port: port}
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, fmt.Errorf(
			"%s TCP port %d did not answer within %v: is the host up and the port open in the firewall?", host,
			port, dialTimeout)
	}
	return nil, fmt.Errorf("connecting to %s TCP port %d: %w", host, port, err)
}

// RefusedError reports that the host exists but no server listens on the port.
type RefusedError struct {
	Host string
	Port uint16
}

// Error returns a text with the address and a remedy.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("no server listens on %s TCP port %d: start the server there first, without a host argument",
		e.Host, e.Port)
}
