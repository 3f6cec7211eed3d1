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

// SharedOf returns what l, or the link that decorators of this package stand around, can do as Shared, with what the
// decorators do; nil where it cannot.
func SharedOf(l Link) Shared {
	switch l := l.(type) {
	case *tap:
		if below := SharedOf(l.Link); below != nil {
			return &sharedTap{l, below}
		}
		return nil
	case *FaultLink:
		if below := SharedOf(l.Link); below != nil {
			return &sharedFault{l, below}
		}
		return nil
	}
	s, _ := l.(Shared)
	return s
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
