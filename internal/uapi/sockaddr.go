package uapi

import (
	"encoding/binary"
	"net/netip"
	"strconv"
)

// Address families of Linux.
const (
	AFInet  = 2
	AFInet6 = 10
	AFIB    = 27
)

// SockaddrIn6 holds a sockaddr_in6 or a sockaddr_in. The family is in native byte order, ports
// and addresses are big-endian.
type SockaddrIn6 [28]byte

// SockaddrStorage is a __kernel_sockaddr_storage.
type SockaddrStorage [128]byte

// NewSockaddr returns an address and port as a sockaddr_in or sockaddr_in6. For an invalid address,
// all bytes are zero. A zone that is not a number is dropped.
func NewSockaddr(a netip.AddrPort) SockaddrIn6 {
	var s SockaddrIn6
	putSockaddr(s[:], a)
	return s
}

// NewSockaddrStorage is like NewSockaddr, but returns a SockaddrStorage.
func NewSockaddrStorage(a netip.AddrPort) SockaddrStorage {
	var s SockaddrStorage
	putSockaddr(s[:], a)
	return s
}

// Family returns the address family, such as AFInet.
func (s *SockaddrIn6) Family() uint16 { return binary.LittleEndian.Uint16(s[:]) }

// Family returns the address family, such as AFInet.
func (s *SockaddrStorage) Family() uint16 { return binary.LittleEndian.Uint16(s[:]) }

// AddrPort returns the address and port. ok is false for a family other than AFInet and AFInet6.
func (s *SockaddrIn6) AddrPort() (a netip.AddrPort, ok bool) { return sockaddr(s[:]) }

// AddrPort returns the address and port. ok is false for a family other than AFInet and AFInet6.
func (s *SockaddrStorage) AddrPort() (a netip.AddrPort, ok bool) { return sockaddr(s[:]) }

// sockaddr decodes a sockaddr_in or sockaddr_in6 from at least 28 bytes.
func sockaddr(b []byte) (netip.AddrPort, bool) {
	port := binary.BigEndian.Uint16(b[2:])
	switch binary.LittleEndian.Uint16(b) {
	case AFInet:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
	case AFInet6:
		a := netip.AddrFrom16([16]byte(b[8:24]))
		if scope := binary.LittleEndian.Uint32(b[24:]); scope != 0 && !a.Is4In6() {
			a = a.WithZone(strconv.FormatUint(uint64(scope), 10))
		}
		return netip.AddrPortFrom(a, port), true
	}
	return netip.AddrPort{}, false
}

func putSockaddr(b []byte, a netip.AddrPort) {
	addr := a.Addr()
	if !addr.IsValid() {
		return
	}
	binary.BigEndian.PutUint16(b[2:], a.Port())
	if addr.Is4() {
		binary.LittleEndian.PutUint16(b, AFInet)
		ip := addr.As4()
		copy(b[4:], ip[:])
		return
	}
	binary.LittleEndian.PutUint16(b, AFInet6)
	ip := addr.As16()
	copy(b[8:], ip[:])
	if scope, err := strconv.ParseUint(addr.Zone(), 10, 32); err == nil {
		binary.LittleEndian.PutUint32(b[24:], uint32(scope))
	}
}
