package qp

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// GID is the address of a RoCEv2 port: an IPv6 address, or an IPv4 address mapped into
// IPv6 as ::ffff:a.b.c.d (IBA annex A17).
type GID [16]byte

// GIDFromAddr is the GID of an IP address. A zone is dropped; the invalid Addr gives the
// zero GID.
func GIDFromAddr(a netip.Addr) GID {
	if !a.IsValid() {
		return GID{}
	}
	return a.As16()
}

// Addr is the IP address of the GID; a mapped one comes back as plain IPv4.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// IsZero is true for the GID that names nothing.
func (g GID) IsZero() bool { return g == GID{} }

// String is the text that inet_ntop, and so ibv_devinfo and the pingpong tools, print:
// "fe80::5054:ff:fe12:3456", "::ffff:192.0.2.1".
func (g GID) String() string {
	// An IPv4-compatible address is where netip and inet_ntop differ.
	if head, tail := binary.BigEndian.Uint64(g[:8]), binary.BigEndian.Uint64(g[8:]); head == 0 && tail>>32 == 0 && tail>>16 != 0 {
		return "::" + netip.AddrFrom4([4]byte(g[12:])).String()
	}
	return netip.AddrFrom16(g).String()
}

// Hex is the form in which the pingpong tools send a GID to each other: 32 lower-case hex
// digits.
func (g GID) Hex() string { return hex.EncodeToString(g[:]) }

// ParseGIDHex reads what Hex writes; upper-case digits are taken too.
func ParseGIDHex(s string) (GID, error) {
	var g GID
	if len(s) != 2*len(g) {
		return GID{}, fmt.Errorf("qp: GID %q has %d characters, not 32 hex digits", s, len(s))
	}
	if _, err := hex.Decode(g[:], []byte(s)); err != nil {
		return GID{}, fmt.Errorf("qp: GID %q is not 32 hex digits: %w", s, err)
	}
	return g, nil
}
