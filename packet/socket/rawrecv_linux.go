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

// frameBuffer is the size of the longest train that the kernel may deliver, with all headers.
const frameBuffer = 64<<10 + 64

// rawSocket is a packet socket with its receive state. It receives with recvmmsg, like a UDP
// socket. A packet ring would save little: TPACKET_V3 delivers packets late, in blocks, and
// TPACKET_V2 needs slots as long as the longest train, so that few packets fill the ring. See
// docs/decisions/raw-link.md for the measurement.
type rawSocket struct {
	udpSocket
	closed atomic.Bool
}

// bufferKind returns the kind of buffer for frames with vnet, Ethernet, IP and UDP headers.
func (s *rawSocket) bufferKind() bufferKind {
	ip := encap.IPv6Len
	if s.bare.Is4() {
		ip = encap.IPv4Len
	}
	return bufferKind{size: frameBuffer, headerLen: vnetLen + encap.EthernetLen + ip + encap.UDPLen}
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

// took processes the result of a receive call: it converts received messages to frames, or returns
// the error of the call. If the call returned neither, rb.Frames stays empty.
func (s *rawSocket) took(rb *packet.RecvBatch, st *udpRecv) error {
	switch {
	case st.got > 0:
		s.takeFrames(rb, st)
	case st.errno != 0 && !pendingError(st.errno):
		return fmt.Errorf("packet: raw %v: recvmmsg: %w", s.addr, st.errno)
	}
	return nil
}

// rawConnError adds the link's name to err; after Close the returned error wraps net.ErrClosed.
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

// takeFrames converts the received messages to frames.
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

// forged reports whether msg, which arrived through the interface with the given index, has an
// invalid source address; see [Forged].
func (s *rawSocket) forged(msg *packet.Received, index int32) bool {
	return Forged(msg.Src, s.bare, index)
}

// Forged reports whether src is not a valid source address of a packet that arrived through the
// interface with the given index, addressed to ours. The kernel's IP stack drops packets with such
// a source, but packet sockets bypass the IP stack.
func Forged(src, ours netip.Addr, index int32) bool {
	return index != loopbackIndex && (src == ours || src.IsLoopback()) || !isHost(src)
}

// isHost reports whether src can be the address of a host on any network. The kernel's IP stack
// drops packets from other addresses (RFC 1122, 3.2.1.3; RFC 4291, 2.5.2 and 2.7).
func isHost(src netip.Addr) bool {
	return !src.IsMulticast() && !src.IsUnspecified() && src != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// decodeFrame decodes b, a vnet header and a frame from a packet socket. typ is the ARPHRD_ type of
// the interface. segment is the UDP payload per segment in bytes if the frame is a train, else 0.
func decodeFrame(b []byte, typ uint16) (msg packet.Received, segment int, err error) {
	if len(b) < vnetLen {
		return msg, 0, encap.ErrTruncated
	}
	vnet, b := b[:vnetLen], b[vnetLen:]
	var d encap.Datagram
	if typ == unix.ARPHRD_ETHER || typ == unix.ARPHRD_LOOPBACK {
		d, err = encap.DecodeEthernet(b)
	} else {
		d, err = encap.DecodeIP(b) // tunnels have no link header
	}
	if err != nil {
		return msg, 0, err
	}
	if vnet[vnetGSOType]&^vnetECN == gsoUDPL4 {
		segment = int(binary.NativeEndian.Uint16(vnet[vnetGSOSize:]))
	}
	return packet.Received{
		Data: d.Data, Src: d.Src, Dst: d.Dst, SrcPort: d.SrcPort, HeaderSeen: true, ID: d.ID,
		FlagsFragment: d.FlagsFragment, TrafficClass: d.TrafficClass, HopLimit: d.HopLimit,
	}, segment, nil
}
