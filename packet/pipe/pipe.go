package pipe

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/packet"
)

// defaultQueue is the default capacity of a receive queue in frames.
const defaultQueue = 4096

// Net is a network in memory: when Send returns, its frames are in the receive queue of the
// destination link, in the order of the calls. A Net uses no clock and no goroutine, and a waiting
// Recv is durably blocked in the sense of testing/synctest.
type Net struct {
	// Queue is the capacity in frames of the receive queue of links opened from now on; 0 means
	// 4096.
	Queue int
	// HideHeader makes links opened from now on behave like a UDP socket: HeaderSeen of received
	// frames is false.
	HideHeader bool

	mu     sync.Mutex
	links  map[netip.Addr]*link
	groups map[netip.Addr][]*member
	lost   atomic.Uint64
}

// NewNet returns a network without links.
func NewNet() *Net {
	return &Net{links: make(map[netip.Addr]*link), groups: make(map[netip.Addr][]*member)}
}

// Undelivered returns the number of frames that no link or group member received, because their
// destination does not exist or its MTU is too small.
func (n *Net) Undelivered() uint64 { return n.lost.Load() }

// Open adds a link at addr. mtu is the maximum length of an IP packet in bytes, including the IP
// header, 576 to 65535. An address can have only one open link at a time.
func (n *Net) Open(addr netip.Addr, mtu int) (packet.Link, error) {
	addr = addr.Unmap()
	if !addr.IsValid() {
		return nil, fmt.Errorf("packet: pipe: no address to open a link at")
	}
	if mtu < 576 || mtu > 65535 {
		return nil, fmt.Errorf("packet: pipe %v: MTU %d is not in 576..65535", addr, mtu)
	}
	l := &link{net: n, addr: addr, bare: addr.WithZone(""), mtu: mtu, hideHeader: n.HideHeader}
	l.ready.L = &l.mu
	l.limit = n.Queue
	if l.limit <= 0 {
		l.limit = defaultQueue
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.links[l.bare] != nil {
		return nil, fmt.Errorf("packet: pipe: there is a link at %v already", addr)
	}
	n.links[l.bare] = l
	return l, nil
}

func (n *Net) lookup(a netip.Addr) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.links[a.WithZone("")]
}

type link struct {
	net        *Net
	addr, bare netip.Addr // bare is addr without zone
	mtu        int
	hideHeader bool
	id         atomic.Uint32 // last IPv4 identification used
	stats      packet.Counters

	mu     sync.Mutex
	ready  sync.Cond // signals that the queue is not empty, or the link is closed
	limit  int
	queue  []packet.Received // ring; Data of a free slot is a buffer to reuse
	head   int               // index of the first used slot
	used   int               // number of used slots
	taken  bool              // the latest receive returned frames, which may still be in use; see Pending
	closed bool
}

func (l *link) Caps() packet.Caps {
	return packet.Caps{Name: "pipe", MTU: l.mtu, Batch: 64, ReportsHeader: !l.hideHeader}
}

func (l *link) Local() netip.Addr { return l.addr }

func (l *link) Stats() packet.Stats { return l.stats.Load() }

// Prepare assigns consecutive IPv4 identifications, or 0 if the network hides headers.
func (l *link) Prepare(b *packet.Batch) {
	for i := b.Sent; i < b.Len(); i++ {
		f := b.At(i)
		f.SrcPort, f.ID, f.FlagsFragment = packet.Port, 0, 0
		if l.addr.Is4() {
			f.FlagsFragment = packet.DontFragment
			if !l.hideHeader {
				f.ID = uint16(l.id.Add(1))
			}
		}
	}
}

