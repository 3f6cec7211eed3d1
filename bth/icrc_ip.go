package bth

import "encoding/binary"

// SeedIP returns the ICRC seed and the UDP payload of a whole IP datagram. It ignores bytes
// after the end of the datagram, such as the padding of a short Ethernet frame, and does not
// check the UDP ports.
//
// The error is a [*DecodeError] with one of the IP and UDP reasons. SeedIP never allocates.
func SeedIP(ip []byte) (seed uint32, udpPayload []byte, err error) {
	if len(ip) == 0 {
		return 0, nil, refuse(ReasonIPTruncated)
	}
	switch ip[0] >> 4 {
	case 4:
		return seedIPv4(ip)
	case 6:
		return seedIPv6(ip)
	}
	return 0, nil, refuse(ReasonIPVersion)
}

func seedIPv4(ip []byte) (seed uint32, udpPayload []byte, err error) {
	be := binary.BigEndian
	if len(ip) < IPv4HeaderLen {
		return 0, nil, refuse(ReasonIPTruncated)
	}
	total := int(be.Uint16(ip[2:]))
	flags := be.Uint16(ip[6:])
	switch {
	case ip[0] != 0x45:
		return 0, nil, refuse(ReasonIPOptions)
	case flags&0x3fff != 0:
		return 0, nil, refuse(ReasonIPFragment)
	case ip[9] != protocolUDP:
		return 0, nil, refuse(ReasonNotUDP)
	case total > len(ip):
		return 0, nil, refuse(ReasonIPTruncated)
	case total < IPv4HeaderLen+UDPHeaderLen:
		return 0, nil, refuse(ReasonUDPLength)
	}
	udp := ip[IPv4HeaderLen:total]
	if int(be.Uint16(udp[4:])) != len(udp) {
		return 0, nil, refuse(ReasonUDPLength)
	}
	h := Header4{
		Src: [4]byte(ip[12:16]), Dst: [4]byte(ip[16:20]),
		ID: be.Uint16(ip[4:]), FlagsFragment: flags,
		SrcPort: be.Uint16(udp[0:]), DstPort: be.Uint16(udp[2:]), UDPLen: len(udp),
	}
	return h.Seed(), udp[UDPHeaderLen:], nil
}

func seedIPv6(ip []byte) (seed uint32, udpPayload []byte, err error) {
	be := binary.BigEndian
	if len(ip) < IPv6HeaderLen {
		return 0, nil, refuse(ReasonIPTruncated)
	}
	total := IPv6HeaderLen + int(be.Uint16(ip[4:]))
	switch {
	case isIPv6Extension(ip[6]):
		return 0, nil, refuse(ReasonIPOptions)
	case ip[6] != protocolUDP:
		return 0, nil, refuse(ReasonNotUDP)
	case total > len(ip):
		return 0, nil, refuse(ReasonIPTruncated)
	case total < IPv6HeaderLen+UDPHeaderLen:
		return 0, nil, refuse(ReasonUDPLength)
	}
	udp := ip[IPv6HeaderLen:total]
	if int(be.Uint16(udp[4:])) != len(udp) {
		return 0, nil, refuse(ReasonUDPLength)
	}
	h := Header6{
		Src: [16]byte(ip[8:24]), Dst: [16]byte(ip[24:40]),
		SrcPort: be.Uint16(udp[0:]), DstPort: be.Uint16(udp[2:]), UDPLen: len(udp),
	}
	return h.Seed(), udp[UDPHeaderLen:], nil
}

// isIPv6Extension reports whether next is an extension header that may precede UDP (IANA
// protocol numbers; RFC 8200 section 4).
func isIPv6Extension(next byte) bool {
	switch next {
	case 0, 43, 44, 51, 60, 135, 139, 140:
		return true
	}
	return false
}
