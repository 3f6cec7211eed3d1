//go:build !linux

package packet

import (
	"fmt"
	"net/netip"
	"runtime"
)

// ListenXDP needs Linux.
func ListenXDP(addr netip.Addr, opts XDPOptions) (Link, error) {
	return nil, fmt.Errorf("packet: xdp %v: the xdp link needs Linux, this is %s", addr, runtime.GOOS)
}

func listenXDPZeroCopy(addr netip.Addr) (Link, error) { return ListenXDP(addr, XDPOptions{}) }
