package wire

import (
	"fmt"
	"net"
	"net/netip"
)

// OtherAddr returns a source address, neither that of l nor peer, from which l can send to peer:
// for a raw link any address of its network, for a UDP link another address of its interface.
func OtherAddr(l Link, peer netip.Addr) (netip.Addr, error) {
	local := l.Local()
	usable := func(a netip.Addr) bool {
		return a.Is4() == local.Is4() && a != local && a != peer && !a.IsLinkLocalUnicast()
	}
	all, err := net.Interfaces()
	if err != nil {
		return netip.Addr{}, err
	}
	for _, i := range all {
		addrs, _ := i.Addrs()
		here := false
		var others []netip.Addr
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			if p.Contains(local) {
				here = true
				loopback := i.Flags&net.FlagLoopback != 0 && local.Is4()
				for a, n := local.Next(), 0; (l.Raw() || loopback) && n < 3 && p.Contains(a); a, n = a.Next(), n+1 {
					others = append(others, a)
				}
			}
			others = append(others, p.Addr())
		}
		for _, a := range others {
			if here && usable(a) {
				return a, nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("the interface of %v has no second address: add one, or use a raw link", local)
}
