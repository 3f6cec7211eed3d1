package uverbs

import "time"

// guardInterval is the time between two looks at the files of contexts. It bounds how much a program can store in a
// file before the context ends, and so for how long a hole that it punches delays an access to its rings, under a
// lock that queue pairs of others need: by some tenths of a second, as long as that takes to store.
const guardInterval = 100 * time.Millisecond

// guard looks at the files of contexts while there are some of which the user is known, and ends those whose programs
// take memory out of their rings. Where all programs are of one user they harm only that one.
func (s *Server) guard(tick <-chan time.Time) {
	for range tick {
		if !s.guardOnce() {
			return
		}
	}
}

// guardOnce reports whether there are contexts to look at.
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

// startGuard starts guard if it does not run. The lock is held.
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
