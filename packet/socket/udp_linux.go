package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// Default sizes of the socket buffers, in bytes.
const (
	defaultReceiveBuffer = 32 << 20
	// A queue pair's next frame waits for all data in the send buffer. On a link of 400 Mbit/s this
	// buffer holds the data of 40 ms, because the kernel charges each datagram with twice its
	// length or more. An eighth of it is enough for the first trains to a host whose link-layer
	// address is not known yet.
	defaultSendBuffer = 1 << 20
)

// ListenUDP opens a link over an ordinary UDP socket on addr port 4791; it needs no privilege.
//
// The IPv4 identification of outgoing datagrams is known, because the socket is not connected and
// disables fragmentation (IP_PMTUDISC_PROBE): Linux then sends DF and identification 0, and numbers
// the segments of a UDP_SEGMENT train from 0. The socket does not return the IP headers of incoming
// datagrams (HeaderSeen is false). Outgoing datagrams have UDP checksums (UDP_SEGMENT requires
// them); incoming ones may lack them, over IPv6 too.
//
// The maximum frame length is the MTU of the interface. The link ignores ICMP messages that report
// a smaller path MTU, because any host can forge them. (With IP_PMTUDISC_DO, the kernel would
// reject longer frames for ten minutes.)
//
// The host selects the flow label; Path.FlowLabel is ignored. A link-local addr needs its zone.
// Few frames are sent to neighbours with an unknown link-layer address; see
// [packet.Stats.TxNoNeighbour].
func ListenUDP(addr netip.Addr, opts UDPOptions) (packet.Link, error) {
	l, err := listenUDP(addr, opts, false)
	if err != nil {
		return nil, err
	}
	return &udpQueues{udp: l}, nil
}

// listenUDP opens a UDP link. If sendOnly is true, the kernel drops datagrams to its port.
func listenUDP(addr netip.Addr, opts UDPOptions, sendOnly bool) (*udp, error) {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() {
		return nil, fmt.Errorf("packet: udp: %v is no address of one interface: name a local unicast address", addr)
	}
	l := &udp{opts: opts, sendOnly: sendOnly, udpSocket: udpSocket{addr: addr, bare: addr.WithZone("")}}
	l.SetMTU(1500)
	l.network, l.host = "udp4", addr.String()
	if addr.Is6() {
		l.network = "udp6"
		if addr.IsLinkLocalUnicast() {
			scope, err := zoneIndex(addr.Zone())
			if err != nil {
				return nil, fmt.Errorf("packet: udp %v: %w", addr, err)
			}
			l.scope = scope
			l.host = l.bare.String() + "%" + strconv.Itoa(int(scope))
		}
	}
	if _, mtu, ifname, err := packet.HostAddrs(addr.String()); err == nil {
		l.SetMTU(mtu)
		l.ifname = ifname
	}
	conn, err := l.bind(func(fd int) error { return l.configure(fd, opts) })
	if err != nil {
		return nil, listenError(addr, err)
	}
	if err := l.use(conn); err != nil {
		return nil, err
	}
	l.tx.init(sendmmsg, l.conn.SetWriteDeadline)
	size, err := l.sendBuffer()
	if err == nil && (!addr.IsLoopback() || sendOnly) {
		l.tx.waiting.init(size)
		l.hops, l.hopsErr = watchHops(addr)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("packet: udp %v: %w", addr, err), l.Close())
	}
	return l, nil
}

// watchHops calls [route.WatchHops] and returns the result as nextHops.
func watchHops(addr netip.Addr) (nextHops, error) {
	h, err := route.WatchHops(addr)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// sendBuffer returns the size of the send buffer in bytes, as the kernel counts it. With
// CAP_NET_ADMIN the default is 2 MiB, the data of 17 ms at 1 Gbit/s or 168 ms at 100 Mbit/s;
// without it, 416 KiB (net.core.wmem_max), the data of 3.4 ms or 34 ms.
func (l *udp) sendBuffer() (size int, err error) {
	err = withFD(l.raw, func(fd int) (err error) {
		if size, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil {
			err = fmt.Errorf("socket option SO_SNDBUF: %w", err)
		}
		return err
	})
	return size, err
}

// bind opens a socket on the address and port of l. It calls configure before binding.
func (l *udp) bind(configure func(fd int) error) (net.PacketConn, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return withFD(c, configure) }}
	return lc.ListenPacket(context.Background(), l.network, net.JoinHostPort(l.host, strconv.Itoa(packet.Port)))
}

