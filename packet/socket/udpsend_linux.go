package socket

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// sendMessages is the maximum number of messages (trains or single frames) per system call.
const sendMessages = 64

// udpTx is the transmit state of a udp link: the messages of one system call, built in place.
type udpTx struct {
	mu sync.Mutex
	sendQueue

	names []sockaddr
	ctl   []control
	iov   []unix.Iovec

	waiting waiting
	reached netip.Addr // last destination that admits found reachable for the messages being built

	// A gsoTrial ends when a single frame of this length is sent to this destination; see tried.
	trialDst netip.Addr
	trialLen int
}

// sendMeta describes a message.
type sendMeta struct {
	first, frames int // frame range in the batch
	dropped       int // frames after these that are dropped, because the neighbour is unknown
	bytes         int // UDP payload
	size          int // UDP payload of the first frame
	iov, pieces   int // start and count in the iov of udpTx or rawTx
}

// end returns the index of the first frame after the message and the frames dropped with it.
func (m *sendMeta) end() int { return m.first + m.frames + m.dropped }

func (t *udpTx) init(send func(uintptr, []mmsghdr) (int, unix.Errno), deadline func(time.Time) error) {
	t.sendQueue.init(send, deadline)
	t.names = make([]sockaddr, sendMessages)
	t.ctl = make([]control, sendMessages)
}

// Prepare joins consecutive frames of equal length and path into trains, whose segments have the
// IPv4 identifications 0, 1, 2 and so on. A single frame has identification 0.
func (l *udp) Prepare(b *packet.Batch) {
	trains := l.gso.Load() == gsoOn && !b.NoTrains
	df := uint16(0)
	if l.addr.Is4() {
		df = packet.DontFragment
	}
	longest := int(l.mtu.Load()) - packet.HeaderLen(l.addr)
	for i := b.Sent; i < b.Len(); {
		n := 1
		if trains {
			n = trainFrom(b, i, longest)
		}
		for k := range n {
			f := b.At(i + k)
			f.SrcPort, f.FlagsFragment, f.ID, f.Train = packet.Port, df, 0, 0
			if df != 0 {
				f.ID = uint16(k)
			}
		}
		b.At(i).Train = n
		i += n
	}
}

func (l *udp) Send(b *packet.Batch) error {
	var refused *packet.SendError
	if err := l.send(b, b.Len(), &refused); err != nil {
		return err
	}
	return refused.ErrorOrNil()
}

// send sends the frames from b.Sent up to, but not including, frame end. end must not be inside a
// train.
func (l *udp) send(b *packet.Batch, end int, refused **packet.SendError) error {
	t := &l.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	for b.Sent < end {
		bad, err := l.build(b, end)
		if t.count > 0 {
			err = l.flush(b, refused)
			bad = 0
		}
		switch {
		case err == nil:
		case errors.Is(err, errNoNeighbour):
			l.stats.TxNoNeighbour.Add(uint64(bad))
			b.Sent += bad
		case bad > 0:
			*refused = (*refused).Refuse(b, b.Sent, bad, err)
			l.stats.TxRefused.Add(uint64(bad))
			b.Sent += bad
		default:
			return err
		}
	}
	return nil
}

// build builds messages of the frames from b.Sent to end, up to the first frame that cannot be
// sent. err is the error of this frame. bad is the number of frames that the caller skips because
// of err if no message was built; 0 means that the caller returns err.
func (l *udp) build(b *packet.Batch, end int) (bad int, err error) {
	t := &l.tx
	t.count, t.next, t.calls, t.reached, t.waiting.building = 0, 0, 0, netip.Addr{}, 0
	clear(t.iov)
	t.iov = t.iov[:0]
	for i := b.Sent; i < end && t.count < sendMessages; {
		n := trainAt(b, i)
		if n > 1 && l.gso.Load() != gsoOn {
			bad, err = 0, packet.ErrReprepare
			break
		}
		err = l.message(b, i, n)
		if n > 1 && errors.Is(err, errNoNeighbour) && l.message(b, i, 1) == nil {
			// The first frame triggers neighbour discovery; there is no buffer space for the
			// whole train. The other frames cannot be sent alone, because they are sealed for
			// their positions in the train.
			t.meta[t.count].dropped, err = n-1, nil
		}
		if err != nil {
			bad = n
			break
		}
		t.count++
		i += n
	}
	for i := range t.count {
		m := &t.meta[i]
		h := &t.msgs[i].hdr
		h.Iov = nil
		if m.pieces > 0 {
			h.Iov = &t.iov[m.iov]
		}
		h.SetIovlen(m.pieces)
	}
	return bad, err
}

