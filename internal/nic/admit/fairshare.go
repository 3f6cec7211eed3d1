package admit

import "net/netip"

// FairShare decides which datagrams a queue pair accepts when it is short of receives. Half of
// the receives are open to any sender. Beyond that, a sender may have its share, that half
// divided by the number of senders, unread. So a sender that sends more than is read loses its
// own datagrams and not those of others. It is not safe for concurrent use.
type FairShare struct {
	half   int
	unread int                // datagrams accepted and not read yet
	of     map[netip.Addr]int // unread datagrams by sender; no entry is 0
}

// NewFairShare returns a FairShare of the given number of receives.
func NewFairShare(receives int) *FairShare {
	return &FairShare{half: max(receives/2, 1), of: map[netip.Addr]int{}}
}

// Admits reports whether the sender may have one more unread datagram.
func (s *FairShare) Admits(src netip.Addr) bool {
	if s.unread < s.half {
		return true
	}
	return s.of[src] < max(s.half/len(s.of), 1)
}

// Take counts an accepted datagram of the sender.
func (s *FairShare) Take(src netip.Addr) {
	s.unread++
	s.of[src]++
}

// Read counts a datagram of the sender that was read.
func (s *FairShare) Read(src netip.Addr) {
	n := s.of[src]
	if n == 0 {
		return
	}
	s.unread--
	if s.of[src] = n - 1; n == 1 {
		delete(s.of, src)
	}
}
