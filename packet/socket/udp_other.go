//go:build !linux

package socket

import (
	"fmt"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/packet"
)

// ListenUDP needs Linux: no other host lets a UDP socket know the IPv4 identification its datagrams will carry,
// and the ICRC of RoCEv2 covers it.
func ListenUDP(addr netip.Addr, opts UDPOptions) (packet.Link, error) {
	return nil, fmt.Errorf("packet: udp %v: the udp link needs Linux, this is %s: a UDP socket here cannot fix the IPv4 identification that RoCEv2's ICRC covers", addr, runtime.GOOS)
}
