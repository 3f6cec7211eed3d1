package tunnel

import "encoding/binary"

const (
	labelLen       = 4
	controlWordLen = 4
	maxStack       = 32 // labels of a stack that are skipped

	bottomOfStack = 0x100
)

// peelMPLS removes an MPLS label stack (RFC 3032). The stack does not tell its contents; they are
// recognised as routers do (RFC 4928): the version of an IP header; else an Ethernet frame of a
// pseudowire, with a control word (RFC 4448, section 4.6) or without.
func peelMPLS(p Place, l *Layer) (Place, Verdict) {
	for range maxStack {
		if len(p.Data) < labelLen {
			return p, p.Lacking()
		}
		v := binary.BigEndian.Uint32(p.Data)
		p = p.skip(labelLen, 0)
		l.ID, l.HasID = v>>12, true
		if l.NumLabels < MaxLabels {
			l.Labels[l.NumLabels] = l.ID
			l.NumLabels++
		}
		if v&bottomOfStack != 0 {
			return belowLabels(p)
		}
	}
	return p, Broken
}

// belowLabels returns the place of the contents of an MPLS packet.
func belowLabels(p Place) (Place, Verdict) {
	b := p.Data
	if len(b) == 0 {
		return p, p.Lacking()
	}
	switch {
	case isIP(p):
		return ipByVersion(p)
	case b[0]>>4 == 0 && len(b) > controlWordLen && hasEtherType(b[controlWordLen:]):
		return Ethernet(p.skip(controlWordLen, 0))
	case hasEtherType(b):
		return Ethernet(p)
	}
	return p, Plain
}

// hasEtherType reports whether b looks like an Ethernet frame: it has a common EtherType.
func hasEtherType(b []byte) bool {
	if len(b) < etherLen {
		return false
	}
	switch kind := binary.BigEndian.Uint16(b[12:]); kind {
	case TypeIPv4, TypeIPv6, TypeMPLS, TypeMPLSMulti, TypeRoCEv1, TypeMACControl, 0x0806:
		return true
	default:
		return isVLAN(kind)
	}
}

// isIP reports whether p looks like an IP header, and not like a MAC address that begins with 4 or
// 6: the IPv4 checksum is right, or the IPv6 length fits, or it is not an Ethernet frame.
func isIP(p Place) bool {
	b := p.Data
	switch b[0] >> 4 {
	case 4:
		return b[0]&0x0f >= 5 && (len(b) >= ipv4Len && checksum4(b) || !hasEtherType(b))
	case 6:
		fits := len(b) >= ipv6Len && ipv6Len+int(binary.BigEndian.Uint16(b[4:])) == p.Wire
		return fits || !hasEtherType(b)
	}
	return false
}

// checksum4 reports whether the IPv4 header at b, of at least 20 bytes, has the right checksum.
func checksum4(b []byte) bool {
	size := int(b[0]&0x0f) * 4
	if len(b) < size {
		return false
	}
	sum := uint32(0)
	for i := 0; i < size; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return (sum&0xffff+sum>>16)&0xffff == 0xffff
}
