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

// socketTurn is the number of receive calls in which the UDP socket is polled at least once, even
// if AF_XDP always has frames.
const socketTurn = 64

// recvState is the State of a RecvBatch used with xdp links.
type recvState struct {
	link   *link
	held   *xsk.Held
	socket *packet.RecvBatch // frames of the UDP socket
	most   int               // maximum number of frames per call
	turns  int
	err    error                 // error of the UDP socket
	read   func(fd uintptr) bool // readReady as a method value, created once

	// The following fields are for RecvLocked.
	mu     *sync.Mutex
	locked func(fd uintptr) bool // readLocked as a method value, created once
}

func newRecvState(capacity int) *recvState {
	s := &recvState{held: xsk.NewHeld(), socket: packet.NewRecvBatch(capacity), most: capacity}
	s.read, s.locked = s.readReady, s.readLocked
	return s
}

// receiver prepares rb and returns its state.
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

// Recv returns the frames of AF_XDP without a copy: Data is memory that the next Recv returns
// to the kernel.
func (l *link) Recv(rb *packet.RecvBatch) error {
	s := l.receiver(rb)
	for len(rb.Frames) == 0 {
		if err := l.finishRecv(rb, s, l.conn.Read(s.read)); err != nil {
			return err
		}
	}
	return nil
}

// finishRecv processes the result of a read: it appends the frames to rb, which may be none, or
// returns the error: err, or the error of the UDP socket.
func (l *link) finishRecv(rb *packet.RecvBatch, s *recvState, err error) error {
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

// readReady receives the available frames. It returns false if there are none: the runtime then
// waits until ready is readable.
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

// readLocked is readReady with mu held. If it returns true, mu stays locked.
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
	return socket.RecvLocked(rb, mu, l.conn, s.locked, func(err error) error { return l.finishRecv(rb, s, err) })
}

func (l *link) TryRecv(rb *packet.RecvBatch) error {
	s := l.receiver(rb)
	if l.closed.Load() {
		return l.finishRecv(rb, s, nil)
	}
	s.readReady(0)
	return l.finishRecv(rb, s, nil)
}

// decode removes the headers of the frames in held and appends the frames to rb.
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
			// The frame waited in a socket that belonged to another address before.
			continue
		}
		if socket.Forged(d.Src, l.bare, int32(l.index)) {
			// The kernel's IP stack drops such packets, but this one has bypassed it.
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
