package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// raw is a link over a packet socket. A UDP socket owns the port, so that the kernel does not
// answer with ICMP port unreachable.
type raw struct {
	local  netip.Addr
	mtu    int
	port   *net.UDPConn
	frames *packet.Conn
	conn   syscall.RawConn // of frames
	ip     *os.File        // raw IP socket, for destinations without an Ethernet address
	ipConn syscall.RawConn
	hops   *hops
	id     uint16 // IPv4 identification of the last packet sent
	closed atomic.Bool

	buf, oob []byte
	copies   copies
	train    []*Received // segments that wait for Recv
}

// ListenRaw opens a link at a local unicast address. It needs CAP_NET_RAW; the error then wraps
// ErrRaw. The link also receives RoCEv1 frames whose destination GID is the address, and sends
// packets with identifications that increase.
//
// A packet to another host is sent in a frame to the neighbour that the kernel's route names. A
// packet to this host, or through an interface without Ethernet addresses, takes a raw IP socket
// (raw(7)): there the kernel overwrites the total length and the header checksum of IPv4, and a
// packet with other ones cannot be sent.
func ListenRaw(local netip.Addr) (_ Link, err error) {
	local = local.Unmap()
	if err := checkLocal(local); err != nil {
		return nil, err
	}
	l := &raw{local: local, buf: make([]byte, vnetLen+etherLen+1<<16), oob: make([]byte, 512), copies: newCopies()}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.mtu, err = mtuOf(local); err != nil {
		return nil, err
	}
	if l.port, err = listenAt(netip.AddrPortFrom(local, Port)); err != nil {
		return nil, fmt.Errorf("port %d of %v: %w", Port, local, err)
	}
	l.port.SetReadBuffer(1) // nobody reads what arrives there
	if err := l.openFrames(); err != nil {
		return nil, permission("packet socket", err)
	}
	if err := l.openIP(); err != nil {
		return nil, permission("raw IP socket", err)
	}
	if l.hops, err = newHops(l.port); err != nil {
		return nil, fmt.Errorf("rtnetlink: %w", err)
	}
	return l, nil
}

func permission(what string, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%s: %w", what, ErrRaw)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (l *raw) openFrames() error {
	filter, err := rawFilter(l.local)
	if err != nil {
		return err
	}
	l.frames, err = packet.Listen(new(net.Interface), packet.Raw, unix.ETH_P_ALL, &packet.Config{Filter: filter})
	if err != nil {
		return err
	}
	if l.conn, err = l.frames.SyscallConn(); err != nil {
		return err
	}
	ctl := l.conn.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20) // else what the host permits
		for _, o := range []option{
			{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1}, {unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		} {
			if err == nil {
				err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), o.level, o.name, o.value))
			}
		}
	})
	return errors.Join(ctl, err)
}

// openIP opens a raw IP socket, which sends packets with their IP header (IP_HDRINCL).
func (l *raw) openIP() error {
	family := unix.AF_INET6
	if l.local.Is4() {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	l.ip = os.NewFile(uintptr(fd), "raw IP")
	l.ipConn, err = l.ip.SyscallConn()
	return err
}

func (l *raw) Local() netip.Addr { return l.local }
func (l *raw) Raw() bool         { return true }
func (l *raw) MTU() int          { return l.mtu }

func (l *raw) Recv(deadline time.Time) (*Received, error) {
	if err := l.frames.SetReadDeadline(deadline); err != nil {
		return nil, l.ended(err)
	}
	for len(l.train) == 0 {
		var n, oobn int
		var from unix.Sockaddr
		var err error
		ctl := l.conn.Read(func(fd uintptr) bool {
			n, oobn, _, from, err = unix.Recvmsg(int(fd), l.buf, l.oob, 0)
			return err != unix.EAGAIN && err != unix.EINTR
		})
		switch err = errors.Join(ctl, err); {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, ErrTimeout
		case errors.Is(err, unix.ENETDOWN):
			continue // an interface went down
		case err != nil:
			return nil, l.ended(err)
		}
		link := linkLen(from)
		if n < vnetLen+link {
			continue
		}
		arrival := &Received{At: time.Now()}
		arrival.readControl(l.oob[:oobn])
		if ll, ok := from.(*unix.SockaddrLinklayer); ok && l.copies.is(arrival.At, ll.Ifindex, l.buf[vnetLen:n]) {
			continue
		}
		l.train = receivedFrame(l.buf[:vnetLen], l.buf[vnetLen:n], link)
		for _, r := range l.train {
			r.At = arrival.At
		}
	}
	r := l.train[0]
	l.train = l.train[1:]
	return r, nil
}

// ended returns the error of a closed link as net.ErrClosed.
func (l *raw) ended(err error) error {
	if l.closed.Load() {
		return net.ErrClosed
	}
	return err
}

// linkLen returns the length of the link-layer header in bytes of a frame of a packet socket.
func linkLen(from unix.Sockaddr) int {
	ll, ok := from.(*unix.SockaddrLinklayer)
	if ok && ll.Hatype != unix.ARPHRD_ETHER && ll.Hatype != unix.ARPHRD_LOOPBACK {
		return 0 // a tunnel
	}
	return etherLen
}

func (l *raw) Close() error {
	l.closed.Store(true)
	var all error
	if l.port != nil {
		all = errors.Join(all, l.port.Close())
	}
	if l.frames != nil {
		all = errors.Join(all, l.frames.Close())
	}
	if l.ip != nil {
		all = errors.Join(all, l.ip.Close())
	}
	if l.hops != nil {
		l.hops.close()
	}
	return all
}
