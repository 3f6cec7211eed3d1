package daemon

import (
	"cmp"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
)

// defaultRoutes returns the interfaces of the host's default routes, IPv4 before IPv6, each in
// order of preference.
func defaultRoutes() (names []string) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := netlink.RouteList(nil, family)
		if err != nil {
			continue
		}
		slices.SortStableFunc(routes, func(a, b netlink.Route) int { return cmp.Compare(a.Priority, b.Priority) })
		for _, r := range routes {
			if !isDefault(r.Dst) {
				continue
			}
			if i, err := net.InterfaceByIndex(r.LinkIndex); err == nil {
				names = append(names, i.Name)
			}
		}
	}
	return names
}

func isDefault(dst *net.IPNet) bool {
	if dst == nil {
		return true
	}
	ones, _ := dst.Mask.Size()
	return ones == 0
}
