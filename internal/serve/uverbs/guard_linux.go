package uverbs

import "time"

// guardInterval is the interval in which guard checks the files of contexts. A program that punches
// holes into its file delays accesses to its rings, under a lock that queue pairs of other programs
// need; the delay grows with the amount of data in the file. The interval limits the data that a
// program can store before its context ends, and so the delay to some tenths of a second.
const guardInterval = 100 * time.Millisecond

// guard checks the files of contexts with a known user, while there are such contexts, and ends
// those whose programs remove memory from their rings. Other contexts are not checked: their
// programs belong to one user and can harm only that user.
func (s *Server) guard(tick <-chan time.Time) {
	for range tick {
		if !s.guardOnce() {
			return
		}
	}
}

// guardOnce checks each file once and reports whether there are still contexts to check.
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
