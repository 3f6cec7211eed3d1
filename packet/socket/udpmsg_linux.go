package socket

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// mmsghdr is struct mmsghdr of recvmmsg(2) and sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// sockaddr has space for an address of either family.
type sockaddr = unix.RawSockaddrInet6

// control has space for the ancillary data of one message, in the alignment that the kernel
// requires.
type control [16]uint64

// sendmmsg and recvmmsg are nonblocking, so they are raw system calls. Batches take longer than 20
// µs; in an ordinary system call of that length the Go scheduler hands the P to another thread.
func sendmmsg(fd uintptr, msgs []mmsghdr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(unsafe.SliceData(msgs))),
		uintptr(len(msgs)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

func recvmmsg(fd uintptr, msgs []mmsghdr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(unsafe.SliceData(msgs))),
		uintptr(len(msgs)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// putSockaddr writes the address a and port [packet.Port] to sa and returns the length of sa in
// bytes. scope is the interface index of a link-local IPv6 address, else 0.
func putSockaddr(sa *sockaddr, a netip.Addr, scope uint32) uint32 {
	if a.Is4() {
		sa4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		*sa4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: a.As4()}
		putPort(&sa4.Port, packet.Port)
		return unix.SizeofSockaddrInet4
	}
	*sa = sockaddr{Family: unix.AF_INET6, Addr: a.As16(), Scope_id: scope}
	putPort(&sa.Port, packet.Port)
	return unix.SizeofSockaddrInet6
}

// getSockaddr returns the address and the port that the kernel wrote to sa.
func getSockaddr(sa *sockaddr) (netip.Addr, uint16) {
	if sa.Family == unix.AF_INET {
		sa4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrFrom4(sa4.Addr), getPort(&sa4.Port)
	}
	return netip.AddrFrom16(sa.Addr), getPort(&sa.Port)
}

// putPort and getPort write and read a port in network byte order.
func putPort(p *uint16, port uint16) {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(p))[:], port)
}

func getPort(p *uint16) uint16 { return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(p))[:]) }

func (c *control) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(c)), int(unsafe.Sizeof(*c)))
}

// put writes a control message with a value of size bytes, 2 or 4, at offset off, and returns the
// offset of the next control message.
func (c *control) put(off int, level, typ int32, value uint32, size int) int {
	b := c.bytes()
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[off]))
	h.Level, h.Type = level, typ
	h.SetLen(unix.CmsgLen(size))
	data := b[off+unix.CmsgLen(0):]
	if size == 2 {
		binary.NativeEndian.PutUint16(data, uint16(value))
	} else {
		binary.NativeEndian.PutUint32(data, value)
	}
	return off + unix.CmsgSpace(size)
}

// ancillary is the ancillary data of a received message.
type ancillary struct {
	segment      int // segment length of a train, 0: single datagram
	trafficClass uint8
	hopLimit     uint8
	dropped      uint32 // datagrams dropped so far because the receive buffer was full; 0: not reported
}

// parse returns the ancillary data in the first n bytes of c.
func (c *control) parse(n int) (a ancillary) {
	for b := c.bytes()[:n]; len(b) >= unix.SizeofCmsghdr; {
		h, data, rest, err := unix.ParseOneSocketControlMessage(b)
		if err != nil {
			return a
		}
		b = rest
		value := uint32(0)
		switch {
		case len(data) >= 4:
			value = binary.NativeEndian.Uint32(data)
		case len(data) >= 1:
			value = uint32(data[0])
		}
		switch [2]int32{h.Level, h.Type} {
		case [2]int32{unix.SOL_UDP, unix.UDP_GRO}:
			a.segment = int(value)
		case [2]int32{unix.SOL_IP, unix.IP_TOS}, [2]int32{unix.SOL_IPV6, unix.IPV6_TCLASS}:
			a.trafficClass = uint8(value)
		case [2]int32{unix.SOL_IP, unix.IP_TTL}, [2]int32{unix.SOL_IPV6, unix.IPV6_HOPLIMIT}:
			a.hopLimit = uint8(value)
		case [2]int32{unix.SOL_SOCKET, unix.SO_RXQ_OVFL}:
			a.dropped = value
		}
	}
	return a
}
