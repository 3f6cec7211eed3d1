package tunnel

import "encoding/binary"

const (
	greLen = 4

	greChecksum = 0x8000
	greRouting  = 0x4000
	greKey      = 0x2000
	greSequence = 0x1000
	greVersion  = 0x0007

	erspan2Len = 8
	erspan3Len = 12
	erspanSub  = 8 // platform-specific subheader of type III
)

// peelGRE removes a GRE header (RFC 2784; key and sequence number: RFC 2890) and an ERSPAN header
// after it. Headers with source routes (RFC 1701) and version 1 (PPTP) are not decoded.
func peelGRE(p Place, l *Layer) (Place, Verdict) {
	be := binary.BigEndian
	b := p.Data
	if len(b) < greLen {
		return p, p.Lacking()
	}
	flags, kind := be.Uint16(b), be.Uint16(b[2:])
	if flags&(greRouting|greVersion) != 0 {
		return p, Plain
	}
	size := greLen
	for _, f := range [...]uint16{greChecksum, greKey, greSequence} {
		if flags&f != 0 {
			size += 4
		}
	}
	if len(b) < size {
		return p, p.Lacking()
	}
	l.Kind = GRE
	at := greLen
	if flags&greChecksum != 0 {
		at += 4
	}
	if flags&greKey != 0 {
		l.ID, l.HasID = be.Uint32(b[at:]), true
		at += 4
	}
	if flags&greSequence != 0 {
		l.Seq, l.HasSeq = be.Uint32(b[at:]), true
	}
	inner := p.skip(size, kind)
	switch {
	case kind == typeERSPAN12 && !l.HasSeq:
		l.Kind, inner.Truncated = ERSPAN1, true
		return Ethernet(inner)
	case kind == typeERSPAN12:
		return peelERSPAN2(inner, l)
	case kind == typeERSPAN3:
		return peelERSPAN3(inner, l)
	case kind == typeTEB && flags&(greChecksum|greKey|greSequence) == greKey:
		l.Kind, l.Flow, l.ID = NVGRE, uint8(l.ID), l.ID>>8
	}
	return content(inner)
}

// erspanCommon sets the fields that types II and III share.
func (l *Layer) erspanCommon(b []byte) {
	v := binary.BigEndian.Uint32(b)
	l.ID, l.HasID = v&0x3ff, true
	l.ERSPAN = ERSPAN{VLAN: uint16(v >> 16 & 0xfff), COS: uint8(v >> 13 & 7), Truncated: v>>10&1 != 0}
}

// peelERSPAN2 removes an ERSPAN type II header. Its version field is 1. Mirrors may truncate frames
// without setting T.
func peelERSPAN2(p Place, l *Layer) (Place, Verdict) {
	if len(p.Data) < erspan2Len {
		return p, p.Lacking()
	}
	if p.Data[0]>>4 != 1 {
		return p, Plain
	}
	l.Kind = ERSPAN2
	l.erspanCommon(p.Data)
	l.ERSPAN.Index = binary.BigEndian.Uint32(p.Data[4:]) & 0xfffff
	inner := p.skip(erspan2Len, 0)
	inner.Truncated = true
	return Ethernet(inner)
}

// Frame types (FT) of ERSPAN type III.
const (
	erspanEthernet = 0
	erspanIP       = 2
)

// peelERSPAN3 removes an ERSPAN type III header, and its optional subheader. Its version field is
// 2.
func peelERSPAN3(p Place, l *Layer) (Place, Verdict) {
	b := p.Data
	if len(b) < erspan3Len {
		return p, p.Lacking()
	}
	if b[0]>>4 != 2 {
		return p, Plain
	}
	l.Kind = ERSPAN3
	l.erspanCommon(b)
	v := binary.BigEndian.Uint16(b[10:])
	e := &l.ERSPAN
	e.Timestamp = binary.BigEndian.Uint32(b[4:])
	e.HardwareID, e.Egress, e.Granularity = uint8(v>>4&0x3f), v>>3&1 != 0, uint8(v>>1&3)
	size := erspan3Len
	if v&1 != 0 {
		size += erspanSub
	}
	if len(b) < size {
		return p, p.Lacking()
	}
	inner := p.skip(size, 0)
	inner.Truncated = true
	switch v >> 10 & 0x1f {
	case erspanEthernet:
		return Ethernet(inner)
	case erspanIP:
		return ipByVersion(inner)
	}
	return p, Plain
}

// ipByVersion returns the place of an IP header with the EtherType of its version.
func ipByVersion(p Place) (Place, Verdict) {
	if len(p.Data) == 0 {
		return p, p.Lacking()
	}
	switch p.Data[0] >> 4 {
	case 4:
		p.Type = TypeIPv4
	case 6:
		p.Type = TypeIPv6
	default:
		return p, Plain
	}
	return p, Inside
}
