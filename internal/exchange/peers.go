package exchange

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Peers is the rule for the GID that the other end of an exchange names: it is the address of its
// TCP connection, which the handshake has proven. Otherwise a client could direct the traffic of
// this end at a third host. An end on this host may name any address of this host.
type Peers struct {
	// Foreign are the networks whose addresses an end may name although its TCP connection has
	// another: a host can have one address for TCP and another for RDMA.
	Foreign []netip.Prefix
	// Own are the addresses of this host with their networks.
	Own []netip.Prefix
}

// PeerError is a GID that the other end of an exchange may not name.
type PeerError struct {
	GID, TCP netip.Addr // what was named, and the address of the TCP connection
	// Never says what the GID is that nobody may name, such as "a broadcast address". Empty:
	// Peers.Foreign could allow it.
	Never string
}

// Error names both addresses.
func (e *PeerError) Error() string {
	if e.Never != "" {
		return fmt.Sprintf("the peer at %v names the GID %v, which is %s", e.TCP, e.GID, e.Never)
	}
	return fmt.Sprintf("the peer's GID is %v, and its TCP connection has the address %v", e.GID, e.TCP)
}

// Check returns a *PeerError unless the end whose TCP connection has the address tcp may name gid.
func (p *Peers) Check(tcp netip.Addr, gid [16]byte) error {
	tcp, a := tcp.Unmap().WithZone(""), netip.AddrFrom16(gid).Unmap()
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
	case slices.ContainsFunc(p.Foreign, func(f netip.Prefix) bool { return f.Contains(a) }):
		return nil
	}
	return &PeerError{a, tcp, never}
}

// own reports whether a is an address of this host.
func (p *Peers) own(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(p.Own, func(o netip.Prefix) bool { return o.Addr() == a })
}

// broadcast reports whether a is the limited broadcast address, or the first or the last address of
// a network of this host: Linux takes both for broadcast addresses, the first until version 5.14.
func (p *Peers) broadcast(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || slices.ContainsFunc(p.Own, func(o netip.Prefix) bool {
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

// HostAddrs returns the addresses of this host with their networks; none when the system does not
// tell.
func HostAddrs() (all []netip.Prefix) {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			addr, _ := netip.AddrFromSlice(n.IP)
			bits, _ := n.Mask.Size()
			all = append(all, netip.PrefixFrom(addr.Unmap(), bits))
		}
	}
	return all
}

// Address returns the IP address of one end of a TCP connection, as GIDs have it; the zero Addr for
// other connections.
func Address(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return t.AddrPort().Addr().Unmap().WithZone("")
}
