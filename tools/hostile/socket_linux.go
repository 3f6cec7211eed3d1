package hostile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// batch is the maximum number of datagrams sent in one call.
const batch = 64

// sender is a UDP socket that sends from one of the flooder's addresses. It is not connected and
// uses path MTU discovery, so the kernel sends identification 0, which the ICRC covers.
type sender struct {
	fd   int
	src  netip.Addr
	port uint16
	msgs [batch]mmsghdr
	iovs [batch]unix.Iovec
	bufs [batch][]byte
	name unix.RawSockaddrInet4
	n    int
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

// newSender makes a socket at src, which for root need not be an address of this host. With cut
// the kernel may fragment datagrams.
func newSender(src, dst netip.Addr, port uint16, cut bool) (*sender, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	s := &sender{fd: fd, src: src}
	discover := unix.IP_PMTUDISC_DO
	if cut {
		discover = unix.IP_PMTUDISC_DONT
	}
	// If this fails, bind refuses an address that does not belong to the host.
	_ = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1)
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_MTU_DISCOVER, discover),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 2048),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: src.As4()}),
	)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("sending as %v: %w", src, err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	if a, ok := name.(*unix.SockaddrInet4); ok {
		s.port = uint16(a.Port)
	}
	s.name = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: dst.As4()}
	s.to(port)
	for i := range s.msgs {
		h := &s.msgs[i].hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.name)), uint32(unsafe.Sizeof(s.name))
		h.Iov = &s.iovs[i]
		h.SetIovlen(1)
	}
	return s, nil
}

// to sets the destination port.
func (s *sender) to(port uint16) {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&s.name.Port))[:], port)
}

// put adds a datagram to the batch.
func (s *sender) put(d *Datagram, dst netip.Addr) error {
	b := append(s.bufs[s.n][:0], d.Bytes...)
	if d.Sealed || d.Broken {
		h := bth.Header4{
			Src: s.src.As4(), Dst: dst.As4(), FlagsFragment: packet.DontFragment, SrcPort: s.port, DstPort: packet.Port,
			UDPLen: bth.UDPHeaderLen + len(b) + bth.ICRCLen,
		}
		v := bth.ICRC(h.Seed(), b)
		if d.Broken {
			v = ^v
		}
		b = bth.AppendICRC(b, v)
	}
	s.bufs[s.n] = b
	iov := &s.iovs[s.n]
	iov.Base = unsafe.SliceData(b)
	iov.SetLen(len(b))
	if s.n++; s.n == batch {
		return s.flush()
	}
	return nil
}

// flush sends the batch. Datagrams for which the kernel has no space are dropped, as on a wire.
func (s *sender) flush() error {
	for at := 0; at < s.n; {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.msgs[at])),
			uintptr(s.n-at), 0, 0, 0)
		switch errno {
		case 0:
			at += int(n)
		case unix.ECONNREFUSED, unix.ENOBUFS, unix.EAGAIN, unix.EINTR: // error of an earlier datagram, or no space
			at++
		default:
			s.n = 0
			return fmt.Errorf("sending as %v: %w", s.src, errno)
		}
	}
	s.n = 0
	return nil
}

func (s *sender) close() { unix.Close(s.fd) }

// sink receives what the victim sends to the flooder's addresses, so that the host sends no port
// unreachable. It decodes only a part of it.
type sink struct {
	conns []net.PacketConn
	done  sync.WaitGroup
	mu    sync.Mutex
	seen  map[bth.QPN]bth.PSN // PSN of the latest request
}

func newSink(addrs ...netip.Addr) (*sink, error) {
	s := &sink{seen: map[bth.QPN]bth.PSN{}}
	for _, a := range addrs {
		c, err := net.ListenPacket("udp4", netip.AddrPortFrom(a, packet.Port).String())
		if err != nil {
			s.close()
			return nil, err
		}
		if u, ok := c.(*net.UDPConn); ok {
			// The kernel drops the rest, which is cheaper than reading it.
			_ = u.SetReadBuffer(256 << 10)
		}
		s.conns = append(s.conns, c)
		s.done.Go(func() { s.run(c) })
	}
	return s, nil
}

// run reads up to 64 packets per millisecond.
func (s *sink) run(c net.PacketConn) {
	b := make([]byte, 1<<16)
	for k := 0; ; k++ {
		n, _, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		var p bth.Packet
		if p.Decode(b[:n]) == nil && p.Opcode.Info().Request() {
			s.mu.Lock()
			s.seen[p.DestQP] = p.PSN
			s.mu.Unlock()
		}
		if k%64 == 63 {
			time.Sleep(time.Millisecond)
		}
	}
}

func (s *sink) latest(peer bth.QPN) (bth.PSN, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	psn, any := s.seen[peer]
	return psn, any
}

func (s *sink) close() {
	for _, c := range s.conns {
		c.Close()
	}
	s.done.Wait()
}
