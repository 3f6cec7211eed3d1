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
	// trainBuffer takes the longest train the kernel may hand over, datagramBuffer any RoCEv2 frame.
	trainBuffer    = 64 << 10
	datagramBuffer = 16 << 10
	// recvBytes is about how much one Recv is to bring at most, in bytes. It bounds the buffers a RecvBatch holds when
	// trains come, and how long the first frame's answer waits for the last frame. Throughput is the same from 128 KiB up.
	recvBytes = 512 << 10
	// recvFirst is how many messages the first Recv asks for, and recvLeast the least that any asks for.
	recvFirst, recvLeast = 8, 4
)

// bufferKind is what the buffers of a socket are like.
type bufferKind struct {
	size  int // in bytes
	heads int // bytes that stand before the UDP payload
}

// make returns a buffer in which what follows a BTH (12 bytes), or a BTH and a RETH (28), is at a multiple of 16, as it
// then is in the further segments of a train. From other addresses a copy of some kilobytes takes up to seven times as
// long (REP MOVSQ on Intel's processors).
func (k bufferKind) make() []byte {
	skew := -(k.heads + bth.BTHLen) & 15
	return make([]byte, k.size+skew)[skew:]
}

// udpRecv is the state of a RecvBatch used with udp links.
type udpRecv struct {
	msgs  []mmsghdr
	names []sockaddr
	ctl   []control
	iov   []unix.Iovec
	kind  bufferKind

	want, got int // messages
	armed     int // messages that were readied once
	errno     unix.Errno
	from      *udpPending           // of the socket that is read
	read      func(fd uintptr) bool // readReady, made once

	// What follows is for several receivers.
	mu     *sync.Mutex
	locked func(fd uintptr) bool // readLocked, made once
	try    func(fd uintptr)      // readNow, made once
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

// buffers returns the state of rb for buffers of a kind, and empties rb.
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

// bufferKind says how long what comes in one piece may be.
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
		if err := l.took(rb, s); err != nil {
			return err
		}
	}
	return nil
}

// took deals with what a call has brought: messages, an error, or nothing.
func (l *udpSocket) took(rb *packet.RecvBatch, s *udpRecv) error {
	switch {
	case s.got > 0:
		l.take(rb, s)
	case s.errno != 0 && !pendingError(s.errno):
		return fmt.Errorf("packet: udp %v: recvmmsg: %w", l.addr, s.errno)
	}
	return nil
}

// arm readies the messages that the next call asks for: those that the last one did not use still are.
func (s *udpRecv) arm() {
	used := min(s.got, s.want)
	s.got, s.errno = 0, 0
	s.ready(0, used)
	s.ready(s.armed, s.want)
	s.armed = max(s.armed, s.want)
}

// ready readies the messages from from up to to.
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

// take turns the received messages into frames.
func (l *udpSocket) take(rb *packet.RecvBatch, s *udpRecv) {
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

// adapt decides how many messages the next call asks for: more as long as all that are asked for come, within recvBytes.
func (s *udpRecv) adapt(total int) {
	if s.got == s.want {
		s.want = min(2*s.want, len(s.msgs))
	}
	most := recvBytes / (total/max(s.got, 1) + 1)
	s.want = min(s.want, max(most, min(recvLeast, len(s.msgs))))
}

// pendingError reports whether errno is an error of an earlier datagram (an ICMP message, say) that the kernel keeps for
// the next call on the socket: it is over with having been reported.
func pendingError(errno unix.Errno) bool {
	switch errno {
	case unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENETDOWN,
		unix.EMSGSIZE, unix.EPROTO, unix.EACCES, unix.EPERM, unix.ENOPROTOOPT, unix.EOPNOTSUPP:
		return true
	}
	return false
}
