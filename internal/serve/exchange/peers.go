package exchange

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Peers is the rule for the GID that the other end of an exchange may use: it must be the address
// of that end's TCP connection, which TCP's handshake has proven. Otherwise a client could direct
// the traffic of this end at a third host. An end on this host may use any address of this host.
type Peers struct {
	// Foreign are the networks of addresses that an end may use although its TCP connection has
	// another address: a host can use different addresses for TCP and RDMA.
	Foreign []netip.Prefix
	// Own are the addresses of this host. The link-local ones must include those of the links of
	// both ends.
	Own []HostAddr
}

// HostAddr is an address of this host, with its zone if it is link-local, and the prefix length
// of its network.
type HostAddr struct {
	Addr netip.Addr
	Bits int
}

// PeerError is the error of a GID that the other end of an exchange may not use.
type PeerError struct {
	// GID is the GID of the peer, TCP the address of its TCP connection; both have their zones if
	// they are link-local.
	GID, TCP netip.Addr
	// Never is the kind of a GID that no peer may use, such as "a broadcast address". If it is
	// empty, Peers.Foreign could permit the GID.
	Never string
}

// Error describes both addresses.
func (e *PeerError) Error() string {
	if e.Never != "" {
		return fmt.Sprintf("the peer at %v uses the GID %v, which is %s", e.TCP, e.GID, e.Never)
	}
	return fmt.Sprintf("the peer's GID is %v, and its TCP connection has the address %v", e.GID, e.TCP)
}

// Check returns a *PeerError unless the end whose TCP connection has the address tcp may use gid.
// zone is the zone of the address from which packets are sent to gid, if gid is link-local: the
// same address belongs to different hosts on different links.
func (p *Peers) Check(tcp netip.Addr, gid [16]byte, zone string) error {
	tcp, a := tcp.Unmap(), scoped(netip.AddrFrom16(gid).Unmap(), zone)
	here, own := p.own(tcp), p.own(a)
	never := ""
	switch {
	case a == tcp:
		return nil
	case a.IsUnspecified():
		never = "no address"
	case a.IsMulticast():
		never = "a multicast address"
	case p.broadcast(a):
		never = "a broadcast address"
	case a.IsLoopback() && !here:
		never = "a loopback address"
	case own && !here:
		never = "an address of this host"
	}
	switch {
	case never != "":
	case own && here:
		return nil
	case slices.ContainsFunc(p.Foreign, func(f netip.Prefix) bool { return f.Contains(a.WithZone("")) }):
		return nil
	}
	return &PeerError{a, tcp, never}
}

// needsZone reports whether a belongs to different hosts on different links.
func needsZone(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }

// scoped returns a with the zone if it needs one.
func scoped(a netip.Addr, zone string) netip.Addr {
	if needsZone(a) {
		return a.WithZone(zone)
	}
	return a
}

// own reports whether a is an address of this host.
func (p *Peers) own(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(p.Own, func(o HostAddr) bool { return o.Addr == a })
}

// broadcast reports whether a is the limited broadcast address, or the first or the last address of
// a network of this host: Linux treats the last as a broadcast address, and until version 5.14 also
// the first.
func (p *Peers) broadcast(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || slices.ContainsFunc(p.Own, func(h HostAddr) bool {
		o := netip.PrefixFrom(h.Addr, h.Bits)
		if !a.Is4() || !o.Contains(a) || o.Bits() >= 31 {
			return false
		}
		last, mask := a.As4(), net.CIDRMask(o.Bits(), 32)
		for i := range last {
			last[i] |= ^mask[i]
		}
		return a == o.Masked().Addr() || a == netip.AddrFrom4(last)
	})
}

// HostAddrs returns the addresses of this host that are not link-local, and the link-local ones of
// the links with the given zones. It omits addresses that the system does not report.
func HostAddrs(zones ...string) (all []HostAddr) {
	add := func(addrs []net.Addr, zone string) {
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			addr, _ := netip.AddrFromSlice(n.IP)
			bits, _ := n.Mask.Size()
			if addr = scoped(addr.Unmap(), zone); needsZone(addr) == (zone != "") {
				all = append(all, HostAddr{addr, bits})
			}
		}
	}
	addrs, _ := net.InterfaceAddrs()
	add(addrs, "")
	for _, zone := range zones {
		if i, err := net.InterfaceByName(zone); err == nil {
			addrs, _ := i.Addrs()
			add(addrs, zone)
		}
	}
	return all
}

// Address returns the IP address of one end of a TCP connection, with the zone if it is link-local.
// It returns the zero Addr for other connections.
func Address(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return t.AddrPort().Addr().Unmap()
}

// Zones returns the distinct zones of the addresses.
func Zones(addrs ...netip.Addr) (zones []string) {
	for _, a := range addrs {
		if z := a.Zone(); z != "" && !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
	}
	return zones
}
