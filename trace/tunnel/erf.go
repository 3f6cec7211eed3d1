package tunnel

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/trace/capture"
)

const (
	erfLen          = 16
	erfExtensionLen = 8
	erfEthernetPad  = 2

	erfMore          = 0x80 // more extension headers follow
	maxERFExtensions = 8
)

// Types of ERF records.
const (
	erfEthernet      = 2
	erfColorEthernet = 11
	erfInfiniBand    = 21
)

// erf locates the header after an ERF header (Endace ERF types reference guide): the LRH of an
// InfiniBand packet, or what follows an Ethernet header. kind is an EtherType, or TypeInfiniBand.
func erf(f *capture.Frame) (at int, kind uint16, v Verdict) {
	b := f.Data
	if len(b) < erfLen {
		return 0, 0, short(f)
	}
	at = erfLen
	for more := b[8]&erfMore != 0; more; at += erfExtensionLen {
		if at == erfLen+maxERFExtensions*erfExtensionLen {
			return 0, 0, Broken
		}
		if len(b) < at+erfExtensionLen {
			return 0, 0, short(f)
		}
		more = b[at]&erfMore != 0
	}
	switch b[8] &^ erfMore {
	case erfInfiniBand:
		return at, TypeInfiniBand, Inside
	case erfEthernet, erfColorEthernet:
		at += erfEthernetPad
		if len(b) < at+etherLen {
			return 0, 0, short(f)
		}
		return at + etherLen, binary.BigEndian.Uint16(b[at+12:]), Inside
	}
	return 0, 0, Unsupported
}
