package fault

import (
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/packet"
)

// Expect calls that of the wrapped link.
func (l *Link) Expect(dst netip.Addr) { packet.Expect(l.Link, dst) }

// Hold calls that of the wrapped link.
func (l *Link) Hold(dst netip.Addr) { packet.Hold(l.Link, dst) }

// Release calls that of the wrapped link.
func (l *Link) Release(dst netip.Addr) { packet.Release(l.Link, dst) }

// Pending calls that of the wrapped link.
func (l *Link) Pending() bool { return packet.Pending(l.Link) }

// WatchState calls that of the wrapped link.
func (l *Link) WatchState(changed func(up bool)) { packet.WatchState(l.Link, changed) }

// Shared returns the wrapped link as Shared, with faults in incoming frames.
func (l *Link) Shared() packet.Shared {
	if below := packet.SharedOf(l.Link); below != nil {
		return &sharedFault{l, below}
	}
	return nil
}

type sharedFault struct {
	link  *Link
	below packet.Shared
}

func (s *sharedFault) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error {
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

func (s *sharedFault) TryRecv(rb *packet.RecvBatch) error {
	err := s.below.TryRecv(rb)
	if len(rb.Frames) > 0 {
		s.harm(rb)
	}
	return err
}

func (s *sharedFault) harm(rb *packet.RecvBatch) {
	if !s.link.rx.idle() {
		s.link.harm(rb)
	}
}
