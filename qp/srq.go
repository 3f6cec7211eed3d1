package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// SRQ is a shared receive queue, the [RecvSource] of the queue pairs that were created with it.
type SRQ struct {
	// Events receives SRQ_LIMIT_REACHED; it may be nil.
	Events EventSink

	queue *RecvQueue
	limit int // 0 while not armed
}

// SRQAttr holds the attributes of an SRQ. It is ibv_srq_attr.
type SRQAttr struct {
	MaxWR  int // capacity in receives
	MaxSGE int // maximum number of SGEs of a receive; Modify ignores it
	Limit  int // SRQ_LIMIT_REACHED is raised below this number of receives; 0 disarms it
}

// SRQAttrMask is a set of SRQ attributes. The values are those of ibv_srq_attr_mask.
type SRQAttrMask uint32

const (
	SRQMaxWR SRQAttrMask = 1 << 0
	SRQLimit SRQAttrMask = 1 << 1
)

// NewSRQ returns a queue for maxWR receives of up to maxSGE SGEs in memory of pd. Values out of
// range are set to the nearest limit.
func NewSRQ(pd *mr.PD, maxWR, maxSGE int) *SRQ {
	q := NewRecvQueue(pd, max(maxWR, 1), maxSGE)
	q.name = "shared receive"
	return &SRQ{queue: q}
}

// Len returns the number of receives in the queue.
func (s *SRQ) Len() int { return s.queue.Len() }

// Depth returns the capacity in receives.
func (s *SRQ) Depth() int { return s.queue.Depth() }

// PD returns the protection domain of the receives' memory (IBA 10.2.9).
func (s *SRQ) PD() *mr.PD { return s.queue.PD() }

// Shared returns true.
func (s *SRQ) Shared() bool { return true }

// Reset removes all receives and generates no completions.
func (s *SRQ) Reset() { s.queue.Reset() }

// Query returns the attributes. Limit is 0 after the event was raised.
func (s *SRQ) Query() SRQAttr {
	return SRQAttr{MaxWR: s.queue.depth, MaxSGE: s.queue.maxSGE, Limit: s.limit}
}

// Modify changes the attributes that mask selects. On error it changes nothing. MaxWR resizes the
// queue, but not below the number of receives in it or an armed limit. Limit arms the event
// SRQ_LIMIT_REACHED, as in Linux: it is raised once, when a message takes a receive and leaves
// fewer than Limit; 0 disarms it. Arming a limit above the number of receives therefore raises the
// event with the next message.
func (s *SRQ) Modify(a SRQAttr, mask SRQAttrMask) error {
	depth, limit := s.queue.depth, s.limit
	if unknown := mask &^ (SRQMaxWR | SRQLimit); unknown != 0 {
		return fmt.Errorf("qp: modify SRQ: unknown attributes %#x; clear them", uint32(unknown))
	}
	if mask&SRQMaxWR != 0 {
		depth = a.MaxWR
	}
	if mask&SRQLimit != 0 {
		limit = a.Limit
	}
	switch {
	case depth < 1 || depth > MaxDepth:
		return fmt.Errorf("qp: modify SRQ: MaxWR %d is out of range: it must be 1 to %d", depth, MaxDepth)
	case depth < s.Len():
		return fmt.Errorf("qp: modify SRQ: MaxWR %d is less than the %d receives in the queue", depth, s.Len())
	case limit < 0 || limit > depth:
		return fmt.Errorf("qp: modify SRQ: limit %d is out of range: it must be 0 to %d, the depth of the queue",
			limit, depth)
	}
	if depth != s.queue.depth {
		s.queue.resize(depth)
	}
	s.limit = limit
	return nil
}

// Push appends a copy of the request. It fails if the request exceeds a limit of the queue.
func (s *SRQ) Push(wr *RecvWR) error { return s.queue.Push(wr) }

// Take moves the oldest receive to dst as [RecvQueue.Take] does. It raises SRQ_LIMIT_REACHED if
// fewer receives than the armed limit remain.
func (s *SRQ) Take(dst *RecvWQE) bool {
	if !s.queue.Take(dst) {
		return false
	}
	if s.Len() < s.limit {
		s.limit = 0
		if s.Events != nil {
			s.Events.Event(EventSRQLimitReached)
		}
	}
	return true
}
