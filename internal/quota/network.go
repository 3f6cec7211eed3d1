package quota

import (
	"fmt"
	"net/netip"
)

// Network is an IPv6 network that a single host may own, so that a limit for each address is
// ineffective without a limit for the network.
type Network struct {
	Addr netip.Addr // first address, with the zone of a link-local one; invalid in the zero Network
	Bits int        // prefix length
}

// networkBits is the prefix length of a Network: the smallest IPv6 network that a host may own.
const networkBits = 64

// NetworkOf returns the /64 network of an address; for a link-local address, the network of its
// link, on which each neighbour can use any number of addresses. It returns the zero Network for
// IPv4.
func NetworkOf(addr netip.Addr) Network {
	if !addr.Is6() || addr.Is4In6() {
		return Network{}
	}
	// Prefix removes the zone. Its error is for prefix lengths out of range.
	p, _ := addr.Prefix(networkBits)
	return Network{p.Addr().WithZone(addr.Zone()), networkBits}
}

// IsValid reports whether n is not the zero Network.
func (n Network) IsValid() bool { return n.Addr.IsValid() }

// String returns the network as text, such as 2001:db8::/64 or fe80::/64%eth0.
func (n Network) String() string {
	text := fmt.Sprintf("%v/%d", n.Addr.WithZone(""), n.Bits)
	if zone := n.Addr.Zone(); zone != "" {
		text += "%" + zone
	}
	return text
}
