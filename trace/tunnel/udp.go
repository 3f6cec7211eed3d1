package tunnel

import "encoding/binary"

// UDP destination ports (IANA); portVXLANLinux is the default of Linux.
const (
	portVXLAN      = 4789
	portVXLANLinux = 8472
	portVXLANGPE   = 4790
	portGeneve     = 6081
	portMPLS       = 6635
)

const (
	vxlanLen  = 8
	geneveLen = 8

	vxlanHasVNI  = 0x08 // I flag
	gpeHasNext   = 0x04 // P flag
	gpeVersion   = 0x30
	geneveOAM    = 0x80
	geneveOptLen = 0x3f
)

// peelUDP removes a tunnel over UDP; p is the UDP header.
func peelUDP(p Place, l *Layer) (Place, Verdict) {
	if len(p.Data) < udpLen {
		return p, p.Lacking()
	}
	port := binary.BigEndian.Uint16(p.Data[2:])
	inner := p.skip(udpLen, 0)
	switch port {
	case portVXLAN, portVXLANLinux:
		return peelVXLAN(inner, l)
	case portVXLANGPE:
		return peelGPE(inner, l)
	case portGeneve:
		return peelGeneve(inner, l)
	case portMPLS:
		l.Kind, inner.Type = MPLS, TypeMPLS
		return peelMPLS(inner, l)
	}
	return p, Plain
}

// peelVXLAN removes a VXLAN header (RFC 7348, section 5). The group policy extension uses further
// flags, so only I is checked.
func peelVXLAN(p Place, l *Layer) (Place, Verdict) {
	if len(p.Data) < vxlanLen {
		return p, p.Lacking()
	}
	if p.Data[0]&vxlanHasVNI == 0 {
		return p, Plain
	}
	l.Kind, l.ID, l.HasID = VXLAN, binary.BigEndian.Uint32(p.Data[4:])>>8, true
	return Ethernet(p.skip(vxlanLen, 0))
}

// peelGPE removes a VXLAN-GPE header (draft-ietf-nvo3-vxlan-gpe, section 3). Network service
// headers inside are not decoded.
func peelGPE(p Place, l *Layer) (Place, Verdict) {
	if len(p.Data) < vxlanLen {
		return p, p.Lacking()
	}
	flags := p.Data[0]
	if flags&vxlanHasVNI == 0 || flags&gpeVersion != 0 {
		return p, Plain
	}
	l.Kind, l.ID, l.HasID = VXLANGPE, binary.BigEndian.Uint32(p.Data[4:])>>8, true
	inner := p.skip(vxlanLen, typeTEB)
	if flags&gpeHasNext != 0 {
		switch p.Data[3] {
		case 1:
			inner.Type = TypeIPv4
		case 2:
			inner.Type = TypeIPv6
		case 3:
		case 5:
			inner.Type = TypeMPLS
		default:
			return p, Plain
		}
	}
	return content(inner)
}

// peelGeneve removes a Geneve header (RFC 8926, section 3.4) and its options.
func peelGeneve(p Place, l *Layer) (Place, Verdict) {
	if len(p.Data) < geneveLen {
		return p, p.Lacking()
	}
	b := p.Data
	if b[0]>>6 != 0 || b[1]&geneveOAM != 0 { // control packets have no frame inside
		return p, Plain
	}
	size := geneveLen + int(b[0]&geneveOptLen)*4
	if len(b) < size {
		return p, p.Lacking()
	}
	l.Kind, l.ID, l.HasID = Geneve, binary.BigEndian.Uint32(b[4:])>>8, true
	return content(p.skip(size, binary.BigEndian.Uint16(b[2:])))
}