// withFD calls f with the file descriptor of c.
func withFD(c syscall.RawConn, f func(fd int) error) (err error) {
	if cerr := c.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// udpSocket is an unconnected UDP socket with its receive state.
type udpSocket struct {
	addr, bare netip.Addr // bound address; bare: without zone
	conn       net.PacketConn
	raw        syscall.RawConn
	gro        bool
	stats      packet.Counters
	pending    udpPending
}

// use makes conn, a *net.UDPConn, the socket of s. On error it closes conn.
func (s *udpSocket) use(conn net.PacketConn) (err error) {
	s.conn = conn
	if s.raw, err = conn.(*net.UDPConn).SyscallConn(); err != nil {
		conn.Close()
		return fmt.Errorf("packet: udp %v: %w", s.addr, err)
	}
	return nil
}

func (s *udpSocket) Stats() packet.Stats { return s.stats.Load() }

func (s *udpSocket) Close() error {
	if err := s.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("packet: udp %v: %w", s.addr, err)
	}
	return nil
}

// udp is a UDP link: one socket. Each Join opens another socket.
type udp struct {
	udpSocket
	network, host string // arguments of package net: "udp4" or "udp6", and the address
	scope         uint32 // interface index of a link-local addr, else 0
	ifname        string // network interface of addr, "" if unknown
	mtu           atomic.Int32
	opts          UDPOptions
	sendOnly      bool
	gso           atomic.Int32 // a gsoState
	tx            udpTx
	hops          nextHops // nil if there are no neighbours, or if they cannot be watched; hopsErr is the reason
	hopsErr       error
	zones         sync.Map // zone name to interface index, for link-local destinations
}

// nextHops is the interface of [route.Hops].
type nextHops interface {
	To(dst netip.Addr) *route.Hop
	Missing(dst netip.Addr) (missing, followed bool)
	Await(dst netip.Addr, limit time.Duration)
	Held(dst netip.Addr) bool
	Due(dst netip.Addr, now time.Time) bool
	ResolveSoon(dst netip.Addr)
	Hold(dst netip.Addr)
	Release(dst netip.Addr)
	Close()
}

// ResolveSoon implements [packet.Holder].
func (l *udp) ResolveSoon(dst netip.Addr) {
	if l.hops != nil && !dst.IsMulticast() {
		l.hops.ResolveSoon(dst)
	}
}

// Hold implements [packet.Holder].
func (l *udp) Hold(dst netip.Addr) {
	if l.hops != nil && !dst.IsMulticast() {
		l.hops.Hold(dst)
	}
}

// Release implements [packet.Holder].
func (l *udp) Release(dst netip.Addr) {
	if l.hops != nil && !dst.IsMulticast() {
		l.hops.Release(dst)
	}
}

func (l *udp) Close() error {
	err := l.udpSocket.Close()
	if l.hops != nil {
		l.hops.Close()
	}
	return err
}

// gsoState reports whether frames may be sent in trains.
type gsoState = int32

const (
	gsoOff   gsoState = iota
	gsoOn             // trains are sent, not known to be rejected
	gsoTrial          // a train was rejected; a single frame will show why: see tried
)

// configure sets the socket options. It runs before bind, so no datagram can arrive earlier.
func (l *udp) configure(fd int, opts UDPOptions) error {
	setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, opts.SendBuffer, defaultSendBuffer)
	must := []option{
		{"IP_MTU_DISCOVER", unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
		{"IP_TTL", unix.SOL_IP, unix.IP_TTL, packet.DefaultHopLimit},
		{"IP_MULTICAST_TTL", unix.SOL_IP, unix.IP_MULTICAST_TTL, packet.DefaultHopLimit},
	}
	if l.addr.Is6() {
		must = []option{
			{"IPV6_MTU_DISCOVER", unix.SOL_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
			{"IPV6_UNICAST_HOPS", unix.SOL_IPV6, unix.IPV6_UNICAST_HOPS, packet.DefaultHopLimit},
			{"IPV6_MULTICAST_HOPS", unix.SOL_IPV6, unix.IPV6_MULTICAST_HOPS, packet.DefaultHopLimit},
		}
	}
	// Package net enables SO_BROADCAST, but a forged packet may have a broadcast source address
	// that the link would answer.
	must = append(must, option{"SO_BROADCAST", unix.SOL_SOCKET, unix.SO_BROADCAST, 0})
	if err := setOptions(fd, must); err != nil {
		return err
	}
	if err := l.multicastFrom(fd); err != nil {
		return err
	}
	if !opts.NoGSO {
		// A kernel without UDP_SEGMENT would send a train as one datagram.
		if _, err := unix.GetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT); err == nil {
			l.gso.Store(gsoOn)
		}
	}
	if l.sendOnly {
		return dropAll(fd)
	}
	return l.receive(fd, opts)
}

