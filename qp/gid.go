package qp

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// GID is the address of a RoCEv2 port: an IPv6 address, or an IPv4-mapped address
// ::ffff:a.b.c.d (IBA annex A17).
type GID [16]byte

// GIDFromAddr returns the GID of an IP address without its zone. It returns the zero GID for
// the invalid Addr.
func GIDFromAddr(a netip.Addr) GID {
	if !a.IsValid() {
		return GID{}
	}
	return a.As16()
}

// Addr returns the IP address of the GID; an IPv4-mapped GID gives an IPv4 address.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// IsZero reports whether g is the zero GID.
func (g GID) IsZero() bool { return g == GID{} }

// String returns the GID in the format of inet_ntop, which ibv_devinfo and the pingpong tools
// print: "fe80::5054:ff:fe12:3456", "::ffff:192.0.2.1".
func (g GID) String() string {
	// netip and inet_ntop differ in IPv4-compatible addresses.
	if head, tail := binary.BigEndian.Uint64(g[:8]), binary.BigEndian.Uint64(g[8:]); head == 0 &&
		tail>>32 == 0 && tail>>16 != 0 {
		return "::" + netip.AddrFrom4([4]byte(g[12:])).String()
	}
	return netip.AddrFrom16(g).String()
}

// Hex returns the GID as 32 lower-case hex digits, the form that the pingpong tools exchange.
func (g GID) Hex() string { return hex.EncodeToString(g[:]) }

// ParseGIDHex parses the result of [GID.Hex]. It accepts upper-case digits too.
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
