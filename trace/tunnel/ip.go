package tunnel

import (
	"encoding/binary"
	"net/netip"
)

// IP protocol numbers (IANA).
const (
	ProtoTCP = 6
	ProtoUDP = 17

	protoIPv4     = 4
	protoIPv6     = 41
	protoFragment = 44
	protoGRE      = 47
	protoAH       = 51
	protoMPLS     = 137
)

const (
	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8

	moreFragments4 = 0x2000
	offset4        = 0x1fff
	maxExtensions  = 16
)

// IPHeader holds fields of an IP header.
type IPHeader struct {
	Src, Dst netip.Addr
	Protocol uint8 // of the payload, after IPv6 extension headers
	First    bool  // first of several fragments
	// Payload is the payload, without padding of the link. Its Type is 0.
	Payload Place
}

// ParseIP parses the IP header at p. The verdict is Inside, Cut, Broken or Fragment; with Fragment,
// Src, Dst and Protocol are set.
func ParseIP(p Place, h *IPHeader) Verdict {
	switch {
	case len(p.Data) == 0:
		return p.Lacking()
	case p.Data[0]>>4 == 4:
		return parse4(p, h)
	case p.Data[0]>>4 == 6:
		return parse6(p, h)
	}
	return Broken
}

func parse4(p Place, h *IPHeader) Verdict {
	be := binary.BigEndian
	b := p.Data
	if len(b) < ipv4Len {
		return p.Lacking()
	}
	size, total, flags := int(b[0]&0x0f)*4, int(be.Uint16(b[2:])), be.Uint16(b[6:])
	if total == 0 { // filled in by the NIC; senders with offload leave it 0
		total = max(p.Wire, len(b))
	}
	*h = IPHeader{Src: netip.AddrFrom4([4]byte(b[12:])), Dst: netip.AddrFrom4([4]byte(b[16:])), Protocol: b[9],
		First: flags&moreFragments4 != 0}
	switch {
	case size < ipv4Len || total < size:
		return Broken
	case flags&offset4 != 0:
		return Fragment
	case len(b) < size:
		return p.Lacking()
	}
	h.Payload = p.within(size, total, h.First)
	return Inside
}

func parse6(p Place, h *IPHeader) Verdict {
	be := binary.BigEndian
	b := p.Data
	if len(b) < ipv6Len {
		return p.Lacking()
	}
	total := ipv6Len + int(be.Uint16(b[4:]))
	if total == ipv6Len {
		total = max(p.Wire, len(b))
	}
	*h = IPHeader{Src: netip.AddrFrom16([16]byte(b[8:])), Dst: netip.AddrFrom16([16]byte(b[24:])), Protocol: b[6]}
	at := ipv6Len
	for range maxExtensions {
		if !isExtension(h.Protocol) {
			if total < at {
				return Broken
			}
			h.Payload = p.within(at, total, h.First)
			return Inside
		}
		if len(b) < at+8 {
			return p.Lacking()
		}
		size := (int(b[at+1]) + 1) * 8
		switch h.Protocol {
		case protoFragment:
			size = 8
			field := be.Uint16(b[at+2:])
			if field>>3 != 0 {
				h.Protocol = b[at]
				return Fragment
			}
			h.First = h.First || field&1 != 0
		case protoAH:
			size = (int(b[at+1]) + 2) * 4
		}
		h.Protocol = b[at]
		if at += size; at > len(b) {
			return p.Lacking()
		}
	}
	return Broken
}

// isExtension reports whether next is an IPv6 extension header that may precede another header.
func isExtension(next byte) bool {
	switch next {
	case 0, 43, protoFragment, protoAH, 60, 135, 139, 140:
		return true
	}
	return false
}

// within returns the place at offset at of an IP datagram of total bytes at p. at is at most
// len(p.Data). A first fragment ends before the end of its contents.
func (p Place) within(at, total int, first bool) Place {
	q := p
	q.Type = 0
	q.Wire = min(total, max(p.Wire, len(p.Data))) - at
	q.Data = p.Data[at:min(len(p.Data), max(at, total))]
	q.Truncated = p.Truncated || first
	return q
}

func peelIP(p Place, l *Layer) (Place, Verdict) {
	var h IPHeader
	if v := ParseIP(p, &h); v != Inside {
		return p, v
	}
	*l = Layer{Src: h.Src, Dst: h.Dst}
	inner := h.Payload
	switch h.Protocol {
	case protoIPv4:
		l.Kind, inner.Type = IPinIP, TypeIPv4
		return inner, Inside
	case protoIPv6:
		l.Kind, inner.Type = IPinIP, TypeIPv6
		return inner, Inside
	case protoMPLS:
		l.Kind, inner.Type = MPLS, TypeMPLS
		return peelMPLS(inner, l)
	case protoGRE:
		return peelGRE(inner, l)
	case ProtoUDP:
		return peelUDP(inner, l)
	}
	return p, Plain
}
