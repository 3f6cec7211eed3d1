package mad

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/qp"
)

// IPHeaderLen is the length in bytes of the header before a program's own private data in a REQ or
// a SIDR_REQ of rdma_cm. It leaves 56 bytes of a REQ's private data, and 180 of a SIDR_REQ's.
const IPHeaderLen = 36

// IPHeader is the header that identifies the sender of a request (IBA annex A11). The destination
// port is in the [ServiceID].
//
//	byte 0    version, 0
//	byte 1    IP version in the high half
//	byte 2    source port
//	byte 4    source address; an IPv4 address in the last 4 of 16 bytes
//	byte 20   destination address
type IPHeader struct {
	SourcePort uint16
	// Source and Destination are both IPv4 or both IPv6. Zones are not sent.
	Source, Destination netip.Addr
}

// Decode decodes the header at the start of a message's private data and returns the rest, the
// program's private data, without copying. The error is a [*DecodeError]; Decode does not
// allocate. Addresses are not validated; see [IPHeader.Check].
func (h *IPHeader) Decode(private []byte) (consumer []byte, err error) {
	if len(private) < IPHeaderLen {
		return nil, refuse(ReasonIPLength)
	}
	if private[0] != 0 {
		return nil, refuse(ReasonIPCMVersion)
	}
	src, dst := (*[16]byte)(private[4:]), (*[16]byte)(private[20:])
	switch private[1] >> 4 {
	case 4:
		h.Source, h.Destination = netip.AddrFrom4([4]byte(src[12:])), netip.AddrFrom4([4]byte(dst[12:]))
	case 6:
		h.Source, h.Destination = netip.AddrFrom16(*src), netip.AddrFrom16(*dst)
	default:
		return nil, refuse(ReasonIPVersion)
	}
	h.SourcePort = binary.BigEndian.Uint16(private[2:])
	return private[IPHeaderLen:], nil
}

// Append appends the header to dst. It returns an error if the addresses are not both IPv4 or
// both IPv6; an IPv4-mapped IPv6 address is IPv6.
func (h *IPHeader) Append(dst []byte) ([]byte, error) {
	version := byte(0x60)
	switch {
	case !h.Source.IsValid() || !h.Destination.IsValid() || h.Source.Is4() != h.Destination.Is4():
		return dst, fmt.Errorf("cm: IP header from %v to %v: it needs two addresses of one IP version", h.Source,
			h.Destination)
	case h.Source.Is4():
		version = 0x40
	}
	dst = append(dst, 0, version, byte(h.SourcePort>>8), byte(h.SourcePort))
	for _, a := range [...]netip.Addr{h.Source, h.Destination} {
		b := a.As16()
		if a.Is4() {
			clear(b[:12])
		}
		dst = append(dst, b[:]...)
	}
	return dst, nil
}

// Check rejects addresses that no peer on another host can have: a source that is multicast,
// broadcast, loopback or unspecified, or a destination that is broadcast, loopback or
// unspecified. Linux rejects a REQ with such an IPv4 address as consumer defined; for IPv6 it
// consults the routing table, which has no route for them. All of 0.0.0.0/8 is unspecified. The
// error is a [*DecodeError].
func (h *IPHeader) Check() error {
	if src := h.Source.Unmap(); !reachable(src) || src.IsMulticast() {
		return refuse(ReasonIPSource)
	}
	if !reachable(h.Destination.Unmap()) {
		return refuse(ReasonIPDestination)
	}
	return nil
}

// CheckSender rejects a source address other than that of peer, the GID that the message came from.
// The IPv4-mapped form of an IPv4 address is the same address; zones are ignored. Linux does not
// compare the two but only consults the routing table, so its peers can claim the address of any
// host behind the same route. The error is a [*DecodeError].
func (h *IPHeader) CheckSender(peer qp.GID) error {
	if h.Source.As16() != peer {
		return refuse(ReasonIPSender)
	}
	return nil
}

// reachable reports whether a is neither broadcast, loopback nor unspecified.
func reachable(a netip.Addr) bool {
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsLoopback():
		return false
	case a.Is4():
		b := a.As4()
		return b[0] != 0 && b != [4]byte{255, 255, 255, 255}
	}
	return true
}
