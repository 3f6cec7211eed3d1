package daemon

import (
	"net"

	"github.com/gorxe/gorxe/packet"
)

// loopback is the address of the default device if there is no interface.
const loopback = "127.0.0.1"

// suggest returns the interfaces or the address of the default devices: the interface of the
// default route, because other hosts usually know an address of this interface. Without a default
// route, they are all interfaces that are up, have an address and are not the loopback; if there is
// none, the loopback address.
func suggest() []string {
	ifs, err := net.Interfaces()
	if err != nil {
		return []string{loopback}
	}
	var usable []string
	for _, i := range ifs {
		if i.Flags&net.FlagLoopback != 0 {
			continue
		}
		if _, _, _, err := packet.HostAddrs(i.Name); err == nil {
			usable = append(usable, i.Name)
		}
	}
	return choose(usable, defaultRoutes())
}

// choose returns the first interface in routes that is usable, otherwise all usable ones.
func choose(usable, routes []string) []string {
	for _, r := range routes {
		for _, u := range usable {
			if u == r {
				return []string{u}
			}
		}
	}
	if len(usable) == 0 {
		return []string{loopback}
	}
	return usable
}
