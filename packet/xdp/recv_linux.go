package xdp

import (
	"fmt"
	"net"
	"sync"

	"github.com/gorxe/gorxe/internal/host/xsk"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"github.com/gorxe/gorxe/packet/socket"
)

// socketTurn is how often in a row frames may come by XDP before the UDP socket is looked at, too.
const socketTurn = 64

// recvState is the state of a RecvBatch used with xdp links.
type recvState struct {
	link   *link
	held   *xsk.Held
	socket *packet.RecvBatch // of what came by the UDP socket
	most   int               // frames in one go
	turns  int
	err    error                 // of the UDP socket
	read   func(fd uintptr) bool // readReady, made once

	// What follows is for several receivers.
	mu     *sync.Mutex
	locked func(fd uintptr) bool // readLocked, made once
}

func newRecvState(capacity int) *recvState {
	s := &recvState{held: xsk.NewHeld(), socket: packet.NewRecvBatch(capacity), most: capacity}
	s.read, s.locked = s.readReady, s.readLocked
	return s
}

// receiver readies rb, and returns its state.
func (l *link) receiver(rb *packet.RecvBatch) *recvState {
	s, ok := rb.State.(*recvState)
	if !ok {
		s = newRecvState(rb.Capacity())
		rb.State = s
	}
	s.link = l
	rb.Frames = rb.Frames[:0]
	return s
}

// Recv takes what came by AF_XDP where it is: Data is memory that the kernel gets back with the next Recv.
func (l *link) Recv(rb *packet.RecvBatch) error {
	s := l.receiver(rb)
	for len(rb.Frames) == 0 {
		if err := l.took(rb, s, l.conn.Read(s.read)); err != nil {
			return err
		}
	}
	return nil
}

// took deals with what looking has brought: frames, an error, or nothing.
func (l *link) took(rb *packet.RecvBatch, s *recvState, err error) error {
	if err == nil {
		err = s.err
	}
	switch {
	case l.closed.Load():
		s.held.Release()
		err = net.ErrClosed
		fallthrough
	case err != nil:
		return fmt.Errorf("packet: xdp %v: %w", l.addr, err)
	}
	l.decode(rb, s.held)
	rb.Frames = append(rb.Frames, s.socket.Frames...)
	return nil
}

// readReady takes what there is, and returns false to wait for more.
func (s *recvState) readReady(uintptr) bool {
	s.err, s.socket.Frames = nil, s.socket.Frames[:0]
	s.link.end.Recv(s.held, s.most)
	came := len(s.held.Frames) > 0
	if s.turns++; came && s.turns < socketTurn {
		return true
	}
	s.turns = 0
	s.err = s.link.Companion.TryRecv(s.socket)
	return came || len(s.socket.Frames) > 0 || s.err != nil
}

// readLocked is readReady with the mutex held, which it keeps if it returns true.
func (s *recvState) readLocked(fd uintptr) bool {
	s.mu.Lock()
	if s.readReady(fd) {
		return true
	}
	s.mu.Unlock()
	return false
}

func (l *link) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error {
	mu.Lock()
	s := l.receiver(rb)
	s.mu = mu
	mu.Unlock()
	return socket.RecvLocked(rb, mu, l.conn, s.locked, func(err error) error { return l.took(rb, s, err) })
}

func (l *link) TryRecv(rb *packet.RecvBatch) error {
	s := l.receiver(rb)
	if l.closed.Load() {
		return l.took(rb, s, nil)
	}
	s.readReady(0)
	return l.took(rb, s, nil)
}

// decode takes the headers off the frames in held.
func (l *link) decode(rb *packet.RecvBatch, held *xsk.Held) {
	if len(held.Frames) == 0 {
		return
	}
	bytes := 0
	for _, frame := range held.Frames {
		d, err := encap.DecodeEthernet(frame)
		if err != nil {
			l.Counters().RxMalformed.Add(1)
			continue
		}
		if d.Dst != l.bare {
			// It waited in a socket that was another address's before.
			continue
		}
		if socket.Forged(d.Src, l.bare, int32(l.index)) {
			// The kernel's IP stack drops such packets, and has not seen this one.
			l.Counters().RxMalformed.Add(1)
			continue
		}
		bytes += len(d.Data)
		rb.Frames = append(rb.Frames, packet.Received{
			Data: d.Data, Src: d.Src, Dst: d.Dst, SrcPort: d.SrcPort,
			HeaderSeen: true, ID: d.ID, FlagsFragment: d.FlagsFragment,
			TrafficClass: d.TrafficClass, HopLimit: d.HopLimit,
		})
	}
	l.Counters().AddRx(len(rb.Frames), bytes)
}
