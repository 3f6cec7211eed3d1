package respond

import (
	"fmt"
	"net/netip"
	"sync"
)

// shares is the memory of all sessions. Half of it is for the hosts that come first. Of the other
// half each host that has memory gets an equal share, which is so much smaller the more hosts there
// are; one that has none gets a piece. So no host keeps others out. It is asked under locks of the
// data path, and takes none but its own.
type shares struct {
	total uint64

	mu    sync.Mutex
	used  uint64                // guarded by mu
	hosts map[netip.Addr]uint64 // of used, none of 0; guarded by mu
}

// take gives n bytes to a host, or says why it gets none.
func (s *shares) take(host netip.Addr, n uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	has := s.hosts[host]
	free, hosts := s.total/2, uint64(len(s.hosts))
	if has == 0 {
		hosts++
	}
	switch {
	case s.used+n > s.total:
		return fmt.Errorf("%d of %d bytes of memory are in use, and %d more are needed", s.used, s.total, n)
	case s.used+n > free && has > 0 && has+n > free/hosts:
		return fmt.Errorf("the host has %d bytes of memory in use, its share beside %d others, and needs %d more", has, hosts-1, n)
	}
	s.used += n
	s.hosts[host] = has + n
	return nil
}

// give takes n bytes back from a host.
func (s *shares) give(host netip.Addr, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.hosts[host] -= n; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
}

// inUse is how much is taken.
func (s *shares) inUse() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
