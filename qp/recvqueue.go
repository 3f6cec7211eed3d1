package qp

import "github.com/gorxe/gorxe/mr"

// RecvWQE is a receive work request taken from its queue.
type RecvWQE struct {
	ID     uint64
	SG     []Segment
	Length uint64 // room in all pieces together
}

// RecvQueue holds receive work requests until a message takes them, oldest first. It is the
// [RecvSource] of a queue pair that has a receive queue of its own.
type RecvQueue struct {
	pd     *mr.PD
	ring   ring[recvSlot]
	depth  int
	maxSGE int
	name   string // for people
	full   *fullError
}

type recvSlot struct {
	id     uint64
	length uint64
	sg     []SGE
}

// NewRecvQueue returns a queue for depth requests of up to maxSGE pieces, whose memory is in pd;
// numbers out of range are taken to the nearest that is in.
func NewRecvQueue(pd *mr.PD, depth, maxSGE int) *RecvQueue {
	return &RecvQueue{pd: pd, depth: min(max(depth, 0), MaxDepth), maxSGE: max(maxSGE, 0), name: "receive"}
}

// Len is how many requests are in the queue.
func (q *RecvQueue) Len() int { return q.ring.len() }

// Depth is how many requests the queue was made for.
func (q *RecvQueue) Depth() int { return q.depth }

// Push appends a copy of the request; the error tells which limit it breaks.
func (q *RecvQueue) Push(wr *RecvWR) error {
	if q.Len() >= q.depth {
		if q.full == nil {
			q.full = &fullError{q.name, q.depth}
		}
		return q.full
	}
	n, err := messageLength(q.name, wr.SGList, q.maxSGE)
	if err != nil {
		return err
	}
	if q.ring.full() {
		q.ring.grow(q.depth)
		q.shareRoom()
	}
	s := q.ring.at(q.ring.tail)
	s.id, s.length = wr.ID, n
	s.sg = room(s.sg, len(wr.SGList), q.maxSGE)
	copy(s.sg, wr.SGList)
	q.ring.tail++
	return nil
}

// Take moves the oldest request to dst, whose SG is reused, and returns false when
// there is none.
func (q *RecvQueue) Take(dst *RecvWQE) bool {
	if q.ring.len() == 0 {
		return false
	}
	s := q.ring.at(q.ring.head)
	dst.ID, dst.Length = s.id, s.length
	dst.SG = room(dst.SG, len(s.sg), q.maxSGE)
	for i, e := range s.sg {
		dst.SG[i] = Segment{Addr: e.Addr, Length: e.Length, LKey: e.LKey}
	}
	q.ring.head++
	return true
}

// PD returns the protection domain of the memory that requests name.
func (q *RecvQueue) PD() *mr.PD { return q.pd }

// Shared is false: the queue is of one queue pair.
func (q *RecvQueue) Shared() bool { return false }

// Reset removes all requests without a completion, as the RESET state demands.
func (q *RecvQueue) Reset() { q.ring.head = q.ring.tail }

// resize sets the depth, which is not below Len. A ring that is larger than the depth
// needs gives way to a smaller one.
func (q *RecvQueue) resize(depth int) {
	q.depth, q.full = depth, nil
	if q.ring.shrink(depth) {
		q.shareRoom()
	}
}

// shareRoom lets the free slots share one array for requests of one piece, which nearly all are.
func (q *RecvQueue) shareRoom() {
	if q.maxSGE == 0 {
		return
	}
	sg := make([]SGE, q.ring.free())
	for n := range sg {
		q.ring.at(q.ring.tail + uint32(n)).sg = sg[n : n : n+1]
	}
}
