package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// udp is a link over UDP sockets: one at port 4791, and one for each other source port.
type udp struct {
	local netip.Addr
	mtu   int
	main  *net.UDPConn
	other map[netip.AddrPort]*net.UDPConn // for other sources, which are closed with the link
	buf   []byte
	oob   []byte
}

// ListenUDP opens a link at a local unicast address. It needs no privilege. The port must be free:
// a program that uses it at another address of the same host does not matter.
//
// As the socket is not connected and never fragments (IP_PMTUDISC_PROBE), Linux sends IPv4 with
// identification 0 and DF.
func ListenUDP(local netip.Addr) (Link, error) {
	local = local.Unmap()
	if err := checkLocal(local); err != nil {
		return nil, err
	}
	mtu, err := mtuOf(local)
	if err != nil {
		return nil, err
	}
	u := &udp{local: local, mtu: mtu, other: map[netip.AddrPort]*net.UDPConn{}, buf: make([]byte, 1<<16),
		oob: make([]byte, 512)}
	if u.main, err = listenAt(netip.AddrPortFrom(local, Port)); err != nil {
		return nil, fmt.Errorf("port %d of %v: %w", Port, local, err)
	}
	return u, nil
}

// checkLocal refuses addresses at which a link cannot be.
func checkLocal(a netip.Addr) error {
	if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() {
		return fmt.Errorf("%v is no address of one interface: name a local unicast address", a)
	}
	return nil
}

// mtuOf returns the MTU of the interface that has the address.
func mtuOf(local netip.Addr) (int, error) {
	all, err := net.Interfaces()
	if err != nil {
		return 0, err
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err == nil && (p.Addr() == local.WithZone("") || i.Flags&net.FlagLoopback != 0 && p.Contains(local)) {
				return i.MTU, nil
			}
		}
	}
	return 0, fmt.Errorf("no interface of this host has the address %v", local)
}

// listenAt opens a socket.
func listenAt(at netip.AddrPort) (*net.UDPConn, error) {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	rc, err := c.SyscallConn()
	if err == nil {
		err = setOptions(rc, at.Addr().Is4())
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.SetReadBuffer(8 << 20) // as much as the host permits
	return c, nil
}

type option struct{ level, name, value int }

func setOptions(rc syscall.RawConn, v4 bool) (err error) {
	options := []option{
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1},
		// RoCEv2 devices send UDP checksum 0 (IBA A17.3.2.4), also over IPv6.
		{unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_RX, 1},
	}
	if v4 {
		options = []option{
			{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
			{unix.IPPROTO_IP, unix.IP_RECVTOS, 1},
			{unix.IPPROTO_IP, unix.IP_RECVTTL, 1},
		}
	}
	ctl := rc.Control(func(fd uintptr) {
		for _, o := range options {
			if err == nil {
				err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), o.level, o.name, o.value))
			}
		}
	})
	return errors.Join(ctl, err)
}

func (u *udp) Local() netip.Addr { return u.local }
func (u *udp) Raw() bool         { return false }
func (u *udp) MTU() int          { return u.mtu }

func (u *udp) Send(dst netip.Addr, p *Packet) ([]byte, error) {
	if p.NeedsRaw() {
		return nil, ErrRaw
	}
	dst = dst.Unmap()
	src, port := p.source(u.local)
	if src.Is4() != dst.Is4() {
		return nil, fmt.Errorf("no packet from %v to %v: IPv4 and IPv6", src, dst)
	}
	c, err := u.socket(netip.AddrPortFrom(src, port))
	if err != nil {
		return nil, err
	}
	b := p.payload(src, dst, port, 0)
	_, _, err = c.WriteMsgUDPAddrPort(b, u.control(p), netip.AddrPortFrom(dst, Port))
	return b, err
}

// maxOther is the maximum number of sockets for other sources.
const maxOther = 256

// socket returns the socket that sends from a source, which it opens at the first use.
func (u *udp) socket(from netip.AddrPort) (*net.UDPConn, error) {
	if from == netip.AddrPortFrom(u.local, Port) {
		return u.main, nil
	}
	c := u.other[from]
	if c != nil {
		return c, nil
	}
	if len(u.other) >= maxOther {
		return nil, fmt.Errorf("source %v: more than %d sources", from, maxOther)
	}
	c, err := listenAt(from)
	if err != nil {
		return nil, fmt.Errorf("source %v: %w", from, err)
	}
	u.other[from] = c
	return c, nil
}

// control returns the control messages that set the fields of the IP header.
func (u *udp) control(p *Packet) []byte {
	level, tos, hops := unix.IPPROTO_IPV6, unix.IPV6_TCLASS, unix.IPV6_HOPLIMIT
	if u.local.Is4() {
		level, tos, hops = unix.IPPROTO_IP, unix.IP_TOS, unix.IP_TTL
	}
	var b []byte
	for _, x := range [...]struct {
		kind  int
		value uint8
	}{{tos, p.TOS}, {hops, p.ttl()}} {
		m := make([]byte, unix.CmsgSpace(4))
		h := (*unix.Cmsghdr)(unsafe.Pointer(&m[0]))
		h.Level, h.Type = int32(level), int32(x.kind)
		h.SetLen(unix.CmsgLen(4))
		binary.NativeEndian.PutUint32(m[unix.CmsgLen(0):], uint32(x.value))
		b = append(b, m...)
	}
	return b
}

func (u *udp) Recv(deadline time.Time) (*Received, error) {
	for {
		if err := u.main.SetReadDeadline(deadline); err != nil {
			return nil, err
		}
		n, oobn, _, src, err := u.main.ReadMsgUDPAddrPort(u.buf, u.oob)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, ErrTimeout
		case errors.Is(err, unix.ECONNREFUSED):
			continue // an ICMP error for an earlier packet
		case err != nil:
			return nil, err
		}
		r := &Received{At: time.Now(), Src: netip.AddrPortFrom(src.Addr().Unmap(), src.Port()),
			Dst: netip.AddrPortFrom(u.local, Port), Bytes: append([]byte(nil), u.buf[:n]...)}
		r.readControl(u.oob[:oobn])
		r.decode()
		return r, nil
	}
}

// readControl reads the time and the fields of the IP header from control messages.
func (r *Received) readControl(oob []byte) {
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range all {
		switch h := m.Header; {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16:
			r.At = time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS,
			h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS:
			r.TOS = controlByte(m.Data)
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TTL,
			h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_HOPLIMIT:
			r.TTL = controlByte(m.Data)
		}
	}
}

// controlByte returns a value that Linux passes as a byte or as an int.
func controlByte(b []byte) uint8 {
	switch {
	case len(b) >= 4:
		return uint8(binary.NativeEndian.Uint32(b))
	case len(b) > 0:
		return b[0]
	}
	return 0
}

func (u *udp) Close() error {
	for _, c := range u.other {
		c.Close()
	}
	return u.main.Close()
}
