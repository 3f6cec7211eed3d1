//go:build !linux

package socket

import (
	"fmt"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/packet"
)

// ListenUDP requires Linux: on other systems a UDP socket does not control the IPv4
// identification, which the ICRC covers.
func ListenUDP(addr netip.Addr, opts UDPOptions) (packet.Link, error) {
	return nil, fmt.Errorf("packet: udp %v: the udp link needs Linux, this is %s: a UDP socket here cannot fix the IPv4 identification that RoCEv2's ICRC covers", addr, runtime.GOOS)
}