func (l *link) Send(b *packet.Batch) error {
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return fmt.Errorf("packet: pipe %v: %w", l.addr, net.ErrClosed)
	}
	var refused *packet.SendError
	for ; b.Sent < b.Len(); b.Sent++ {
		f := b.At(b.Sent)
		size := f.Len()
		switch {
		case f.Path == nil || f.Path.Dst.Is4() != l.addr.Is4():
			refused = refused.Refuse(b, b.Sent, 1, packet.ErrAddressFamily)
			continue
		case size+packet.HeaderLen(l.addr) > l.mtu:
			refused = refused.Refuse(b, b.Sent, 1, packet.ErrTooLong)
			continue
		}
		l.stats.AddTx(1, 1, size)
		if f.Path.Dst.IsMulticast() {
			if !l.net.deliverToGroup(f, l.bare) {
				l.net.lost.Add(1)
			}
			continue
		}
		to := l.net.lookup(f.Path.Dst)
		if to == nil || size+packet.HeaderLen(l.addr) > to.mtu {
			l.net.lost.Add(1)
			continue
		}
		to.deliver(f, l.bare)
	}
	if refused != nil {
		l.stats.TxRefused.Add(uint64(refused.Refused))
	}
	return refused.ErrorOrNil()
}

func (l *link) deliver(f *packet.Frame, src netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.used == l.limit {
		l.stats.RxDropped.Add(1)
		return
	}
	if l.used == len(l.queue) {
		l.grow()
	}
	slot := &l.queue[(l.head+l.used)%len(l.queue)]
	l.used++
	*slot = packet.Received{
		Data: f.AppendTo(slot.Data[:0]), Src: src, Dst: l.bare, SrcPort: f.SrcPort,
		TrafficClass: f.Path.TrafficClass, HopLimit: f.Path.HopLimitOrDefault(), FlagsFragment: f.FlagsFragment,
	}
	if !l.hideHeader {
		slot.HeaderSeen, slot.ID = true, f.ID
	}
	l.ready.Signal()
}

func (l *link) grow() {
	q := make([]packet.Received, min(max(2*len(l.queue), 16), l.limit))
	k := copy(q, l.queue[l.head:])
	copy(q[k:], l.queue[:l.head])
	l.queue, l.head = q, 0
}

func (l *link) Recv(rb *packet.RecvBatch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.await()
	return l.take(rb)
}

// RecvLocked waits without mu, so another goroutine may have taken the frames before RecvLocked has
// locked mu: then it waits again.
func (l *link) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error {
	for {
		l.mu.Lock()
		l.await()
		l.mu.Unlock()
		mu.Lock()
		if err := l.TryRecv(rb); err != nil || len(rb.Frames) > 0 {
			if err != nil {
				mu.Unlock()
			}
			return err
		}
		mu.Unlock()
	}
}

func (l *link) TryRecv(rb *packet.RecvBatch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = false
	return l.take(rb)
}

// await waits until the queue is not empty or the link is closed. l.mu is held.
func (l *link) await() {
	for l.used == 0 && !l.closed {
		l.taken = false
		l.ready.Wait()
	}
}

// take moves received frames to rb. l.mu is held.
func (l *link) take(rb *packet.RecvBatch) error {
	rb.Frames = rb.Frames[:0]
	switch {
	case l.closed:
		return fmt.Errorf("packet: pipe %v: %w", l.addr, net.ErrClosed)
	case l.used == 0:
		return nil
	}
	st, ok := rb.State.(*recvState)
	if !ok {
		st = &recvState{bufs: make([][]byte, rb.Capacity())}
		rb.State = st
	}
	l.taken = true
	bytes := 0
	for i := range min(l.used, rb.Capacity()) {
		slot := &l.queue[l.head]
		rb.Frames = append(rb.Frames, *slot)
		bytes += len(slot.Data)
		slot.Data, st.bufs[i] = st.bufs[i], slot.Data
		l.head = (l.head + 1) % len(l.queue)
		l.used--
	}
	if l.used > 0 {
		l.ready.Signal()
	}
	l.stats.AddRx(len(rb.Frames), bytes)
	return nil
}

func (l *link) Pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && (l.used > 0 || l.taken)
}

// recvState holds the buffers of the frames in a RecvBatch. take exchanges them for the buffers of
// the queue.
type recvState struct{ bufs [][]byte }

func (l *link) Close() error {
	if l.closeQueue() {
		l.net.mu.Lock()
		delete(l.net.links, l.bare)
		l.net.mu.Unlock()
	}
	return nil
}

// closeQueue closes the queue, wakes the receivers and reports whether the queue was open.
func (l *link) closeQueue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	already := l.closed
	l.closed = true
	l.queue, l.head, l.used = nil, 0, 0
	l.ready.Broadcast()
	return !already
}
