package respond

import (
	"fmt"
	"net/netip"
	"sync"
)

// shares divides the memory of all sessions between the hosts of the clients. A request of a host
// is granted as long as at most half of the total is in use. Beyond that, a host may have
// total/2/n, where n is the number of hosts that have memory, itself included; but the first
// request of a host that has none is granted as long as there is memory. One host therefore cannot
// exclude others. Its methods are called under locks of the data path, and acquire only mu.
type shares struct {
	total uint64

	mu    sync.Mutex
	used  uint64                // guarded by mu
	hosts map[netip.Addr]uint64 // part of used per host, without zero entries; guarded by mu
}

// acquire allocates n bytes for a host, or returns why it cannot.
func (s *shares) acquire(host netip.Addr, n uint64) error {
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
		return fmt.Errorf("the host has %d bytes of memory in use, its share beside %d others, and needs %d more",
			has, hosts-1, n)
	}
	s.used += n
	s.hosts[host] = has + n
	return nil
}

// release returns n bytes of a host.
func (s *shares) release(host netip.Addr, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.hosts[host] -= n; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
}

// inUse returns the number of allocated bytes.
func (s *shares) inUse() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
