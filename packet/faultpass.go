package packet

import (
	"net/netip"
	"sync"
)

// Hold is that of the link below.
func (l *FaultLink) Hold(dst netip.Addr) { Hold(l.Link, dst) }

// Release is that of the link below.
func (l *FaultLink) Release(dst netip.Addr) { Release(l.Link, dst) }

// Pending is that of the link below.
func (l *FaultLink) Pending() bool { return Pending(l.Link) }

// WatchState is that of the link below.
func (l *FaultLink) WatchState(changed func(up bool)) { WatchState(l.Link, changed) }

// Shared is that of the link below, with the faults in what is received.
func (l *FaultLink) Shared() Shared {
	if below := SharedOf(l.Link); below != nil {
		return &sharedFault{l, below}
	}
	return nil
}

type sharedFault struct {
	link  *FaultLink
	below Shared
}

func (s *sharedFault) RecvLocked(rb *RecvBatch, mu *sync.Mutex) error {
	for {
		if err := s.below.RecvLocked(rb, mu); err != nil {
			return err
		}
		if s.harm(rb); len(rb.Frames) > 0 {
			return nil
		}
		mu.Unlock()
	}
}

func (s *sharedFault) TryRecv(rb *RecvBatch) error {
	err := s.below.TryRecv(rb)
	if len(rb.Frames) > 0 {
		s.harm(rb)
	}
	return err
}

func (s *sharedFault) harm(rb *RecvBatch) {
	if !s.link.rx.idle() {
		s.link.harm(rb)
	}
}