// message builds message t.count of the n frames from frame i on.
func (l *udp) message(b *packet.Batch, i, n int) error {
	t := &l.tx
	f := b.At(i)
	if f.Path == nil || f.Path.Dst.Is4() != l.addr.Is4() {
		return packet.ErrAddressFamily
	}
	scope, err := l.scopeOf(f.Path.Dst)
	if err != nil {
		return err
	}
	m := sendMeta{first: i, frames: n, iov: len(t.iov)}
	for k := range n {
		f := b.At(i + k)
		if piecesOf(f) > maxPieces {
			flatten(f)
		}
		size := t.gather(f, m.iov)
		m.bytes += size
		switch {
		case k == 0:
			m.size = size
		case size > m.size || size < m.size && k < n-1:
			t.iov = t.iov[:m.iov]
			return fmt.Errorf(
				"frame %d of a segment train has %d bytes, the first %d: lengths changed unequally after Prepare", k,
				size, m.size)
		}
	}
	if !l.admits(f.Path.Dst, n, m.bytes) {
		t.iov = t.iov[:m.iov]
		return errNoNeighbour
	}
	m.pieces = len(t.iov) - m.iov
	t.meta[t.count] = m

	h := &t.msgs[t.count].hdr
	h.Name = (*byte)(unsafe.Pointer(&t.names[t.count]))
	h.Namelen = putSockaddr(&t.names[t.count], f.Path.Dst, scope)
	ctl, off := &t.ctl[t.count], 0
	if n > 1 {
		off = ctl.put(off, unix.SOL_UDP, unix.UDP_SEGMENT, uint32(m.size), 2)
	}
	level, tos, ttl := int32(unix.SOL_IP), int32(unix.IP_TOS), int32(unix.IP_TTL)
	if l.addr.Is6() {
		level, tos, ttl = unix.SOL_IPV6, unix.IPV6_TCLASS, unix.IPV6_HOPLIMIT
	}
	if f.Path.TrafficClass != 0 {
		off = ctl.put(off, level, tos, uint32(f.Path.TrafficClass), 4)
	}
	if hops := f.Path.HopLimitOrDefault(); hops != packet.DefaultHopLimit {
		off = ctl.put(off, level, ttl, uint32(hops), 4)
	}
	h.Control = nil
	if off > 0 {
		h.Control = &ctl.bytes()[0]
	}
	h.SetControllen(off)
	return nil
}

// gather appends the pieces of f to t.iov and returns their total length in bytes. The message
// starts at t.iov[from].
func (t *udpTx) gather(f *packet.Frame, from int) (n int) {
	t.iov, n = appendPieces(t.iov, from, f)
	return n
}

// appendPieces appends the pieces of f to iov and returns it with their total length in bytes. The
// message starts at iov[from].
func appendPieces(iov []unix.Iovec, from int, f *packet.Frame) ([]unix.Iovec, int) {
	iov = appendPiece(iov, from, f.Header)
	n := len(f.Header) + len(f.Trailer)
	for _, p := range f.Payload {
		iov = appendPiece(iov, from, p)
		n += len(p)
	}
	return appendPiece(iov, from, f.Trailer), n
}

