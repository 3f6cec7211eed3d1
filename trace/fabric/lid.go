package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// lidPrefix is the prefix of addresses that stand for LIDs: discard-only addresses (RFC 6666), which
// no packet has.
var lidPrefix = [16]byte{0: 1}

// LIDAddr returns the address that stands for a LID, in packets of InfiniBand without a GRH.
// [AddrText] prints it as "LID 5".
func LIDAddr(lid uint16) netip.Addr {
	a := lidPrefix
	binary.BigEndian.PutUint16(a[14:], lid)
	return netip.AddrFrom16(a)
}

// LIDOf returns the LID that a stands for, if it is an address of LIDAddr.
func LIDOf(a netip.Addr) (lid uint16, ok bool) {
	if !a.Is6() || a.Zone() != "" {
		return 0, false
	}
	b := a.As16()
	lid = binary.BigEndian.Uint16(b[14:])
	b[14], b[15] = 0, 0
	return lid, b == lidPrefix
}

// AddrText returns a as text: an IP address or GID, or a LID such as "LID 5".
func AddrText(a netip.Addr) string { return string(AppendAddr(nil, a)) }

// AppendAddr appends the text of AddrText to b.
func AppendAddr(b []byte, a netip.Addr) []byte {
	if lid, ok := LIDOf(a); ok {
		return fmt.Appendf(b, "LID %d", lid)
	}
	return a.AppendTo(b)
}
