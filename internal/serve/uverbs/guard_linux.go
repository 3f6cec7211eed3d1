package uverbs

import "time"

// guardInterval is the interval in which guard checks the files of contexts. It limits how much a
// program can store in a file before the context ends, and so how long a hole that it punches
// delays an access to its rings, under a lock that queue pairs of other programs need: some
// tenths of a second.
const guardInterval = 100 * time.Millisecond

// guard checks the files of contexts with a known user, while there are any, and ends the
// contexts whose programs remove memory from their rings. If all programs belong to one user,
// they harm only that user.
func (s *Server) guard(tick <-chan time.Time) {
	for range tick {
		if !s.guardOnce() {
			return
		}
	}
}

// guardOnce reports whether there are contexts to check.
func (s *Server) guardOnce() bool {
	for _, c := range s.open() {
		if c.account.user.key != nil && c.file.Intact() != nil {
			go c.Close() // the program is hostile
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.contexts {
		if c.account.user.key != nil {
			return true
		}
	}
	s.guarded = false
	return false
}

// startGuard starts guard if it is not running. The caller holds the lock.
func (s *Server) startGuard() {
	if s.guarded {
		return
	}
	s.guarded = true
	t := time.NewTicker(guardInterval)
	go func() {
		defer t.Stop()
		s.guard(t.C)
	}()
}
