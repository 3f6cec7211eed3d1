package route

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// discard is the destination port of the datagrams that make the kernel resolve a neighbour (RFC
// 863).
const discard = 9

// provoke makes the kernel resolve r's next hop. It sends a datagram to the next hop itself,
// because a datagram to the destination could take another gateway if several share the traffic. It
// sends another datagram to the destination, because the host may have no route to the gateway.
func (h *host) provoke(r *Route) error {
	err := sendEmpty(r.NextHop(), r.Src, r.Index)
	if r.Gateway.IsValid() {
		if derr := sendEmpty(r.Dst, r.Src, r.Index); derr == nil {
			return nil
		}
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a firewall blocks the UDP datagram to port %d that makes the kernel ask: %w", discard, err)
	}
	return err
}

// sendEmpty sends an empty datagram with hop limit 1 through the interface with the given index.
// src is ignored if its address family differs from that of dst.
func sendEmpty(dst, src netip.Addr, index int) error {
	family, level, hops := unix.AF_INET, unix.IPPROTO_IP, unix.IP_TTL
	var to unix.Sockaddr
	var control []byte
	if dst.Is4() {
		to = &unix.SockaddrInet4{Port: discard, Addr: dst.As4()}
		info := unix.Inet4Pktinfo{Ifindex: int32(index)}
		if src.Is4() {
			info.Spec_dst = src.As4()
		}
		control = unix.PktInfo4(&info)
	} else {
		family, level, hops = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
		to = &unix.SockaddrInet6{Port: discard, Addr: dst.As16()}
		info := unix.Inet6Pktinfo{Ifindex: uint32(index)}
		if src.Is6() {
			info.Addr = src.As16()
		}
		control = unix.PktInfo6(&info)
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, level, hops, 1); err != nil {
		return err
	}
	return unix.Sendmsg(fd, nil, control, to, unix.MSG_DONTWAIT)
}
