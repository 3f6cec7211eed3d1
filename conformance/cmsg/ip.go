package cmsg

import (
	"encoding/binary"
	"net/netip"
)

// PortSpace is the part of a service ID of rdma_cm above the port (IBA annex A11).
type PortSpace uint64

// Port spaces. A service ID is the port space and the port.
const (
	TCP PortSpace = 0x01060000 // connections
	UDP PortSpace = 0x01110000 // datagrams
)

// Service returns the service ID of a port.
func (s PortSpace) Service(port uint16) uint64 { return uint64(s) | uint64(port) }

// IPHeaderLen is the length in bytes of the header that rdma_cm has before the private data of a
// REQ and a SIDR_REQ.
const IPHeaderLen = 36

// AppendIPHeader appends the header of rdma_cm (IBA annex A11). Both addresses have one IP version.
func AppendIPHeader(b []byte, src, dst netip.Addr, port uint16) []byte {
	version := byte(0x60)
	if src.Is4() {
		version = 0x40
	}
	b = append(b, 0, version)
	b = binary.BigEndian.AppendUint16(b, port)
	for _, a := range [...]netip.Addr{src, dst} {
		x := a.As16()
		if a.Is4() {
			clear(x[:12])
		}
		b = append(b, x[:]...)
	}
	return b
}
