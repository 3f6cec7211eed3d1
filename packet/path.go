package packet

import "net/netip"

// Port is the UDP destination port of RoCEv2 (IBA Annex A17; IANA "roce").
const Port = 4791

// DefaultHopLimit is the hop limit of a [Path] that names none.
const DefaultHopLimit = 64

// Path says where a frame goes and with which network-layer marks.
// A Path that a frame in flight points to must not change.
type Path struct {
	// Src is the local address, Dst the remote one, both of the same family and not IPv4-mapped.
	// Dst may carry a zone; a link-local Dst without one means the zone of the link.
	// A link always sends from its own address: Src is for the reader and for links with several.
	Src, Dst netip.Addr
	// TrafficClass is the IPv4 ToS or IPv6 traffic class octet: DSCP in the upper six bits, ECN in the lower two.
	TrafficClass uint8
	// HopLimit is the IPv4 TTL or IPv6 hop limit, 1 to 255. 0 means DefaultHopLimit.
	HopLimit uint8
	// FlowLabel is the 20-bit IPv6 flow label. A link that cannot choose it leaves it to the host.
	FlowLabel uint32
}

// HopLimitOrDefault returns the hop limit that a frame on the path leaves with.
func (p *Path) HopLimitOrDefault() uint8 {
	if p.HopLimit == 0 {
		return DefaultHopLimit
	}
	return p.HopLimit
}

// HeaderLen returns the length of the IP and UDP headers in front of a frame sent from a.
func HeaderLen(a netip.Addr) int {
	if a.Is4() {
		return 20 + 8
	}
	return 40 + 8
}
