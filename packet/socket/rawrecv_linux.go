package socket

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"unsafe"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"golang.org/x/sys/unix"
)

// frameBuffer takes the longest train the kernel may hand over, with its headers and a vnetHeader.
const frameBuffer = 64<<10 + 64

// rawSocket is a packet socket, and all it takes to receive from it. What comes is read by recvmmsg, as from a UDP socket: a
// ring saves little, and either hands over blocks of packets late (TPACKET_V3) or has slots as long as the longest train
// (TPACKET_V2), so that few packets fill it. docs/decisions/raw-link.md has the measurement.
type rawSocket struct {
	udpSocket
	closed atomic.Bool
}

// bufferKind is that of frames with all their headers, as Ethernet has them.
func (s *rawSocket) bufferKind() bufferKind {
	ip := encap.IPv6Len
	if s.bare.Is4() {
		ip = encap.IPv4Len
	}
	return bufferKind{size: frameBuffer, heads: vnetLen + encap.EthernetLen + ip + encap.UDPLen}
}

func (s *rawSocket) Recv(rb *packet.RecvBatch) error {
	st := s.pending.buffers(rb, s.bufferKind())
	for len(rb.Frames) == 0 {
		st.arm()
		if err := s.rawConnError(s.raw.Read(st.read)); err != nil {
			return err
		}
		if err := s.took(rb, st); err != nil {
			return err
		}
	}
	return nil
}

// took deals with what a call has brought: messages, an error, or nothing.
func (s *rawSocket) took(rb *packet.RecvBatch, st *udpRecv) error {
	switch {
	case st.got > 0:
		s.takeFrames(rb, st)
	case st.errno != 0 && !pendingError(st.errno):
		return fmt.Errorf("packet: raw %v: recvmmsg: %w", s.addr, st.errno)
	}
	return nil
}

// rawConnError says that the socket is closed where that is why err came of it.
func (s *rawSocket) rawConnError(err error) error {
	if err != nil && s.closed.Load() {
		err = net.ErrClosed
	}
	if err != nil {
		err = fmt.Errorf("packet: raw %v: %w", s.addr, err)
	}
	return err
}

func (s *rawSocket) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if err := s.conn.Close(); err != nil {
		return fmt.Errorf("packet: raw %v: %w", s.addr, err)
	}
	return nil
}

// takeFrames turns the received messages into frames.
func (s *rawSocket) takeFrames(rb *packet.RecvBatch, st *udpRecv) {
	total := 0
	for i := range st.got {
		m := &st.msgs[i]
		if n := st.ctl[i].parse(int(m.hdr.Controllen)).dropped; n != 0 {
			s.stats.RxDropped.Store(uint64(n))
		}
		b := unsafe.Slice(st.iov[i].Base, st.kind.size)[:min(int(m.len), st.kind.size)]
		from := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&st.names[i]))
		msg, segment, err := decodeFrame(b, from.Hatype)
		if err != nil || m.hdr.Flags&unix.MSG_TRUNC != 0 || s.forged(&msg, from.Ifindex) {
			s.stats.RxMalformed.Add(1)
			continue
		}
		total += len(msg.Data)
		rb.Frames = appendSegments(rb.Frames, msg, segment)
	}
	if len(rb.Frames) > 0 {
		s.stats.AddRx(len(rb.Frames), total)
	}
	st.adapt(total)
}

// Forged is true for a frame from another host that claims to be from this one, as far as the address alone shows it. The kernel's IP
// stack drops such packets, but is not asked here.
func (s *rawSocket) forged(msg *packet.Received, index int32) bool {
	return Forged(msg.Src, s.bare, index)
}

// Forged is true for the source of a packet that came by the interface with an index to our address.
func Forged(src, ours netip.Addr, index int32) bool {
	return index != loopbackIndex && (src == ours || src.IsLoopback()) || !isHost(src)
}

// isHost is false for addresses that no host sends from, whatever its network: the kernel's IP
// stack drops those as well (RFC 1122, 3.2.1.3; RFC 4291, 2.5.2 and 2.7).
func isHost(src netip.Addr) bool {
	return !src.IsMulticast() && !src.IsUnspecified() && src != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// decodeFrame decodes what a packet socket received from an interface whose type is an ARPHRD_: a vnetHeader and the frame. segment
// is the length of the segments if it is a train, else 0.
func decodeFrame(b []byte, typ uint16) (msg packet.Received, segment int, err error) {
	if len(b) < vnetLen {
		return msg, 0, encap.ErrTruncated
	}
	vnet, b := b[:vnetLen], b[vnetLen:]
	var d encap.Datagram
	if typ == unix.ARPHRD_ETHER || typ == unix.ARPHRD_LOOPBACK {
		d, err = encap.DecodeEthernet(b)
	} else {
		d, err = encap.DecodeIP(b) // tunnels put nothing before it
	}
	if err != nil {
		return msg, 0, err
	}
	if vnet[vnetGSOType]&^vnetECN == gsoUDPL4 {
		segment = int(binary.NativeEndian.Uint16(vnet[vnetGSOSize:]))
	}
	return packet.Received{
		Data: d.Data, Src: d.Src, Dst: d.Dst, SrcPort: d.SrcPort, HeaderSeen: true, ID: d.ID, FlagsFragment: d.FlagsFragment,
		TrafficClass: d.TrafficClass, HopLimit: d.HopLimit,
	}, segment, nil
}
