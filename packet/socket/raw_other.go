//go:build !linux

package socket

import (
	"fmt"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/packet"
)

// ListenRaw requires Linux: it uses packet sockets, and rtnetlink for neighbours.
func ListenRaw(addr netip.Addr, opts RawOptions) (packet.Link, error) {
	return nil, fmt.Errorf("packet: raw %v: the raw link needs Linux, this is %s", addr, runtime.GOOS)
}
