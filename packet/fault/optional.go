package fault

import (
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/packet"
)

// ResolveSoon calls ResolveSoon of the wrapped link.
func (l *Link) ResolveSoon(dst netip.Addr) { packet.ResolveSoon(l.Link, dst) }

// Hold calls Hold of the wrapped link.
func (l *Link) Hold(dst netip.Addr) { packet.Hold(l.Link, dst) }

// Release calls Release of the wrapped link.
func (l *Link) Release(dst netip.Addr) { packet.Release(l.Link, dst) }

// Pending calls Pending of the wrapped link.
func (l *Link) Pending() bool { return packet.Pending(l.Link) }

// WatchState calls WatchState of the wrapped link.
func (l *Link) WatchState(changed func(up bool)) { packet.WatchState(l.Link, changed) }

// Shared returns the [packet.Shared] of the wrapped link, with faults in incoming frames; nil if it
// has none.
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
		if s.injectRx(rb); len(rb.Frames) > 0 {
			return nil
		}
		mu.Unlock()
	}
}

func (s *sharedFault) TryRecv(rb *packet.RecvBatch) error {
	err := s.below.TryRecv(rb)
	if len(rb.Frames) > 0 {
		s.injectRx(rb)
	}
	return err
}

func (s *sharedFault) injectRx(rb *packet.RecvBatch) {
	if !s.link.rx.idle() {
		s.link.injectRx(rb)
	}
}
