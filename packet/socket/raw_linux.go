package socket

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/gorxe/gorxe/packet"
	mdpacket "github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// ListenRaw opens a link over a packet socket (packet(7)), which needs CAP_NET_RAW. The link
// receives packets to addr port 4791 past the host's IP stack and firewall, and sees their IP
// headers. It sends complete Ethernet frames to destinations whose next hop the kernel has
// resolved.
//
// A UDP socket on the same port keeps the kernel from answering with ICMP port unreachable, and
// makes a second link at the address fail. The UDP socket also sends every packet that cannot be
// sent as an Ethernet frame: packets to multicast groups and to this host, because members and
// links on this host would not receive an Ethernet frame; packets to neighbours that the kernel has
// not resolved or confirmed yet; packets through tunnels; and packets that the kernel must reject.
// It sends like a [ListenUDP] link; all packets have the same IPv4 identifications as there.
// Fragments are not received.
//
// Ethernet frames carry Path.FlowLabel. Their UDP checksum is 0, except for trains, whose segments
// are checksummed by the kernel or the device.
func ListenRaw(addr netip.Addr, opts RawOptions) (packet.Link, error) {
	u, err := listenUDP(addr, UDPOptions{SendBuffer: opts.SendBuffer, NoGSO: opts.NoGSO}, true)
	if err != nil {
		return nil, err
	}
	l := &raw{udp: u}
	if err := l.open(opts); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// raw is a link over a packet socket, with a UDP socket beside it; see ListenRaw.
type raw struct {
	udp    *udp
	rx     rawSocket
	hops   nextHops
	tx     rawTx
	trains atomic.Bool // the kernel accepts trains on packet sockets
}

func (l *raw) open(opts RawOptions) error {
	addr := l.udp.addr
	rx, err := listenFrames(l.udp, opts)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("packet: raw %v: a packet socket takes the capability CAP_NET_RAW: run as root, or give it to the program (setcap cap_net_raw+ep, or AmbientCapabilities=CAP_NET_RAW in its systemd unit), or use the link udp, which takes none: %w", addr, unix.EPERM)
	}
	if err != nil {
		return fmt.Errorf("packet: raw %v: %w", addr, err)
	}
	l.rx.conn = rx
	if l.rx.raw, err = rx.SyscallConn(); err != nil {
		return fmt.Errorf("packet: raw %v: %w", addr, err)
	}
	l.rx.addr, l.rx.bare = addr, l.udp.bare
	if l.hops = l.udp.hops; l.hops == nil {
		return fmt.Errorf("packet: raw %v: %w", addr, l.udp.hopsErr)
	}
	l.tx.init(sendmmsg, l.rx.conn.SetWriteDeadline)
	l.trains.Store(true)
	return nil
}

// listenFrames opens a packet socket for packets to the address of u. Like the UDP socket it is not
// bound to an interface, so it survives the removal of interfaces and receives from this host
// through the loopback interface. There is one socket per address rather than per interface, so the
// filter in the kernel demultiplexes packets.
func listenFrames(u *udp, opts RawOptions) (*mdpacket.Conn, error) {
	filter, err := rawFilter(u.bare, interfacesOf(u), netOff)
	if err != nil {
		return nil, err
	}
	conn, err := mdpacket.Listen(new(net.Interface), mdpacket.Raw, etherType(u.bare), &mdpacket.Config{Filter: filter})
	if err != nil {
		return nil, err
	}
	c, err := conn.SyscallConn()
	if err == nil {
		err = withFD(c, func(fd int) error { return configureFrames(fd, opts) })
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func configureFrames(fd int, opts RawOptions) error {
	setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, opts.ReceiveBuffer, defaultReceiveBuffer)
	setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, opts.SendBuffer, defaultSendBuffer)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	return setOptions(fd, []option{{"PACKET_VNET_HDR", unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1}})
}

// interfacesOf returns the indexes of the interfaces that may receive datagrams to the address of
// u; an empty result means all interfaces.
func interfacesOf(u *udp) []int {
	switch {
	case u.bare.IsLoopback():
		return []int{loopbackIndex}
	case u.scope != 0:
		return []int{int(u.scope), loopbackIndex}
	}
	return nil
}

// loopbackIndex is the index of the loopback interface in every network namespace.
const loopbackIndex = 1

func (l *raw) Caps() packet.Caps {
	c := l.udp.Caps()
	c.Name, c.ReportsHeader = "raw", true
	return c
}

// SetMTU implements [packet.Resizable].
func (l *raw) SetMTU(mtu int) { l.udp.SetMTU(mtu) }

func (l *raw) Local() netip.Addr { return l.udp.Local() }

func (l *raw) Stats() packet.Stats {
	s := l.rx.Stats()
	s.Add(l.tx.stats.Load())
	s.Add(l.udp.Stats())
	return s
}

// ResolveSoon implements [packet.Holder].
func (l *raw) ResolveSoon(dst netip.Addr) { l.udp.ResolveSoon(dst) }

// Hold implements [packet.Holder].
func (l *raw) Hold(dst netip.Addr) { l.udp.Hold(dst) }

// Release implements [packet.Holder].
func (l *raw) Release(dst netip.Addr) { l.udp.Release(dst) }

func (l *raw) Pending() bool { return l.rx.Pending() }

// Join joins group with the UDP socket: the Receiver does not see IP headers.
func (l *raw) Join(group netip.Addr) (packet.Receiver, error) { return l.udp.Join(group) }

// Prepare sets values that are valid whichever socket sends the frame.
func (l *raw) Prepare(b *packet.Batch) { l.udp.Prepare(b) }

func (l *raw) Recv(rb *packet.RecvBatch) error { return l.rx.Recv(rb) }

func (l *raw) Close() error {
	var err error
	if l.rx.conn != nil {
		err = l.rx.Close()
	}
	return errors.Join(err, l.udp.Close())
}
