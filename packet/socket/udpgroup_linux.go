package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// Join makes the network interface of the link's address a member of group. It needs no privilege.
// A socket that is bound to a host address does not receive multicast, so the Receiver is a
// separate socket, bound to the group. All group sockets of a host share the address
// (SO_REUSEADDR), and each receives a copy of every datagram. The calling thread must be in the
// network namespace in which the link was opened. On the loopback interface Linux has no route to
// IPv6 groups.
func (l *udp) Join(group netip.Addr) (packet.Receiver, error) {
	group, err := packet.CheckGroup(l.addr, group)
	if err != nil {
		return nil, err
	}
	ifc, err := net.InterfaceByName(l.ifname)
	if err != nil {
		return nil, fmt.Errorf("packet: udp %v: cannot join %v: no network interface has the address: %w",
			l.addr, group, err)
	}
	s := &udpSocket{addr: group, bare: group}
	conn, err := s.listenGroup(ifc.Index, l.opts)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, listenError(group, err)
	case err != nil:
		return nil, fmt.Errorf("packet: udp %v: cannot join %v on %s: %w", l.addr, group, ifc.Name, err)
	}
	if err := s.use(conn); err != nil {
		return nil, err
	}
	return s, nil
}

// listenGroup opens a socket bound to the group s.addr. Package net would bind it to all host
// addresses.
func (s *udpSocket) listenGroup(ifindex int, opts UDPOptions) (net.PacketConn, error) {
	family := unix.AF_INET
	if s.addr.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), "udp "+s.addr.String())
	defer f.Close()
	if err := s.receive(fd, opts); err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, fmt.Errorf("socket option SO_REUSEADDR: %w", err)
	}
	if err := s.bindGroup(fd, ifindex); err != nil {
		return nil, err
	}
	if err := s.join(fd, ifindex); err != nil {
		return nil, err
	}
	return net.FilePacketConn(f)
}

func (s *udpSocket) bindGroup(fd, ifindex int) error {
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: packet.Port, Addr: as4(s.addr)}
	if s.addr.Is6() {
		sa = &unix.SockaddrInet6{Port: packet.Port, Addr: s.addr.As16(), ZoneId: uint32(ifindex)}
	}
	if err := unix.Bind(fd, sa); err != nil {
		return fmt.Errorf("bind to %v: %w", netip.AddrPortFrom(s.addr, packet.Port), err)
	}
	return nil
}

// join makes the interface ifindex a member of the group s.addr. It also sets IP_MULTICAST_ALL=0:
// otherwise the socket would also receive datagrams to the group that arrive through other
// interfaces because of other sockets' memberships.
func (s *udpSocket) join(fd, ifindex int) error {
	var err error
	if s.addr.Is4() {
		err = unix.SetsockoptIPMreqn(fd, unix.SOL_IP, unix.IP_ADD_MEMBERSHIP,
			&unix.IPMreqn{Multiaddr: s.addr.As4(), Ifindex: int32(ifindex)})
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_MULTICAST_ALL, 0))
	} else {
		err = unix.SetsockoptIPv6Mreq(fd, unix.SOL_IPV6, unix.IPV6_JOIN_GROUP,
			&unix.IPv6Mreq{Multiaddr: s.addr.As16(), Interface: uint32(ifindex)})
		// IPV6_MULTICAST_ALL exists since Linux 4.20.
		_ = unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_MULTICAST_ALL, 0)
	}
	if err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	return nil
}

// multicastFrom makes outgoing multicast leave through the interface of the link's address.
// Members on this host get a copy (IP_MULTICAST_LOOP is on by default).
func (l *udp) multicastFrom(fd int) error {
	ifc, err := net.InterfaceByName(l.ifname)
	if err != nil {
		// The interface is unknown: the host's routes decide.
		return nil
	}
	if l.addr.Is4() {
		err = unix.SetsockoptIPMreqn(fd, unix.SOL_IP, unix.IP_MULTICAST_IF,
			&unix.IPMreqn{Address: l.addr.As4(), Ifindex: int32(ifc.Index)})
	} else {
		err = unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_MULTICAST_IF, ifc.Index)
	}
	if err != nil {
		return fmt.Errorf("multicast by %s: %w", ifc.Name, err)
	}
	return nil
}

func as4(a netip.Addr) (b [4]byte) {
	if a.Is4() {
		b = a.As4()
	}
	return b
}
