package packet

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// HostAddrs returns the addresses of device, its MTU in bytes and the name of its network
// interface. device is the name of an interface or one local IP address; for an address, only
// that address is returned. The addresses of an interface are in the order in which Linux rxe
// lists them as GIDs: IPv6 link-local (with zone), IPv4, other IPv6.
func HostAddrs(device string) (addrs []netip.Addr, mtu int, ifname string, err error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, 0, "", fmt.Errorf("packet: listing network interfaces: %w", err)
	}
	if addr, err := netip.ParseAddr(device); err == nil {
		return hostAddr(addr.Unmap(), ifs)
	}
	i := slices.IndexFunc(ifs, func(ifc net.Interface) bool { return ifc.Name == device })
	if i < 0 {
		return nil, 0, "", fmt.Errorf("packet: no network interface %q: there are %s", device, interfaceNames(ifs))
	}
	ifc := &ifs[i]
	if ifc.Flags&net.FlagUp == 0 {
		return nil, 0, "", fmt.Errorf("packet: network interface %s is down: bring it up first", ifc.Name)
	}
	list, err := interfaceAddrs(ifc)
	if err != nil {
		return nil, 0, "", err
	}
	if len(list) == 0 {
		return nil, 0, "", fmt.Errorf("packet: network interface %s has no IP address", ifc.Name)
	}
	for _, a := range list {
		addrs = append(addrs, a.addr)
	}
	return addrs, ifc.MTU, ifc.Name, nil
}

// hostAddr returns the results of HostAddrs for the address addr; ifs are all interfaces.
func hostAddr(addr netip.Addr, ifs []net.Interface) ([]netip.Addr, int, string, error) {
	var have []string
	for i := range ifs {
		ifc := &ifs[i]
		list, err := interfaceAddrs(ifc)
		if err != nil {
			return nil, 0, "", err
		}
		for _, a := range list {
			have = append(have, a.addr.String())
			switch {
			case a.addr == addr, addr.Zone() == "" && a.addr.WithZone("") == addr:
				return []netip.Addr{a.addr}, ifc.MTU, ifc.Name, nil
			case ifc.Flags&net.FlagLoopback != 0 && addr.Is4() && a.prefix.Contains(addr):
				// All addresses of a loopback IPv4 prefix are local.
				return []netip.Addr{addr}, ifc.MTU, ifc.Name, nil
			}
		}
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return nil, 0, "", fmt.Errorf("packet: %v is not an address of this host: it has %s",
		addr, strings.Join(have, ", "))
}

// interfaceAddr is an address of an interface, with zone if link-local, and its prefix.
type interfaceAddr struct {
	addr   netip.Addr
	prefix netip.Prefix
}

// interfaceAddrs returns the addresses of ifc in the order of HostAddrs.
func interfaceAddrs(ifc *net.Interface) ([]interfaceAddr, error) {
	list, err := ifc.Addrs()
	if err != nil {
		return nil, fmt.Errorf("packet: listing the addresses of %s: %w", ifc.Name, err)
	}
	var out []interfaceAddr
	for _, a := range list {
		ipnet, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ipnet.IP)
		if !ok {
			continue
		}
		addr = addr.Unmap()
		ones, _ := ipnet.Mask.Size()
		ia := interfaceAddr{addr: addr, prefix: netip.PrefixFrom(addr, ones)}
		if addr.Is6() && addr.IsLinkLocalUnicast() {
			ia.addr = addr.WithZone(ifc.Name)
		}
		out = append(out, ia)
	}
	slices.SortStableFunc(out, func(a, b interfaceAddr) int { return cmp.Compare(gidRank(a.addr), gidRank(b.addr)) })
	return out, nil
}

// gidRank returns the rank of a in the order of HostAddrs; addresses of equal rank keep the order
// of the system.
func gidRank(a netip.Addr) int {
	switch {
	case a.Is6() && a.IsLinkLocalUnicast():
		return 0
	case a.Is4():
		return 1
	default:
		return 2
	}
}

func interfaceNames(ifs []net.Interface) string {
	names := make([]string, len(ifs))
	for i := range ifs {
		names[i] = ifs[i].Name
	}
	return strings.Join(names, ", ")
}
