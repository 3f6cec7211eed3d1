package socket

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// PortProbe detects that nothing listens at port [packet.Port] of a host. It uses a separate
// socket with its own source port: a link's socket with ICMP errors enabled (IP_RECVERR) would
// fail a call for each ICMP error, and any host can forge these.
type PortProbe struct {
	remote netip.AddrPort
	conn   *net.UDPConn
	raw    syscall.RawConn
	sent   atomic.Pointer[[]byte]
}

// OpenPortProbe opens a probe from the local address to the remote address, port [packet.Port].
func OpenPortProbe(local, remote netip.Addr) (*PortProbe, error) {
	p, err := openPortProbe(local, remote)
	if err != nil {
		return nil, fmt.Errorf("packet: probe of port %d at %v: %w", packet.Port, remote, err)
	}
	return p, nil
}

func openPortProbe(local, remote netip.Addr) (*PortProbe, error) {
	local, remote = local.Unmap(), remote.Unmap()
	if remote.IsLinkLocalUnicast() && remote.Zone() == "" {
		remote = remote.WithZone(local.Zone())
	}
	network := "udp4"
	options := []option{
		{"IP_RECVERR", unix.SOL_IP, unix.IP_RECVERR, 1},
		{"IP_MTU_DISCOVER", unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO},
		{"IP_TTL", unix.SOL_IP, unix.IP_TTL, packet.DefaultHopLimit},
	}
	if local.Is6() {
		network = "udp6"
		options = []option{
			{"IPV6_RECVERR", unix.SOL_IPV6, unix.IPV6_RECVERR, 1},
			{"IPV6_UNICAST_HOPS", unix.SOL_IPV6, unix.IPV6_UNICAST_HOPS, packet.DefaultHopLimit},
		}
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return withFD(c, func(fd int) error { return setOptions(fd, options) })
	}}
	conn, err := lc.ListenPacket(context.Background(), network, net.JoinHostPort(local.String(), strconv.Itoa(0)))
	if err != nil {
		return nil, err
	}
	p := &PortProbe{remote: netip.AddrPortFrom(remote, packet.Port), conn: conn.(*net.UDPConn)}
	if p.raw, err = p.conn.SyscallConn(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return p, nil
}

// SrcPort returns the source port of the probe's datagrams, which have IPv4 identification 0 and DF
// set.
func (p *PortProbe) SrcPort() uint16 {
	return p.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
}

// Send sends b, a UDP payload, to the host. The probe retains b for Refused, so b must not change.
func (p *PortProbe) Send(b []byte) error {
	p.sent.Store(&b)
	_, err := p.conn.WriteToUDPAddrPort(b, p.remote)
	if errors.Is(err, unix.ECONNREFUSED) {
		// This is the error of an earlier datagram, which Refused reads; b was not sent.
		_, err = p.conn.WriteToUDPAddrPort(b, p.remote)
	}
	return err
}

// Refused waits until an ICMP error reports that the host's port is unreachable, and returns true.
// It ignores ICMP errors that quote fewer than the first n bytes of the last sent payload, or
// different bytes: these may be forged. After Close it returns an error.
func (p *PortProbe) Refused(n int) (bool, error) {
	var refused bool
	// Buffers for the longest quote in an ICMP message of Linux, and for the extended error with
	// address.
	quoted, control := make([]byte, 1024), make([]byte, 256)
	err := p.raw.Read(func(fd uintptr) bool {
		for {
			m, oob, _, to, err := unix.Recvmsg(int(fd), quoted, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
			switch {
			case err == unix.EINTR:
				continue
			case err != nil:
				return false // the error queue is empty, or the socket has only a pending error
			}
			if refused = p.refuses(to, quoted[:m], control[:oob], n); refused {
				return true
			}
		}
	})
	return refused, err
}

// refuses reports whether an entry of the error queue is an ICMP port unreachable for the last sent
// datagram. to is the destination of the quoted datagram, control the ancillary data; n is as for
// Refused.
func (p *PortProbe) refuses(to unix.Sockaddr, quoted, control []byte, n int) bool {
	sent := p.sent.Load()
	if sent == nil || len(quoted) < n || len(quoted) > len(*sent) || !bytes.Equal(quoted, (*sent)[:len(quoted)]) {
		return false
	}
	switch a := to.(type) {
	case *unix.SockaddrInet4:
		if netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)) != p.remote {
			return false
		}
	case *unix.SockaddrInet6:
		if netip.AddrPortFrom(netip.AddrFrom16(a.Addr),
			uint16(a.Port)) != netip.AddrPortFrom(p.remote.Addr().WithZone(""), packet.Port) {
			return false
		}
	default:
		return false
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return false
	}
	for i := range messages {
		h, b := &messages[i].Header, messages[i].Data
		if len(b) < 8 {
			continue
		}
		// struct sock_extended_err: errno, origin, type, code
		errno, origin, typ, code := binary.NativeEndian.Uint32(b), b[4], b[5], b[6]
		switch {
		case unix.Errno(errno) != unix.ECONNREFUSED:
		case h.Level == unix.SOL_IP && h.Type == unix.IP_RECVERR:
			return origin == unix.SO_EE_ORIGIN_ICMP && typ == 3 && code == 3
		case h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_RECVERR:
			return origin == unix.SO_EE_ORIGIN_ICMP6 && typ == 1 && code == 4
		}
	}
	return false
}

// Close closes the probe and wakes a waiting Refused.
func (p *PortProbe) Close() error { return p.conn.Close() }
