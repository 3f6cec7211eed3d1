package daemon

import (
	"net"

	"github.com/gorxe/gorxe/packet"
)

// loopback is where a device is when there is no other place.
const loopback = "127.0.0.1"

// suggest names where a device is when nobody chose: on the interface of the default route,
// because that is the address by which others know the host. Without one, on every interface
// that is up, is not the loopback and has an address; without any, on the loopback.
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

// choose takes the first of the interfaces of default routes that is usable, or all usable.
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
