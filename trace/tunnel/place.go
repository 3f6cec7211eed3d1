package tunnel

import "encoding/binary"

// EtherTypes (IANA and IEEE 802 numbers).
const (
	TypeIPv4       = 0x0800
	TypeIPv6       = 0x86dd
	TypeMPLS       = 0x8847
	TypeMPLSMulti  = 0x8848
	typeTEB        = 0x6558 // transparent Ethernet bridging
	typeERSPAN12   = 0x88be
	typeERSPAN3    = 0x22eb
	TypeRoCEv1     = 0x8915
	TypeMACControl = 0x8808

	// TypeInfiniBand is no EtherType: it marks a local route header.
	TypeInfiniBand = 0xffff
)

// MaxDepth is the number of encapsulations that callers of Peel remove from a frame. More are
// signs of a broken frame.
const MaxDepth = 8

// MaxVLANs is the number of VLAN tags of a frame that are skipped.
const MaxVLANs = 8

const (
	etherLen = 14
	vlanLen  = 4
)

// Place is a header in a frame.
type Place struct {
	Type uint16 // EtherType of the header; up to 1500 it is the length of an IEEE 802.3 frame
	Data []byte // captured bytes from the header on
	Wire int    // length from the header on, on the wire
	// Truncated reports whether the sender of a tunnel may have truncated the contents: lengths in
	// the headers may exceed Wire.
	Truncated bool
}

// Verdict is the result of Peel and the functions that it consists of.
type Verdict uint8

const (
	Plain       Verdict = iota // no encapsulation
	Inside                     // one encapsulation was removed
	Cut                        // captured too short
	Broken                     // ends within its headers, or has contradictory headers
	Fragment                   // a fragment of an IP datagram other than the first
	Unsupported                // unknown link type
)

// Lacking returns the verdict for a header at p that needs more bytes than were captured.
func (p Place) Lacking() Verdict {
	if len(p.Data) < p.Wire || p.Truncated {
		return Cut
	}
	return Broken
}

// skip returns the place n bytes after p, with the EtherType kind. n is at most len(p.Data).
func (p Place) skip(n int, kind uint16) Place {
	p.Data, p.Wire, p.Type = p.Data[n:], max(p.Wire, len(p.Data))-n, kind
	return p
}

// Peel removes the encapsulation that begins at p. If the verdict is Inside, inner is the place
// after it, behind an inner Ethernet header and VLAN tags, and l describes it; else l is undefined.
func Peel(p Place, l *Layer) (inner Place, v Verdict) {
	switch p.Type {
	case TypeIPv4, TypeIPv6:
		return peelIP(p, l)
	case TypeMPLS, TypeMPLSMulti:
		*l = Layer{Kind: MPLS}
		return peelMPLS(p, l)
	}
	return p, Plain
}

// Ethernet returns the place after the Ethernet header and the VLAN tags at p. The verdict is
// Inside, Cut or Broken.
func Ethernet(p Place) (Place, Verdict) {
	if len(p.Data) < etherLen {
		return p, p.Lacking()
	}
	return VLANs(p.skip(etherLen, binary.BigEndian.Uint16(p.Data[12:])))
}

// VLANs returns the place after the VLAN tags at p. The verdict is Inside, Cut or Broken.
func VLANs(p Place) (Place, Verdict) {
	for range MaxVLANs {
		if !isVLAN(p.Type) {
			break
		}
		if len(p.Data) < vlanLen {
			return p, p.Lacking()
		}
		p = p.skip(vlanLen, binary.BigEndian.Uint16(p.Data[2:]))
	}
	return p, Inside
}

// isVLAN reports whether kind is a VLAN tag: IEEE 802.1Q, 802.1ad, or one of two older types of
// outer tags.
func isVLAN(kind uint16) bool {
	switch kind {
	case 0x8100, 0x88a8, 0x9100, 0x9200: // VLANTypes
		return true
	}
	return false
}

// content returns the place of the protocol kind at p, behind an Ethernet header if it is bridged
// Ethernet.
func content(p Place) (Place, Verdict) {
	if p.Type == typeTEB {
		return Ethernet(p)
	}
	return p, Inside
}
