package packet

import "net/netip"

// Port is the UDP destination port of RoCEv2 (IBA Annex A17; IANA "roce").
const Port = 4791

// DefaultHopLimit is the hop limit of a [Path] whose HopLimit is 0.
const DefaultHopLimit = 64

// Path is the destination of a frame, and the fields of the IP header that the sender selects.
// A Path must not change while a frame that is being sent points to it.
type Path struct {
	// Src is the local address, Dst the remote one, both of the same family and not
	// IPv4-mapped. Dst may have a zone; a link-local Dst without zone is in the zone of the
	// link. The links of this module ignore Src: they send from their own address.
	Src, Dst netip.Addr
	// TrafficClass is the IPv4 ToS or IPv6 traffic class: DSCP in the upper six bits, ECN in
	// the lower two.
	TrafficClass uint8
	// HopLimit is the IPv4 TTL or IPv6 hop limit, 1 to 255; 0 means DefaultHopLimit.
	HopLimit uint8
	// FlowLabel is the 20-bit IPv6 flow label. If the link cannot set it, the host chooses one.
	FlowLabel uint32
}

// HopLimitOrDefault returns the hop limit of frames on the path.
func (p *Path) HopLimitOrDefault() uint8 {
	if p.HopLimit == 0 {
		return DefaultHopLimit
	}
	return p.HopLimit
}

// HeaderLen returns the total length of the IP and UDP headers of a frame sent from a, in
// bytes.
func HeaderLen(a netip.Addr) int {
	if a.Is4() {
		return 20 + 8
	}
	return 40 + 8
}
