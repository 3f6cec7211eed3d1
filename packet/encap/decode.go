package encap

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Datagram is a UDP datagram with the header fields that RoCEv2 needs.
type Datagram struct {
	// Data is the UDP payload, a part of the decoded bytes. Padding of the frame is excluded.
	Data     []byte
	Src, Dst netip.Addr
	SrcPort  uint16
	// ID and FlagsFragment are fields of the IPv4 header, 0 over IPv6.
	ID, FlagsFragment      uint16
	TrafficClass, HopLimit uint8
}

// Errors of DecodeEthernet and DecodeIP.
var (
	ErrTruncated = errors.New("the frame is shorter than its headers or length fields indicate")
	ErrNotRoCE   = errors.New("the frame is not a UDP datagram to port 4791")
	ErrHeader    = errors.New("the IP or UDP header is inconsistent")
	ErrChecksum  = errors.New("the IPv4 header checksum is wrong")
	ErrFragment  = errors.New("the frame is a fragment: RoCEv2 packets are never fragmented")
)

// DecodeEthernet decodes a frame that starts with the Ethernet header.
func DecodeEthernet(b []byte) (d Datagram, err error) {
	if len(b) < EthernetLen {
		return d, ErrTruncated
	}
	switch t := binary.BigEndian.Uint16(b[12:]); {
	case t == EtherTypeIPv4 && len(b) > EthernetLen && b[EthernetLen]>>4 != 4,
		t == EtherTypeIPv6 && len(b) > EthernetLen && b[EthernetLen]>>4 != 6:
		return d, ErrHeader
	case t != EtherTypeIPv4 && t != EtherTypeIPv6:
		return d, ErrNotRoCE
	}
	return DecodeIP(b[EthernetLen:])
}

// DecodeIP decodes a packet that starts with the IP header. A packet with IPv4 options is no RoCEv2
// packet (CA17-3, CA17-24): the error is ErrHeader; with IPv6 extension headers it is ErrNotRoCE.
// The UDP checksum is not verified: it may be absent or, in packets sent by this host, incomplete
// because the network device completes it. The ICRC, which the caller verifies, covers more.
func DecodeIP(b []byte) (Datagram, error) {
	if len(b) == 0 {
		return Datagram{}, ErrTruncated
	}
	switch b[0] >> 4 {
	case 4:
		return decode4(b)
	case 6:
		return decode6(b)
	}
	return Datagram{}, ErrNotRoCE
}

func decode4(b []byte) (d Datagram, err error) {
	if len(b) < IPv4Len {
		return d, ErrTruncated
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	switch {
	case header != IPv4Len || total < header:
		return d, ErrHeader
	case total > len(b):
		return d, ErrTruncated
	case b[9] != protocolUDP:
		return d, ErrNotRoCE
	case fold(sum(0, b[:header])) != 0xffff:
		return d, ErrChecksum
	}
	d.ID, d.FlagsFragment = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	if d.FlagsFragment&0x3fff != 0 { // fragment offset or more-fragments flag
		return d, ErrFragment
	}
	d.TrafficClass, d.HopLimit = b[1], b[8]
	d.Src, d.Dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	return d, d.decodeUDP(b[header:total])
}

func decode6(b []byte) (d Datagram, err error) {
	if len(b) < IPv6Len {
		return d, ErrTruncated
	}
	total := IPv6Len + int(binary.BigEndian.Uint16(b[4:]))
	switch {
	case total > len(b):
		return d, ErrTruncated
	case b[6] != protocolUDP:
		return d, ErrNotRoCE
	}
	d.TrafficClass, d.HopLimit = b[0]<<4|b[1]>>4, b[7]
	d.Src, d.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	if d.Src.Is4In6() || d.Dst.Is4In6() { // IPv4-mapped addresses must not appear in packets (RFC 4291, 2.5.5.2)
		return d, ErrHeader
	}
	return d, d.decodeUDP(b[IPv6Len:total])
}

// decodeUDP decodes the UDP header of b, which is the payload of the IP packet, and sets SrcPort
// and Data.
func (d *Datagram) decodeUDP(b []byte) error {
	if len(b) < UDPLen {
		return ErrTruncated
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	switch {
	case binary.BigEndian.Uint16(b[2:]) != Port:
		return ErrNotRoCE
	case length < UDPLen:
		return ErrHeader
	case length > len(b):
		return ErrTruncated
	}
	d.SrcPort = binary.BigEndian.Uint16(b)
	d.Data = b[UDPLen:length:length]
	return nil
}
