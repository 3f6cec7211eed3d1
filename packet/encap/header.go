package encap

import (
	"encoding/binary"
	"net/netip"
)

// Lengths of headers, in bytes. No IPv4 options or IPv6 extension headers are written.
const (
	EthernetLen = 14
	IPv4Len     = 20
	IPv6Len     = 40
	UDPLen      = 8
	// MaxLen is the maximum length of a [Header].
	MaxLen = EthernetLen + IPv6Len + UDPLen
)

// EtherTypes (IEEE 802).
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd
)

// Port is the UDP destination port of RoCEv2 (IBA Annex A17; IANA "roce").
const Port = 4791

// protocolUDP is the number of UDP in IPv4 and IPv6 headers (IANA).
const protocolUDP = 17

// MAC is an Ethernet address.
type MAC [6]byte

// Header holds the fields of the headers before a RoCEv2 packet.
type Header struct {
	DstMAC, SrcMAC MAC
	// Src and Dst are of the same family and not IPv4-mapped. A zone is ignored.
	Src, Dst netip.Addr
	SrcPort  uint16
	// ID and FlagsFragment are fields of the IPv4 header, ignored over IPv6.
	ID, FlagsFragment      uint16
	TrafficClass, HopLimit uint8  // IPv4 ToS and TTL, or IPv6 traffic class and hop limit
	FlowLabel              uint32 // 20 bits, IPv6 only
}

// Len returns the length of the headers in bytes: 42 over IPv4, 62 over IPv6.
func (h *Header) Len() int {
	if h.Dst.Is4() {
		return EthernetLen + IPv4Len + UDPLen
	}
	return EthernetLen + IPv6Len + UDPLen
}

// Put writes the headers of a datagram with payload bytes of UDP payload to b, which has space for
// Len bytes, and returns Len. The UDP checksum is 0, "none", as Linux rxe sends it over IPv4 and
// IPv6: the ICRC covers more. (Over IPv6, RFC 8200 permits checksum 0 if the receiver accepts it;
// RoCEv2 receivers do.)
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

// PutPseudoChecksum writes the initial UDP checksum for a segment train, whose checksums the
// network device completes: the sum of the pseudo header. b holds the headers that Put wrote.
func PutPseudoChecksum(b []byte) {
	udp := b[len(b)-UDPLen:]
	first := EthernetLen + 8 // offset of the addresses, which are the last fields of an IP header
	if len(b) == EthernetLen+IPv4Len+UDPLen {
		first = EthernetLen + 12
	}
	s := uint32(protocolUDP) + uint32(binary.BigEndian.Uint16(udp[4:]))
	binary.BigEndian.PutUint16(udp[6:], fold(sum(s, b[first:len(b)-UDPLen])))
}

// sum adds the 16-bit words of b, which has an even length, to s.
func sum(s uint32, b []byte) uint32 {
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return s
}

// fold folds a one's complement sum to 16 bits (RFC 1071).
func fold(s uint32) uint16 {
	s = s>>16 + s&0xffff
	return uint16(s>>16 + s)
}
