package encap

import (
	"encoding/binary"
	"net/netip"
)

// Lengths of headers, in bytes. Neither IPv4 options nor IPv6 extension headers are ever written.
const (
	EthernetLen = 14
	IPv4Len     = 20
	IPv6Len     = 40
	UDPLen      = 8
	// MaxLen is the most that a [Header] takes.
	MaxLen = EthernetLen + IPv6Len + UDPLen
)

// EtherTypes (IEEE 802).
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd
)

// Port is the UDP destination port of RoCEv2 (IBA Annex A17; IANA "roce").
const Port = 4791

// protocolUDP is UDP's number in an IPv4 header, and in an IPv6 header (IANA).
const protocolUDP = 17

// MAC is an Ethernet address.
type MAC [6]byte

// Header is what stands on the wire in front of a RoCEv2 packet.
type Header struct {
	DstMAC, SrcMAC MAC
	// Src and Dst are of the same family and not IPv4-mapped. A zone is ignored.
	Src, Dst netip.Addr
	SrcPort  uint16
	// ID and FlagsFragment are fields of the IPv4 header; over IPv6 they are ignored.
	ID, FlagsFragment      uint16
	TrafficClass, HopLimit uint8  // IPv4 ToS and TTL, or the fields of that name of IPv6
	FlowLabel              uint32 // 20 bits, IPv6 only
}

// Len is the length of the header in bytes: 42 over IPv4, 62 over IPv6.
func (h *Header) Len() int {
	if h.Dst.Is4() {
		return EthernetLen + IPv4Len + UDPLen
	}
	return EthernetLen + IPv6Len + UDPLen
}

// Put writes the header of a datagram with the given length of UDP payload to b, which has room for Len bytes, and returns
// Len. The UDP checksum is 0, "none", as Linux rxe sends it over both versions of IP: the ICRC covers more. (RFC 8200 lets a
// checksum be absent over IPv6 where receivers are told to accept that; those of RoCEv2 are.)
func (h *Header) Put(b []byte, payload int) int {
	n := h.Len()
	b = b[:n]
	copy(b, h.DstMAC[:])
	copy(b[6:], h.SrcMAC[:])
	udp := b[n-UDPLen:]
	if h.Dst.Is4() {
		binary.BigEndian.PutUint16(b[12:], EtherTypeIPv4)
		h.put4(b[EthernetLen:], IPv4Len+UDPLen+payload)
	} else {
		binary.BigEndian.PutUint16(b[12:], EtherTypeIPv6)
		h.put6(b[EthernetLen:], UDPLen+payload)
	}
	binary.BigEndian.PutUint16(udp, h.SrcPort)
	binary.BigEndian.PutUint16(udp[2:], Port)
	binary.BigEndian.PutUint16(udp[4:], uint16(UDPLen+payload))
	binary.BigEndian.PutUint16(udp[6:], 0)
	return n
}

func (h *Header) put4(b []byte, total int) {
	b[0] = 4<<4 | IPv4Len/4
	b[1] = h.TrafficClass
	binary.BigEndian.PutUint16(b[2:], uint16(total))
	binary.BigEndian.PutUint16(b[4:], h.ID)
	binary.BigEndian.PutUint16(b[6:], h.FlagsFragment)
	b[8], b[9] = h.HopLimit, protocolUDP
	b[10], b[11] = 0, 0
	src, dst := h.Src.As4(), h.Dst.As4()
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	binary.BigEndian.PutUint16(b[10:], ^fold(sum(0, b[:IPv4Len])))
}

func (h *Header) put6(b []byte, payload int) {
	binary.BigEndian.PutUint32(b, 6<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&0xfffff)
	binary.BigEndian.PutUint16(b[4:], uint16(payload))
	b[6], b[7] = protocolUDP, h.HopLimit
	src, dst := h.Src.As16(), h.Dst.As16()
	copy(b[8:], src[:])
	copy(b[24:], dst[:])
}

// PutPseudoChecksum writes what a host puts in the UDP checksum of a datagram that its network device is to complete: the
// sum of the pseudo header. b is a header as Put left it. Trains that a device cuts up need it.
func PutPseudoChecksum(b []byte) {
	udp := b[len(b)-UDPLen:]
	first := EthernetLen + 8 // of the addresses, which are the last of an IP header
	if len(b) == EthernetLen+IPv4Len+UDPLen {
		first = EthernetLen + 12
	}
	s := uint32(protocolUDP) + uint32(binary.BigEndian.Uint16(udp[4:]))
	binary.BigEndian.PutUint16(udp[6:], fold(sum(s, b[first:len(b)-UDPLen])))
}

// sum adds the 16-bit words of b, of which there is an even number of bytes, to s.
func sum(s uint32, b []byte) uint32 {
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return s
}

// fold makes a one's complement sum of 16 bits (RFC 1071).
func fold(s uint32) uint16 {
	s = s>>16 + s&0xffff
	return uint16(s>>16 + s)
}
