package capture

import "fmt"

// LinkType is the type of the header that frames begin with: a LINKTYPE_ number of tcpdump's
// registry. (gopacket's LinkType has 8 bits, too few for LINUX_SLL2.)
type LinkType uint16

const (
	LinkNull     LinkType = 0   // loopback of BSD: the address family in host byte order
	LinkEthernet LinkType = 1   // with or without VLAN tags
	LinkRaw      LinkType = 101 // an IP header, version 4 or 6
	LinkLoop     LinkType = 108 // loopback of OpenBSD: the address family in network byte order
	LinkLinuxSLL LinkType = 113 // Linux "cooked" capture on the interface "any"
	LinkERF      LinkType = 197 // Extensible Record Format of Endace: Ethernet and InfiniBand
	LinkIPv4     LinkType = 228
	LinkIPv6     LinkType = 229
	// LinkInfiniBand frames begin with the local route header.
	LinkInfiniBand LinkType = 247
	LinkLinuxSLL2  LinkType = 276 // Linux cooked capture v2, with the interface index

	// LinkRawBSD and LinkRawOpenBSD are raw IP, too. Some programs write the value of DLT_RAW
	// instead of 101: 14 on OpenBSD, 12 elsewhere.
	LinkRawBSD     LinkType = 12
	LinkRawOpenBSD LinkType = 14
)

var linkNames = map[LinkType]string{
	LinkNull: "NULL", LinkEthernet: "Ethernet", LinkRaw: "raw IP", LinkLoop: "LOOP", LinkLinuxSLL: "Linux cooked v1",
	LinkIPv4: "IPv4", LinkIPv6: "IPv6", LinkLinuxSLL2: "Linux cooked v2", LinkRawBSD: "raw IP",
	LinkRawOpenBSD: "raw IP", LinkERF: "ERF", LinkInfiniBand: "InfiniBand",
}

// String returns the name of a known link type, or the number.
func (l LinkType) String() string {
	if s := linkNames[l]; s != "" {
		return s
	}
	return fmt.Sprintf("link type %d", uint16(l))
}

// Known reports whether trace.Decoder supports the link type.
func (l LinkType) Known() bool { return linkNames[l] != "" }
