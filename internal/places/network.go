package places

import (
	"fmt"
	"net/netip"
)

// Network is an IPv6 network that one host can have for itself, so that bounds on what an address
// may have mean nothing without one on the network.
type Network struct {
	Addr netip.Addr // the first address, with the zone of a link-local one; none in the zero Network
	Bits int        // length of the prefix
}

// networkBits is the length of networks: the least part of IPv6 that a host can have for itself.
const networkBits = 64

// NetworkOf returns the network of an address, which is a /64: of a link-local address that of its
// link, on which each neighbour can have as many addresses as it wants. An IPv4 address has none.
func NetworkOf(addr netip.Addr) Network {
	if !addr.Is6() || addr.Is4In6() {
		return Network{}
	}
	// Prefix leaves out the zone. The error is of a length that no address has.
	p, _ := addr.Prefix(networkBits)
	return Network{p.Addr().WithZone(addr.Zone()), networkBits}
}

// IsValid reports whether there is a network.
func (n Network) IsValid() bool { return n.Addr.IsValid() }

// String returns a text such as 2001:db8::/64, or fe80::/64%eth0.
func (n Network) String() string {
	text := fmt.Sprintf("%v/%d", n.Addr.WithZone(""), n.Bits)
	if zone := n.Addr.Zone(); zone != "" {
		text += "%" + zone
	}
	return text
}
