package admit

import "net/netip"

// FairShare decides which datagrams a queue pair accepts when it is short of receives. While fewer
// than half of the receives are in use, it accepts datagrams of any sender. Beyond that, it accepts
// a datagram only if its sender has fewer unread datagrams than that half divided by the number of
// senders with unread datagrams, or none. So a sender that sends faster than its datagrams are read
// loses its own datagrams, not those of others. FairShare is not safe for concurrent use.
type FairShare struct {
	half   int                // half of the receives, at least 1
	unread int                // datagrams accepted and not read yet
	of     map[netip.Addr]int // unread datagrams by sender; no entry is 0
}

// NewFairShare returns a FairShare of the given number of receives.
func NewFairShare(receives int) *FairShare {
	return &FairShare{half: max(receives/2, 1), of: map[netip.Addr]int{}}
}

// Admits reports whether to accept another datagram of src.
func (s *FairShare) Admits(src netip.Addr) bool {
	if s.unread < s.half {
		return true
	}
	return s.of[src] < max(s.half/len(s.of), 1)
}

// Take counts an accepted datagram of src.
func (s *FairShare) Take(src netip.Addr) {
	s.unread++
	s.of[src]++
}

// Read counts a datagram of src that was read.
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
