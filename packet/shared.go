package packet

import "sync"

// Shared is a link from which several goroutines receive in turn with one [RecvBatch],
// protected by a mutex: one of them waits for frames, the others poll. Frames are processed in
// order as long as each goroutine processes its frames before it unlocks the mutex. [SharedOf]
// returns a link as Shared if it supports this.
type Shared interface {
	// RecvLocked is Recv for a caller that does not hold mu: it waits for frames, locks mu and
	// takes the frames. It returns with mu locked if and only if the error is nil. Only one
	// goroutine at a time may call it, always with the same rb and mu.
	RecvLocked(rb *RecvBatch, mu *sync.Mutex) error
	// TryRecv sets rb.Frames to the frames that have arrived, possibly none. It does not block. The
	// caller holds mu of RecvLocked. After Close it returns an error that wraps net.ErrClosed.
	TryRecv(rb *RecvBatch) error
}

// Sharer is a decorator that is [Shared] if the link it wraps is.
type Sharer interface {
	// Shared returns the decorated link as Shared, nil if the wrapped link is not Shared.
	Shared() Shared
}

// SharedOf returns l as Shared, nil if it is not. If l is a [Sharer], it returns l.Shared().
func SharedOf(l Link) Shared {
	if d, ok := l.(Sharer); ok {
		return d.Shared()
	}
	s, _ := l.(Shared)
	return s
}

// Shared returns the wrapped link as Shared, with the tap.
func (t *tap) Shared() Shared {
	if below := SharedOf(t.Link); below != nil {
		return &sharedTap{t, below}
	}
	return nil
}

type sharedTap struct {
	tap   *tap
	below Shared
}

func (s *sharedTap) RecvLocked(rb *RecvBatch, mu *sync.Mutex) error {
	if err := s.below.RecvLocked(rb, mu); err != nil {
		return err
	}
	s.tap.observeAll(rb)
	return nil
}

func (s *sharedTap) TryRecv(rb *RecvBatch) error {
	if err := s.below.TryRecv(rb); err != nil {
		return err
	}
	s.tap.observeAll(rb)
	return nil
}
