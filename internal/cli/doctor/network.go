package doctor

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// network reports which interfaces can carry a device and whether its port is free.
func network(root fs.FS, daemonRuns bool) []Finding {
	ifs, err := net.Interfaces()
	if err != nil {
		return []Finding{{"network", Fail, fmt.Sprintf("interfaces cannot be listed: %v", err), ""}}
	}
	taken := portUsers(root)
	var findings []Finding
	for _, i := range ifs {
		addrs, mtu, _, err := packet.HostAddrs(i.Name)
		if err != nil {
			continue // down, or without an address: no device is intended there
		}
		findings = append(findings, carrier(i.Name, addrs, mtu), port(i.Name, addrs, taken, daemonRuns))
	}
	if len(findings) == 0 {
		return []Finding{{
			"network", Fail, "no network interface is up and has an IP address",
			"bring one up, as with: ip link set lo up",
		}}
	}
	return findings
}

// carrier reports the GIDs and the path MTU of a device on an interface.
func carrier(name string, addrs []netip.Addr, mtu int) Finding {
	var gids []string
	for i, a := range addrs {
		gids = append(gids, fmt.Sprintf("%d=%v", i, a.WithZone("")))
	}
	f := Finding{Subject: name, State: OK}
	path, err := pathMTU(addrs[0], mtu)
	if err != nil {
		return Finding{
			name, Fail, fmt.Sprintf("MTU %d: %v", mtu, err),
			"set a larger MTU, as with: ip link set " + name + " mtu 1500",
		}
	}
	f.Text = fmt.Sprintf("MTU %d, so path MTU %d; GIDs %s", mtu, path, strings.Join(gids, " "))
	return f
}

// pathMTU returns the largest path MTU of a device on an interface with an MTU of mtu bytes.
func pathMTU(addr netip.Addr, mtu int) (verbs.MTU, error) {
	l, err := pipe.NewNet().Open(addr, min(mtu, 65535))
	if err != nil {
		return 0, err
	}
	dev, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
	if err != nil {
		return 0, err
	}
	defer dev.Close()
	return dev.PortAttr().ActiveMTU, nil
}

// port reports whether the UDP port of a device on an interface is free.
func port(name string, addrs, taken []netip.Addr, daemonRuns bool) Finding {
	subject := fmt.Sprintf("%s port %d", name, packet.Port)
	var used []string
	for _, a := range addrs {
		if slices.ContainsFunc(taken, func(t netip.Addr) bool { return conflict(t, a.WithZone("")) }) {
			used = append(used, a.WithZone("").String())
		}
	}
	switch {
	case len(used) == 0:
		return Finding{subject, OK, "UDP port is free", ""}
	case daemonRuns:
		return Finding{subject, OK, "in use on " + strings.Join(used, " ") + ", as by a daemon", ""}
	}
	return Finding{
		subject, Warn, "in use on " + strings.Join(used, " "),
		fmt.Sprintf(
			"by another gorxe or this host's rdma_rxe (see: ss -ulpn sport = %d); use another address or network "+
				"namespace, or end it", packet.Port),
	}
}

// conflict reports whether a socket bound to taken prevents another socket from binding addr.
func conflict(taken, addr netip.Addr) bool {
	switch {
	case taken == addr:
		return true
	case taken.Is4():
		return taken.IsUnspecified() && addr.Is4()
	}
	// An unspecified IPv6 address covers IPv4 too, unless the socket is IPV6_V6ONLY, which
	// /proc/net/udp6 does not show.
	return taken.IsUnspecified()
}
