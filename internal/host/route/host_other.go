//go:build !linux

package route

import (
	"context"
	"net"
)

type host struct{ sockets }

func open() (host, error) { return host{}, nil }

func (host) close() {}

func (host) neighbour(context.Context, *Route) (net.HardwareAddr, error) { return nil, nil }
