package socket

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/gorxe/gorxe/packet"
)

// lock returns the receive state of rb for receivers that share mu. It locks mu only while it
// prepares the state.
func (p *udpPending) lock(rb *packet.RecvBatch, kind bufferKind, mu *sync.Mutex) *udpRecv {
	mu.Lock()
	defer mu.Unlock()
	s := p.buffers(rb, kind)
	s.mu = mu
	return s
}

// readLocked locks the mutex and calls readReady. If it returns true, the mutex stays locked.
func (s *udpRecv) readLocked(fd uintptr) bool {
	s.mu.Lock()
	s.arm()
	if s.readReady(fd) {
		return true
	}
	s.mu.Unlock()
	return false
}

// readNow calls readReady for callers that do not wait; the caller holds the mutex.
func (s *udpRecv) readNow(fd uintptr) {
	s.arm()
	s.readReady(fd)
}

// RecvLocked implements [packet.Shared] for a link that receives through conn. It repeats two steps
// until rb has frames: conn waits until read returns true, with mu locked, and took processes the
// result. err of took is the error of waiting; took always runs with mu locked. RecvLocked returns
// with mu locked if and only if the error is nil.
func RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex, conn syscall.RawConn, read func(fd uintptr) bool,
	took func(err error) error) error {
	for {
		err := conn.Read(read)
		if err != nil {
			mu.Lock()
		}
		rb.Frames = rb.Frames[:0]
		if err = took(err); err == nil && len(rb.Frames) > 0 {
			return nil
		}
		mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func (l *udpSocket) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error {
	s := l.pending.lock(rb, l.bufferKind(), mu)
	return RecvLocked(rb, mu, l.raw, s.locked, func(err error) error {
		if err != nil {
			return fmt.Errorf("packet: udp %v: %w", l.addr, err)
		}
		return l.handle(rb, s)
	})
}

func (l *udpSocket) TryRecv(rb *packet.RecvBatch) error {
	s := l.pending.buffers(rb, l.bufferKind())
	if err := l.raw.Control(s.try); err != nil {
		return fmt.Errorf("packet: udp %v: %w", l.addr, err)
	}
	return l.handle(rb, s)
}

func (s *rawSocket) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error {
	st := s.pending.lock(rb, s.bufferKind(), mu)
	return RecvLocked(rb, mu, s.raw, st.locked, func(err error) error {
		if err := s.rawConnError(err); err != nil {
			return err
		}
		return s.took(rb, st)
	})
}

func (s *rawSocket) TryRecv(rb *packet.RecvBatch) error {
	st := s.pending.buffers(rb, s.bufferKind())
	if err := s.rawConnError(s.raw.Control(st.try)); err != nil {
		return err
	}
	return s.took(rb, st)
}

func (l *raw) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error { return l.rx.RecvLocked(rb, mu) }

func (l *raw) TryRecv(rb *packet.RecvBatch) error { return l.rx.TryRecv(rb) }