// receive sets the socket options for receiving.
func (s *udpSocket) receive(fd int, opts UDPOptions) error {
	if err := dropOptions(fd, s.addr.Is4()); err != nil {
		return err
	}
	setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, opts.ReceiveBuffer, defaultReceiveBuffer)
	must := []option{
		{"IP_RECVTOS", unix.SOL_IP, unix.IP_RECVTOS, 1},
		{"IP_RECVTTL", unix.SOL_IP, unix.IP_RECVTTL, 1},
	}
	if s.addr.Is6() {
		must = []option{
			{"IPV6_V6ONLY", unix.SOL_IPV6, unix.IPV6_V6ONLY, 1},
			{"IPV6_RECVTCLASS", unix.SOL_IPV6, unix.IPV6_RECVTCLASS, 1},
			{"IPV6_RECVHOPLIMIT", unix.SOL_IPV6, unix.IPV6_RECVHOPLIMIT, 1},
			{"UDP_NO_CHECK6_RX", unix.SOL_UDP, unix.UDP_NO_CHECK6_RX, 1},
		}
	}
	if err := setOptions(fd, must); err != nil {
		return err
	}
	// The following options are optional; older kernels lack them.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	if !opts.NoGRO {
		s.gro = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1) == nil
	}
	return nil
}

type option struct {
	name       string
	level, opt int
	value      int
}

func setOptions(fd int, options []option) error {
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.opt, o.value); err != nil {
			return fmt.Errorf("socket option %s: %w", o.name, err)
		}
	}
	return nil
}

// setBuffer sets a socket buffer to size bytes, or to otherwise if size is not positive. The option
// force exceeds the host's limit, which needs CAP_NET_ADMIN; without it, plain sets at most the
// limit.
func setBuffer(fd, force, plain, size, otherwise int) {
	if size <= 0 {
		size = otherwise
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size)
	}
}

// listenError returns err, the error of opening a socket at addr, with an explanation of the cause.
func listenError(addr netip.Addr, err error) error {
	at := netip.AddrPortFrom(addr, packet.Port)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("packet: %v is in use: another gorxe or this host's Linux rxe owns UDP port %d (see: ss -ulpn sport = %d); stop it, or use another address or network namespace: %w", at, packet.Port, packet.Port, unix.EADDRINUSE)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("packet: cannot listen at %v: not an address of this host, or an IPv6 address whose duplicate address detection has not finished (see: ip addr): %w", at, unix.EADDRNOTAVAIL)
	default:
		return fmt.Errorf("packet: cannot listen at %v: %w", at, err)
	}
}

// zoneIndex returns the interface index of zone, a name or a number.
func zoneIndex(zone string) (uint32, error) {
	if zone == "" {
		return 0, errors.New("a link-local IPv6 address needs a zone, as in fe80::1%eth0")
	}
	if n, err := strconv.ParseUint(zone, 10, 31); err == nil {
		return uint32(n), nil
	}
	ifc, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("zone %q: %w", zone, err)
	}
	return uint32(ifc.Index), nil
}

// scopeOf returns the interface index for sending to a, 0 if none is needed.
func (l *udp) scopeOf(a netip.Addr) (uint32, error) {
	if !a.Is6() || !a.IsLinkLocalUnicast() {
		return 0, nil
	}
	zone := a.Zone()
	if l.scope != 0 && (zone == "" || zone == l.addr.Zone()) {
		return l.scope, nil
	}
	if n, ok := l.zones.Load(zone); ok {
		return n.(uint32), nil
	}
	n, err := zoneIndex(zone)
	if err != nil {
		return 0, err
	}
	l.zones.Store(zone, n)
	return n, nil
}

func (l *udp) Caps() packet.Caps {
	return packet.Caps{Name: "udp", MTU: int(l.mtu.Load()), Batch: 64, GSO: l.gso.Load() != gsoOff}
}

// SetMTU implements [packet.Resizable].
func (l *udp) SetMTU(mtu int) { l.mtu.Store(int32(mtu)) }

func (l *udp) Local() netip.Addr { return l.addr }
