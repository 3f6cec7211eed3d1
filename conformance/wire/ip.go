package wire

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
)

// Offsets and lengths of the IP headers, in bytes.
const (
	ip4Len, ip6Len, udpLen  = 20, 40, 8
	ip4Total, ip4ID         = 2, 4
	ip4Flags, ip4Sum        = 6, 10
	ip6Payload              = 4
	protocolUDP             = 17
	udpLength, udpCheckSum  = 4, 6
	moreFragments, noOffset = 0x2000, 0xe000
)

// ipPacket returns the IP packet of a UDP payload, before Packet.Header. id is the IPv4
// identification.
func (p *Packet) ipPacket(src, dst netip.Addr, port, id uint16, payload []byte) []byte {
	be := binary.BigEndian
	n := udpLen + len(payload)
	var b []byte
	if src.Is4() {
		b = make([]byte, ip4Len, ip4Len+n)
		b[0], b[1], b[8], b[9] = 0x45, p.TOS, p.ttl(), protocolUDP
		be.PutUint16(b[ip4Total:], uint16(ip4Len+n))
		be.PutUint16(b[ip4ID:], id)
		be.PutUint16(b[ip4Flags:], dontFragment)
	} else {
		b = make([]byte, ip6Len, ip6Len+n)
		b[0], b[1], b[6], b[7] = 6<<4|p.TOS>>4, p.TOS<<4, protocolUDP, p.ttl()
		be.PutUint16(b[ip6Payload:], uint16(n))
	}
	at := 8
	if src.Is4() {
		at = 12
	}
	copy(b[at:], src.AsSlice())
	copy(b[at+src.BitLen()/8:], dst.AsSlice())
	b = be.AppendUint16(b, port)
	b = be.AppendUint16(b, Port)
	b = be.AppendUint16(b, uint16(n))
	b = append(append(b, 0, 0), payload...)
	if !p.NoChecksum {
		FixUDP(b)
	}
	return b
}

// ipHeader returns the length of the IP header of b in bytes, and whether b has one that the UDP
// header follows.
func ipHeader(b []byte) (n int, ok bool) {
	switch {
	case len(b) >= ip4Len && b[0]>>4 == 4:
		n = int(b[0]&15) * 4
		return n, n >= ip4Len && b[9] == protocolUDP && len(b) >= n+udpLen
	case len(b) >= ip6Len && b[0]>>4 == 6:
		return ip6Len, b[6] == protocolUDP && len(b) >= ip6Len+udpLen
	}
	return 0, false
}

// FixICRC computes the ICRC in the last four bytes of an IP packet for its headers as they are,
// IPv4 options included. It returns ip.
func FixICRC(ip []byte) []byte {
	n, ok := ipHeader(ip)
	if !ok || len(ip) < n+udpLen+bth.BTHLen+bth.ICRCLen {
		return ip
	}
	h := append([]byte(nil), ip[:n+udpLen]...)
	if h[0]>>4 == 4 {
		h[1], h[8], h[ip4Sum], h[ip4Sum+1] = 0xff, 0xff, 0xff, 0xff
	} else {
		maskFlow(h)
	}
	h[n+udpCheckSum], h[n+udpCheckSum+1] = 0xff, 0xff
	body := ip[n+udpLen : len(ip)-bth.ICRCLen]
	bth.AppendICRC(ip[:len(ip)-bth.ICRCLen], bth.ICRC(crc32.Update(onesCRC, crc32.IEEETable, h), body))
	return ip
}

// onesCRC is the CRC of the eight bytes of ones that precede the headers in the ICRC (IBA
// CA17-22a).
var onesCRC = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// maskFlow sets the traffic class, the flow label and the hop limit of an IPv6 header or GRH to
// ones.
func maskFlow(h []byte) {
	h[0] |= 0x0f
	h[1], h[2], h[3], h[7] = 0xff, 0xff, 0xff, 0xff
}

// FixUDP computes the UDP checksum of an IP packet. It returns ip.
func FixUDP(ip []byte) []byte {
	if n, ok := ipHeader(ip); ok {
		ip[n+udpCheckSum], ip[n+udpCheckSum+1] = 0, 0
		sum := udpSum(ip, n)
		if sum == 0 {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(ip[n+udpCheckSum:], sum)
	}
	return ip
}

// udpSum returns the Internet checksum of the pseudo header and the UDP datagram after the IP
// header of n bytes. It is 0 for a datagram with the right checksum.
func udpSum(ip []byte, n int) uint16 {
	first, end := 8, ip6Len
	if ip[0]>>4 == 4 {
		first, end = 12, ip4Len
	}
	addrs := ip[first:end]
	udp := ip[n:]
	pseudo := append([]byte(nil), addrs...)
	pseudo = append(pseudo, 0, protocolUDP, udp[udpLength], udp[udpLength+1])
	return ^fold(addWords(addWords(0, pseudo), udp))
}

// fixIPv4 computes the header checksum of an IPv4 packet.
func fixIPv4(b []byte) {
	if len(b) < ip4Len || b[0]>>4 != 4 {
		return
	}
	n := min(max(int(b[0]&15)*4, ip4Len), len(b))
	b[ip4Sum], b[ip4Sum+1] = 0, 0
	binary.BigEndian.PutUint16(b[ip4Sum:], ^fold(addWords(0, b[:n])))
}

// addWords adds the 16-bit words of b; a last odd byte is the upper half of one.
func addWords(sum uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return uint32(fold(sum))
}

func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
