package blast

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linkSocket is how the sender of a loop with [Config.AsLink] uses its socket. gorxe's udp link has
// one socket for all peers, so the socket is not connected, and the Go runtime registers the socket
// with epoll: the kernel then also wakes an epoll instance for each train sent and each
// acknowledgement.
type linkSocket struct {
	epoll int
	peer  unix.RawSockaddrInet6
	len   uint32 // of peer
	train *whole // control message with the segment length
}

// asLink prepares the UDP socket fd, which is not connected, for sending to peer.
func (c Config) asLink(fd int, peer unix.Sockaddr) (*linkSocket, error) {
	level, option := unix.SOL_IP, unix.IP_MTU_DISCOVER
	u := &linkSocket{train: newWhole()}
	u.train.size = uint16(c.Segment)
	switch p := peer.(type) {
	case *unix.SockaddrInet4:
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(&u.peer))
		*a = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: networkOrder(p.Port), Addr: p.Addr}
		u.len = unix.SizeofSockaddrInet4
	case *unix.SockaddrInet6:
		level, option = unix.SOL_IPV6, unix.IPV6_MTU_DISCOVER
		u.peer = unix.RawSockaddrInet6{
			Family: unix.AF_INET6, Port: networkOrder(p.Port), Addr: p.Addr, Scope_id: p.ZoneId,
		}
		u.len = unix.SizeofSockaddrInet6
	}
	if err := unix.SetsockoptInt(fd, level, option, unix.IP_PMTUDISC_PROBE); err != nil {
		return nil, fmt.Errorf("IP_MTU_DISCOVER of a UDP socket: %w", err)
	}
	var err error
	if u.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("an epoll instance: %w", err)
	}
	// The events that the Go runtime registers.
	events := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET}
	if err := unix.EpollCtl(u.epoll, unix.EPOLL_CTL_ADD, fd, &events); err != nil {
		u.close()
		return nil, fmt.Errorf("registering a UDP socket with epoll: %w", err)
	}
	return u, nil
}

func (u *linkSocket) close() { unix.Close(u.epoll) }

// address addresses the trains of msgs to the peer.
func (u *linkSocket) address(msgs []message) {
	for i := range msgs {
		h := &msgs[i].hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&u.peer)), u.len
		h.Control = (*byte)(unsafe.Pointer(u.train))
		h.SetControllen(int(unsafe.Sizeof(*u.train)))
	}
}

func networkOrder(port int) uint16 { return uint16(port)<<8 | uint16(port)>>8 }
