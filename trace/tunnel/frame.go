package tunnel

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/trace/capture"
)

const (
	sllLen    = 16
	sll2Len   = 20
	familyLen = 4
)

// OfFrame returns the place after the link header and the VLAN tags of a frame. The verdict is
// Inside, Cut or Broken; Plain if there is no EtherType because the link layer carries no IP; or
// Unsupported. dir is the direction according to the link header.
func OfFrame(f *capture.Frame) (p Place, dir capture.Direction, v Verdict) {
	p = Place{Data: f.Data, Wire: max(f.Length, len(f.Data))}
	at, kind, dir, v := network(f)
	if v != Inside {
		return p, dir, v
	}
	p = p.skip(at, kind)
	if isVLAN(kind) {
		p, v = VLANs(p)
	}
	return p, dir, v
}

// network returns the offset and the EtherType of the header after the link header.
func network(f *capture.Frame) (at int, kind uint16, dir capture.Direction, v Verdict) {
	b := f.Data
	be := binary.BigEndian
	at = linkLen(f.Link)
	if len(b) < at {
		return 0, 0, dir, short(f)
	}
	switch f.Link {
	case capture.LinkEthernet:
		kind = be.Uint16(b[12:])
	case capture.LinkLinuxSLL:
		kind, dir = be.Uint16(b[14:]), cookedDirection(be.Uint16(b))
	case capture.LinkLinuxSLL2:
		kind, dir = be.Uint16(b), cookedDirection(uint16(b[10]))
	case capture.LinkNull, capture.LinkLoop:
		kind = familyType(b)
		if kind == 0 {
			return 0, 0, dir, Plain
		}
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOpenBSD, capture.LinkIPv4, capture.LinkIPv6:
		switch b[0] >> 4 {
		case 4:
			return 0, TypeIPv4, dir, Inside
		case 6:
			return 0, TypeIPv6, dir, Inside
		}
		return 0, 0, dir, Plain
	case capture.LinkInfiniBand:
		kind = TypeInfiniBand
	case capture.LinkERF:
		at, kind, v = erf(f)
		return at, kind, dir, v
	default:
		return 0, 0, dir, Unsupported
	}
	return at, kind, dir, Inside
}

// linkLen returns the length of a link header; for raw IP 1, the byte with the version.
func linkLen(l capture.LinkType) int {
	switch l {
	case capture.LinkEthernet:
		return etherLen
	case capture.LinkLinuxSLL:
		return sllLen
	case capture.LinkLinuxSLL2:
		return sll2Len
	case capture.LinkNull, capture.LinkLoop:
		return familyLen
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOpenBSD, capture.LinkIPv4, capture.LinkIPv6:
		return 1
	}
	return 0
}

// short returns the verdict for a frame that ends within its link header: the capture's length
// limit, or a malformed frame.
func short(f *capture.Frame) Verdict {
	if len(f.Data) < f.Length {
		return Cut
	}
	return Broken
}

// cookedDirection returns the direction for a packet type of Linux cooked headers: 0 to this
// host, 1 broadcast, 2 multicast, 3 to another host, 4 sent by this host.
func cookedDirection(packetType uint16) capture.Direction {
	switch packetType {
	case 0, 1, 2:
		return capture.Inbound
	case 4:
		return capture.Outbound
	}
	return capture.Unknown
}

// familyType returns the EtherType for an address family: IPv4 is 2 everywhere, IPv6 is 10 on
// Linux, 24 on NetBSD and OpenBSD, 28 on FreeBSD and 30 on macOS. The file does not specify the
// host's byte order, so both are accepted.
func familyType(b []byte) uint16 {
	family := binary.BigEndian.Uint32(b)
	if family > 0xffff {
		family = binary.LittleEndian.Uint32(b)
	}
	switch family {
	case 2:
		return TypeIPv4
	case 10, 24, 28, 30:
		return TypeIPv6
	}
	return 0
}
