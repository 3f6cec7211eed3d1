package capture

import "fmt"

// LinkType is what the frames of a capture begin with, by its number in tcpdump's registry (LINKTYPE_...). The LinkType of
// gopacket has eight bits and no place for LINUX_SLL2.
type LinkType uint16

const (
	LinkNull      LinkType = 0   // loopback of BSD: the address family in the byte order of the host
	LinkEthernet  LinkType = 1   // with or without VLAN tags
	LinkRaw       LinkType = 101 // an IP header, version 4 or 6
	LinkLoop      LinkType = 108 // loopback of OpenBSD: the address family in network byte order
	LinkLinuxSLL  LinkType = 113 // "cooked" capture on the interface any
	LinkIPv4      LinkType = 228
	LinkIPv6      LinkType = 229
	LinkLinuxSLL2 LinkType = 276 // the same with the interface's index

	// LinkRawBSD and LinkRawOpenBSD are raw IP too: some programs write the number of DLT_RAW, 14 on
	// OpenBSD and 12 elsewhere, instead of 101.
	LinkRawBSD     LinkType = 12
	LinkRawOpenBSD LinkType = 14
)

var linkNames = map[LinkType]string{
	LinkNull: "NULL", LinkEthernet: "Ethernet", LinkRaw: "raw IP", LinkLoop: "LOOP", LinkLinuxSLL: "Linux cooked v1",
	LinkIPv4: "IPv4", LinkIPv6: "IPv6", LinkLinuxSLL2: "Linux cooked v2", LinkRawBSD: "raw IP", LinkRawOpenBSD: "raw IP",
}

// String returns the name of a known type and the number of others.
func (l LinkType) String() string {
	if s := linkNames[l]; s != "" {
		return s
	}
	return fmt.Sprintf("link type %d", uint16(l))
}

// Known reports whether the Decoder of package trace finds IP in frames of the type.
func (l LinkType) Known() bool { return linkNames[l] != "" }