// appendPiece appends p to iov. If p directly follows the last piece of the message in memory,
// appendPiece extends that piece instead. The message starts at iov[from].
func appendPiece(iov []unix.Iovec, from int, p []byte) []unix.Iovec {
	if len(p) == 0 {
		return iov
	}
	if i := len(iov) - 1; i >= from {
		if last := &iov[i]; uintptr(unsafe.Pointer(last.Base))+uintptr(last.Len) == uintptr(unsafe.Pointer(&p[0])) {
			last.SetLen(int(last.Len) + len(p))
			return iov
		}
	}
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	return append(iov, v)
}

// flush sends the messages that were built, and advances b.Sent.
func (l *udp) flush(b *packet.Batch, refused **packet.SendError) error {
	t := &l.tx
	for t.next < t.count {
		from := t.next
		dropped, err := t.push(l.raw)
		l.sent(b, from)
		switch {
		case dropped:
			l.stats.TxQueueFull.Add(t.drop(b))
			continue
		case err != nil:
			return fmt.Errorf("packet: udp %v: %w", l.addr, err)
		case t.errno == 0:
			continue
		}
		m := &t.meta[t.next]
		if m.frames > 1 && refusesTrain(t.errno) {
			t.trialDst, t.trialLen = b.At(m.first).Path.Dst, m.size
			l.gso.CompareAndSwap(gsoOn, gsoTrial)
			return packet.ErrReprepare
		}
		l.tried(b, m, false)
		*refused = (*refused).Refuse(b, m.first, m.frames, RefusalOf(t.errno))
		l.stats.TxRefused.Add(uint64(m.frames))
		l.skip(b, m)
		t.next++
	}
	clear(t.iov)
	return nil
}

// sent counts the messages [from, t.next), which the kernel accepted.
func (l *udp) sent(b *packet.Batch, from int) {
	t := &l.tx
	frames, bytes := 0, 0
	for i := from; i < t.next; i++ {
		m := &t.meta[i]
		frames += m.frames
		bytes += m.bytes
		l.skip(b, m)
		l.tried(b, m, true)
	}
	l.stats.AddTx(t.calls, frames, bytes)
	t.calls = 0
}

// skip advances b.Sent past a message and the dropped frames of its train.
func (l *udp) skip(b *packet.Batch, m *sendMeta) {
	b.Sent = m.end()
	if m.dropped > 0 {
		l.stats.TxNoNeighbour.Add(uint64(m.dropped))
	}
}

// tries reports whether a gsoTrial waits for a frame to dst.
func (l *udp) tries(dst netip.Addr) bool {
	if l.gso.Load() != gsoTrial {
		return false
	}
	l.tx.mu.Lock()
	defer l.tx.mu.Unlock()
	return l.tx.trialDst == dst
}

// tried ends a gsoTrial if message m is a single frame with the destination and length of the
// rejected train's frames. went tells whether the kernel accepted m. If so, the host rejects
// trains; otherwise it rejects the frames themselves, and trains stay enabled.
func (l *udp) tried(b *packet.Batch, m *sendMeta, went bool) {
	t := &l.tx
	if l.gso.Load() != gsoTrial || m.frames != 1 || m.size != t.trialLen || b.At(m.first).Path.Dst != t.trialDst {
		return
	}
	if went {
		l.gso.Store(gsoOff)
	} else {
		l.gso.Store(gsoOn)
	}
}

// refusesTrain reports whether errno may mean that the host does not support segmentation.
func refusesTrain(errno unix.Errno) bool {
	switch errno {
	case unix.EIO, unix.EINVAL, unix.EOPNOTSUPP, unix.ENOPROTOOPT, unix.EMSGSIZE:
		return true
	}
	return false
}

// RefusalOf returns the error for a message that the kernel rejected with errno: errno, or
// [packet.ErrTooLong] with it for EMSGSIZE.
func RefusalOf(errno unix.Errno) error {
	if errno == unix.EMSGSIZE {
		return errTooLong
	}
	return errno
}

var errTooLong = fmt.Errorf("%w (%w)", packet.ErrTooLong, unix.EMSGSIZE)
