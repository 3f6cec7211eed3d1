package packet

import "sync"

// Shared is a link that several goroutines receive from in turn with one [RecvBatch], which a mutex guards: one waits, others
// look in between whether something has come. What they take is in order as long as each deals with the frames before it
// lets go of the mutex. [SharedOf] tells which links can.
type Shared interface {
	// RecvLocked is Recv that waits without mu and takes what comes with mu held. It returns with mu held if there is no
	// error, and only then. One goroutine calls it at a time; rb and mu are always the same.
	RecvLocked(rb *RecvBatch, mu *sync.Mutex) error
	// TryRecv fills rb.Frames with what has come, which may be nothing. It does not wait. The caller holds the mutex.
	// After Close it returns an error that is net.ErrClosed.
	TryRecv(rb *RecvBatch) error
}

// Sharer is a decorator. Whether it can do what [Shared] says depends on the link that it wraps.
type Sharer interface {
	// Shared returns what the decorated link can do as Shared, nil where it cannot.
	Shared() Shared
}

// SharedOf returns what l can do as Shared, with what decorators do if it is a [Sharer]; nil where it cannot.
func SharedOf(l Link) Shared {
	if d, ok := l.(Sharer); ok {
		return d.Shared()
	}
	s, _ := l.(Shared)
	return s
}

// Shared is that of the link below, with what the tap sees.
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
	s.tap.seeAll(rb)
	return nil
}

func (s *sharedTap) TryRecv(rb *RecvBatch) error {
	if err := s.below.TryRecv(rb); err != nil {
		return err
	}
	s.tap.seeAll(rb)
	return nil
}
