package socket

import (
	"sync"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"golang.org/x/sys/unix"
)

// rawTx is the transmit state of a raw link: the messages of one system call, built in place.
type rawTx struct {
	mu    sync.Mutex
	stats packet.Counters
	sendQueue

	names []unix.RawSockaddrLinklayer
	heads [][vnetLen + encap.MaxLen]byte
	iov   []unix.Iovec

	viaUDP bool // the frame after the messages is for the UDP socket
}

func (t *rawTx) init(send func(uintptr, []mmsghdr) (int, unix.Errno), deadline func(time.Time) error) {
	t.sendQueue.init(send, deadline)
	t.names = make([]unix.RawSockaddrLinklayer, sendMessages)
	t.heads = make([][vnetLen + encap.MaxLen]byte, sendMessages)
}

func (l *raw) Send(b *packet.Batch) error {
	t := &l.tx
	t.mu.Lock()
	defer t.mu.Unlock()
	var refused *packet.SendError
	for b.Sent < b.Len() {
		stop := l.build(b)
		if err := l.flush(b, &refused); err != nil {
			return err
		}
		if t.viaUDP && b.Sent == stop {
			if err := l.udp.send(b, l.udpRunEnd(b, stop), &refused); err != nil {
				return err
			}
		}
	}
	return refused.ErrorOrNil()
}

// build builds messages of the frames from b.Sent on. It stops after sendMessages messages, or at a
// frame for the UDP socket, and then sets t.viaUDP. stop is the index of the first frame without a
// message.
func (l *raw) build(b *packet.Batch) (stop int) {
	t := &l.tx
	t.count, t.next, t.calls, t.viaUDP = 0, 0, 0, false
	clear(t.iov)
	t.iov = t.iov[:0]
	i := b.Sent
	for i < b.Len() && t.count < sendMessages {
		n := trainAt(b, i)
		hop := l.hop(b, i, n)
		if hop == nil {
			t.viaUDP = true
			break
		}
		l.message(b, i, n, hop)
		i += n
	}
	for k := range t.count {
		h := &t.msgs[k].hdr
		h.Iov = &t.iov[t.meta[k].iov]
		h.SetIovlen(t.meta[k].pieces)
	}
	return i
}

// udpRunEnd returns the index after the run of frames for the UDP socket that starts at frame i.
func (l *raw) udpRunEnd(b *packet.Batch, i int) int {
	for i += trainAt(b, i); i < b.Len(); {
		n := trainAt(b, i)
		if l.hop(b, i, n) != nil {
			break
		}
		i += n
	}
	return i
}

// hop returns the next hop of the n frames from frame i on, nil if the UDP socket must send them.
func (l *raw) hop(b *packet.Batch, i, n int) *route.Hop {
	f := b.At(i)
	switch {
	case f.Path == nil, f.Path.Dst.Is4() != l.udp.addr.Is4(), f.Path.Dst.IsMulticast(),
		n > 1 && !l.trains.Load(),
		l.udp.tries(f.Path.Dst), // the trial needs a frame sent by the UDP socket
		!fitsOne(b, i, n):
		return nil
	}
	hop := l.hops.To(f.Path.Dst)
	if hop == nil || f.Len()+packet.HeaderLen(l.udp.addr) > hop.MTU {
		return nil
	}
	return hop
}

// fitsOne reports whether the n frames from frame i on fit in one message: they have at most
// maxPieces pieces, and equal lengths, except that the last frame may be shorter.
func fitsOne(b *packet.Batch, i, n int) bool {
	first, pieces := b.At(i).Len(), 1
	for k := range n {
		f := b.At(i + k)
		pieces += piecesOf(f)
		if size := f.Len(); size > first || size < first && k < n-1 {
			return false
		}
	}
	return pieces <= maxPieces
}

// message builds the next message, of the n frames from frame i on, to the next hop hop.
func (l *raw) message(b *packet.Batch, i, n int, hop *route.Hop) {
	t := &l.tx
	f := b.At(i)
	m := sendMeta{first: i, frames: n, iov: len(t.iov), size: f.Len()}
	t.iov = append(t.iov, unix.Iovec{}) // headers, filled in below
	for k := range n {
		var size int
		t.iov, size = appendPieces(t.iov, m.iov+1, b.At(i+k))
		m.bytes += size
	}
	m.pieces = len(t.iov) - m.iov
	t.meta[t.count] = m

	h := encap.Header{
		DstMAC: hop.Dst, SrcMAC: hop.Src, Src: l.udp.bare, Dst: f.Path.Dst, SrcPort: f.SrcPort,
		ID: f.ID, FlagsFragment: f.FlagsFragment,
		TrafficClass: f.Path.TrafficClass, HopLimit: f.Path.HopLimitOrDefault(), FlowLabel: f.Path.FlowLabel,
	}
	head := t.heads[t.count][:]
	clear(head[:vnetLen])
	headers := h.Put(head[vnetLen:], m.bytes)
	if n > 1 {
		putTrain(head, headers, m.size)
		encap.PutPseudoChecksum(head[vnetLen : vnetLen+headers])
	}
	t.iov[m.iov].Base = &head[0]
	t.iov[m.iov].SetLen(vnetLen + headers)

	name := &t.names[t.count]
	*name = unix.RawSockaddrLinklayer{Family: unix.AF_PACKET, Ifindex: int32(hop.Index), Halen: uint8(len(hop.Dst))}
	putPort(&name.Protocol, uint16(etherType(l.udp.addr)))
	copy(name.Addr[:], hop.Dst[:])
	hdr := &t.msgs[t.count].hdr
	hdr.Name, hdr.Namelen = (*byte)(unsafe.Pointer(name)), unix.SizeofSockaddrLinklayer
	t.count++
}

// flush sends the messages that were built, and advances b.Sent.
func (l *raw) flush(b *packet.Batch, refused **packet.SendError) error {
	t := &l.tx
	for t.next < t.count {
		from := t.next
		dropped, err := t.push(l.rx.raw)
		err = l.rx.rawConnError(err)
		t.sent(b, from)
		switch {
		case dropped:
			t.stats.TxQueueFull.Add(t.drop(b))
			continue
		case err != nil:
			return err
		case t.errno == 0:
			continue
		}
		m := &t.meta[t.next]
		if m.frames > 1 && refusesTrain(t.errno) {
			// The kernel does not support UDP trains on packet sockets. The UDP socket can still
			// send the trains as prepared.
			l.trains.Store(false)
			return nil
		}
		*refused = (*refused).Refuse(b, m.first, m.frames, RefusalOf(t.errno))
		t.stats.TxRefused.Add(uint64(m.frames))
		b.Sent = m.end()
		t.next++
	}
	clear(t.iov)
	return nil
}

// sent counts the messages [from, t.next), which the kernel accepted.
func (t *rawTx) sent(b *packet.Batch, from int) {
	frames, bytes := 0, 0
	for i := from; i < t.next; i++ {
		m := &t.meta[i]
		frames += m.frames
		bytes += m.bytes
		b.Sent = m.end()
	}
	t.stats.AddTx(t.calls, frames, bytes)
	t.calls = 0
}
