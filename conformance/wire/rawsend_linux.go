package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

func (l *raw) Send(dst netip.Addr, p *Packet) ([]byte, error) {
	dst = dst.Unmap()
	src, port := p.source(l.local)
	if src.Is4() != dst.Is4() {
		return nil, fmt.Errorf("no packet from %v to %v: IPv4 and IPv6", src, dst)
	}
	var ip, payload []byte
	if p.V1 {
		ip, payload = p.frameV1(src, dst)
	} else {
		if l.id++; l.id == 0 {
			l.id++ // the kernel replaces 0 on a raw IP socket
		}
		payload = p.payload(src, dst, port, l.id)
		ip = p.ipPacket(src, dst, port, l.id, payload)
	}
	if p.Header != nil {
		ip = p.Header(ip)
	}
	if !p.KeepSum && !p.V1 {
		fixIPv4(ip)
	}
	p.IP = ip
	hop, err := l.hops.to(dst)
	if err != nil {
		return nil, err
	}
	if hop.mac == nil && !p.V1 {
		return payload, l.sendIP(dst, p)
	}
	return payload, l.sendFrame(hop, p)
}

// sendFrame sends the packet of p in an Ethernet frame.
func (l *raw) sendFrame(hop hop, p *Packet) error {
	be := binary.BigEndian
	b := make([]byte, vnetLen+etherLen, vnetLen+etherLen+len(p.IP))
	kind := uint16(unix.ETH_P_IPV6)
	switch {
	case p.V1:
		kind = etherTypeV1
	case l.local.Is4():
		kind = unix.ETH_P_IP
	}
	copy(b[vnetLen:], hop.mac)
	copy(b[vnetLen+6:], hop.own)
	be.PutUint16(b[vnetLen+12:], kind)
	b = append(b, p.IP...)
	to := unix.SockaddrLinklayer{Ifindex: hop.index, Protocol: kind>>8 | kind<<8, Halen: 6}
	copy(to.Addr[:], hop.mac)
	return sendTo(l.conn, b, &to)
}

// sendIP sends the packet of p with the raw IP socket.
func (l *raw) sendIP(dst netip.Addr, p *Packet) error {
	if !dst.Is4() {
		return sendTo(l.ipConn, p.IP, &unix.SockaddrInet6{Addr: dst.As16()})
	}
	if ipTotal(p.IP) != len(p.IP) || p.KeepSum {
		return fmt.Errorf("the kernel corrects this IPv4 header on the way to %v: test a device on another host: %w",
			dst, ErrUnsendable)
	}
	return sendTo(l.ipConn, p.IP, &unix.SockaddrInet4{Addr: dst.As4()})
}

// sendTo sends a packet with a socket, and waits until the socket takes it.
func sendTo(c interface {
	Write(func(fd uintptr) bool) error
}, b []byte, to unix.Sockaddr) (err error) {
	ctl := c.Write(func(fd uintptr) bool {
		err = unix.Sendto(int(fd), b, 0, to)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if ctl != nil {
		return ctl
	}
	return err
}
