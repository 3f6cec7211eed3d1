package socket

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

const (
	// trainBuffer holds the longest train that the kernel may deliver, datagramBuffer any RoCEv2
	// frame.
	trainBuffer    = 64 << 10
	datagramBuffer = 16 << 10
	// recvBytes is the approximate maximum number of bytes per Recv. It limits the buffers of a
	// RecvBatch that receives trains, and how long the response to the first frame waits for the
	// last frame. Throughput is the same from 128 KiB up.
	recvBytes = 512 << 10
	// recvFirst is the number of messages that the first Recv requests, recvLeast the minimum for
	// every Recv.
	recvFirst, recvLeast = 8, 4
)

// bufferKind describes the buffers of a socket.
type bufferKind struct {
	size      int // bytes
	headerLen int // bytes of headers before the UDP payload
}

// make returns a buffer in which data after a BTH (12 bytes), or after BTH and RETH (28), is
// 16-byte aligned, also in later segments of a train. Copies of a few kilobytes from unaligned
// addresses take up to seven times as long (REP MOVSQ on Intel processors).
func (k bufferKind) make() []byte {
	skew := -(k.headerLen + bth.BTHLen) & 15
	return make([]byte, k.size+skew)[skew:]
}

// udpRecv is the State of a RecvBatch for the links of this package.
type udpRecv struct {
	msgs  []mmsghdr
	names []sockaddr
	ctl   []control
	iov   []unix.Iovec
	kind  bufferKind

	want, got int // messages requested, messages received
	armed     int // messages that have been prepared at least once
	errno     unix.Errno
	from      *udpPending           // state of the socket being read
	read      func(fd uintptr) bool // readReady, as a func value allocated once

	// Only for RecvLocked and TryRecv.
	mu     *sync.Mutex
	locked func(fd uintptr) bool // readLocked, as a func value allocated once
	try    func(fd uintptr)      // readNow, as a func value allocated once
}

func newUDPRecv(capacity int, kind bufferKind) *udpRecv {
	s := &udpRecv{
		msgs:  make([]mmsghdr, capacity),
		names: make([]sockaddr, capacity),
		ctl:   make([]control, capacity),
		iov:   make([]unix.Iovec, capacity),
		kind:  kind,
		want:  min(recvFirst, capacity),
	}
	s.read, s.locked, s.try = s.readReady, s.readLocked, s.readNow
	return s
}

// buffers returns the receive state of rb, with buffers of the given kind, for the socket of p. It
// also empties rb.Frames.
func (p *udpPending) buffers(rb *packet.RecvBatch, kind bufferKind) *udpRecv {
	s, ok := rb.State.(*udpRecv)
	if !ok || s.kind != kind {
		s = newUDPRecv(rb.Capacity(), kind)
		rb.State = s
	}
	rb.Frames = rb.Frames[:0]
	s.from = p
	return s
}

// bufferKind returns the kind of buffer for the longest message that the socket may receive.
func (l *udpSocket) bufferKind() bufferKind {
	if l.gro {
		return bufferKind{size: trainBuffer}
	}
	return bufferKind{size: datagramBuffer}
}

func (l *udpSocket) Recv(rb *packet.RecvBatch) error {
	s := l.pending.buffers(rb, l.bufferKind())
	for len(rb.Frames) == 0 {
		s.arm()
		if err := l.raw.Read(s.read); err != nil {
			return fmt.Errorf("packet: udp %v: %w", l.addr, err)
		}
		if err := l.handle(rb, s); err != nil {
			return err
		}
	}
	return nil
}

// handle processes the result of a receive call: it converts received messages to frames, or
// returns the error of the call. If the call returned neither, rb.Frames stays empty.
func (l *udpSocket) handle(rb *packet.RecvBatch, s *udpRecv) error {
	switch {
	case s.got > 0:
		l.appendFrames(rb, s)
	case s.errno != 0 && !pendingError(s.errno):
		return fmt.Errorf("packet: udp %v: recvmmsg: %w", l.addr, s.errno)
	}
	return nil
}

// arm prepares the messages for the next call: it resets the messages that the last call filled,
// and prepares more if want has grown.
func (s *udpRecv) arm() {
	used := min(s.got, s.want)
	s.got, s.errno = 0, 0
	s.ready(0, used)
	s.ready(s.armed, s.want)
	s.armed = max(s.armed, s.want)
}

// ready prepares the messages [from, to).
func (s *udpRecv) ready(from, to int) {
	for i := from; i < to; i++ {
		if s.iov[i].Base == nil {
			buf := s.kind.make()
			s.iov[i].Base = &buf[0]
			s.iov[i].SetLen(len(buf))
		}
		h := &s.msgs[i].hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.names[i])), unix.SizeofSockaddrInet6
		h.Control = &s.ctl[i].bytes()[0]
		h.SetControllen(int(unsafe.Sizeof(s.ctl[i])))
		h.Iov = &s.iov[i]
		h.SetIovlen(1)
		h.Flags = 0
	}
}

func (s *udpRecv) readReady(fd uintptr) bool {
	s.from.taking.Store(true)
	for {
		n, errno := recvmmsg(fd, s.msgs[:s.want])
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			s.from.taking.Store(false)
			return false
		case 0:
			s.got = n
		}
		s.errno = errno
		return true
	}
}

// appendFrames converts the received messages to frames.
func (l *udpSocket) appendFrames(rb *packet.RecvBatch, s *udpRecv) {
	total := 0
	for i := range s.got {
		m := &s.msgs[i]
		anc := s.ctl[i].parse(int(m.hdr.Controllen))
		if anc.dropped != 0 {
			l.stats.RxDropped.Store(uint64(anc.dropped))
		}
		if m.hdr.Flags&unix.MSG_TRUNC != 0 {
			l.stats.RxMalformed.Add(1)
			continue
		}
		total += int(m.len)
		msg := packet.Received{
			Data: unsafe.Slice(s.iov[i].Base, s.kind.size)[:m.len:m.len], Dst: l.bare,
			TrafficClass: anc.trafficClass, HopLimit: anc.hopLimit,
		}
		msg.Src, msg.SrcPort = getSockaddr(&s.names[i])
		if l.addr.Is4() {
			msg.FlagsFragment = packet.DontFragment
		}
		rb.Frames = appendSegments(rb.Frames, msg, anc.segment)
	}
	l.stats.AddRx(len(rb.Frames), total)
	s.adapt(total)
}

// adapt sets the number of messages for the next call: it doubles the number if the last call,
// which received total bytes, filled all messages, within the limit of recvBytes.
func (s *udpRecv) adapt(total int) {
	if s.got == s.want {
		s.want = min(2*s.want, len(s.msgs))
	}
	most := recvBytes / (total/max(s.got, 1) + 1)
	s.want = min(s.want, max(most, min(recvLeast, len(s.msgs))))
}

// pendingError reports whether errno is an error of an earlier datagram, such as an ICMP error,
// that the kernel reports on the next call. Receivers ignore it.
func pendingError(errno unix.Errno) bool {
	switch errno {
	case unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENETDOWN,
		unix.EMSGSIZE, unix.EPROTO, unix.EACCES, unix.EPERM, unix.ENOPROTOOPT, unix.EOPNOTSUPP:
		return true
	}
	return false
}
