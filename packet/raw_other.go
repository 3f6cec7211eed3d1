//go:build !linux

package packet

import (
	"fmt"
	"net/netip"
	"runtime"
)

// ListenRaw needs Linux: it stands on packet sockets, and on rtnetlink for neighbours.
func ListenRaw(addr netip.Addr, opts RawOptions) (Link, error) {
	return nil, fmt.Errorf("packet: raw %v: the raw link needs Linux, this is %s", addr, runtime.GOOS)
}
