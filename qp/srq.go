package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// SRQ is a shared receive queue: the queue pairs that were made with it take their
// receives from it, each as its messages arrive. It is their [RecvSource].
type SRQ struct {
	// Events takes SRQ_LIMIT_REACHED; it may be nil.
	Events EventSink

	queue *RecvQueue
	limit int // 0: not armed
}

// SRQAttr holds the attributes of an SRQ, as ibv_srq_attr.
type SRQAttr struct {
	MaxWR  int // receives the queue holds
	MaxSGE int // pieces of one receive; Modify does not change it
	Limit  int // 0, or the number of receives below which SRQ_LIMIT_REACHED is due
}

// SRQAttrMask names attributes of an SRQ. Values are those of ibv_srq_attr_mask.
type SRQAttrMask uint32

const (
	SRQMaxWR SRQAttrMask = 1 << 0
	SRQLimit SRQAttrMask = 1 << 1
)

// NewSRQ returns a queue for maxWR receives of up to maxSGE pieces; numbers out of range
// are taken to the nearest that is in.
func NewSRQ(pd *mr.PD, maxWR, maxSGE int) *SRQ {
	q := NewRecvQueue(pd, max(maxWR, 1), maxSGE)
	q.name = "shared receive"
	return &SRQ{queue: q}
}

// Len returns how many receives are in the queue.
func (s *SRQ) Len() int { return s.queue.Len() }

// Depth returns how many receives the queue was made for.
func (s *SRQ) Depth() int { return s.queue.Depth() }

// PD returns the protection domain of the memory that receives name (IBA 10.2.9).
func (s *SRQ) PD() *mr.PD { return s.queue.PD() }

// Shared is true.
func (s *SRQ) Shared() bool { return true }

// Reset removes all receives without a completion.
func (s *SRQ) Reset() { s.queue.Reset() }

// Query returns the attributes. Limit is 0 once the event was raised.
func (s *SRQ) Query() SRQAttr {
	return SRQAttr{MaxWR: s.queue.depth, MaxSGE: s.queue.maxSGE, Limit: s.limit}
}

// Modify changes the attributes that mask names, or with an error nothing. MaxWR resizes
// the queue, not below what it holds nor below an armed limit. Limit arms the event, as
// Linux does: it is raised once, when a message takes a receive and leaves fewer than
// Limit; 0 disarms it. Arming a limit above what the queue holds therefore raises the event
// with the next message.
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
		return fmt.Errorf("qp: modify SRQ: limit %d is out of range: it must be 0 to %d, what the queue holds", limit, depth)
	}
	if depth != s.queue.depth {
		s.queue.resize(depth)
	}
	s.limit = limit
	return nil
}

// Push appends a copy of the request; the error tells which limit it breaks.
func (s *SRQ) Push(wr *RecvWR) error { return s.queue.Push(wr) }

// Take moves the oldest receive to dst as [RecvQueue.Take] does, and raises
// SRQ_LIMIT_REACHED when that is due.
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
