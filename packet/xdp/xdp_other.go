//go:build !linux

package xdp

import (
	"fmt"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/packet"
)

// Listen returns an error: AF_XDP requires Linux.
func Listen(addr netip.Addr, opts Options) (packet.Link, error) {
	return nil, fmt.Errorf("packet: xdp %v: the xdp link needs Linux, this is %s", addr, runtime.GOOS)
}

// ListenZeroCopy returns an error: AF_XDP requires Linux.
func ListenZeroCopy(addr netip.Addr) (packet.Link, error) { return Listen(addr, Options{}) }
