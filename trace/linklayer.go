package trace

import (
	"encoding/binary"
	"github.com/gorxe/gorxe/trace/capture"
)

const (
	etherLen  = 14
	sllLen    = 16
	sll2Len   = 20
	familyLen = 4
	vlanLen   = 4
	maxVLANs  = 8

	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
)

// network locates the IP datagram in a frame. at is its offset if skip is taken; otherwise skip is
// the reason why there is none. dir is the direction according to the link header.
func network(f *capture.Frame) (at int, dir capture.Direction, skip Skip) {
	b := f.Data
	be := binary.BigEndian
	var kind uint16
	switch f.Link {
	case capture.LinkEthernet:
		if len(b) < etherLen {
			return 0, dir, short(f)
		}
		at, kind = etherLen, be.Uint16(b[12:])
	case capture.LinkLinuxSLL:
		if len(b) < sllLen {
			return 0, dir, short(f)
		}
		at, kind, dir = sllLen, be.Uint16(b[14:]), cookedDirection(be.Uint16(b))
	case capture.LinkLinuxSLL2:
		if len(b) < sll2Len {
			return 0, dir, short(f)
		}
		at, kind, dir = sll2Len, be.Uint16(b), cookedDirection(uint16(b[10]))
	case capture.LinkNull, capture.LinkLoop:
		if len(b) < familyLen {
			return 0, dir, short(f)
		}
		at, kind = familyLen, familyType(b)
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOpenBSD, capture.LinkIPv4, capture.LinkIPv6:
		if len(b) == 0 {
			return 0, dir, short(f)
		}
		switch b[0] >> 4 {
		case 4:
			return 0, dir, taken
		case 6:
			return 0, dir, taken
		}
		return 0, dir, SkipNotIP
	default:
		return 0, dir, SkipLinkType
	}
	for range maxVLANs {
		if !isVLAN(kind) {
			break
		}
		if len(b) < at+vlanLen {
			return 0, dir, short(f)
		}
		kind = be.Uint16(b[at+2:])
		at += vlanLen
	}
	if kind != typeIPv4 && kind != typeIPv6 {
		return 0, dir, SkipNotIP
	}
	return at, dir, taken
}

// short returns the reason for a frame that ends within its link header: the capture's length
// limit, or a malformed frame.
func short(f *capture.Frame) Skip {
	if len(f.Data) < f.Length {
		return SkipCut
	}
	return SkipMalformed
}

// isVLAN reports whether kind is a VLAN tag: IEEE 802.1Q, 802.1ad, or one of two older types of
// outer tags.
func isVLAN(kind uint16) bool {
	return kind == 0x8100 || kind == 0x88a8 || kind == 0x9100 || kind == 0x9200
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
		return typeIPv4
	case 10, 24, 28, 30:
		return typeIPv6
	}
	return 0
}
