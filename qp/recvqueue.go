package qp

import "github.com/gorxe/gorxe/mr"

// RecvWQE is a receive work request that was taken from a queue.
type RecvWQE struct {
	ID     uint64
	SG     []Segment
	Length uint64 // total length of SG in bytes
}

// RecvQueue holds receive work requests in FIFO order until messages consume them. It is the
// [RecvSource] of a queue pair without an SRQ.
type RecvQueue struct {
	pd     *mr.PD
	ring   ring[recvSlot]
	depth  int
	maxSGE int
	name   string // for error messages
	full   *fullError
}

type recvSlot struct {
	id     uint64
	length uint64
	sg     []SGE
}

// NewRecvQueue returns a queue for depth requests of up to maxSGE SGEs in memory of pd. Values
// out of range are set to the nearest limit.
func NewRecvQueue(pd *mr.PD, depth, maxSGE int) *RecvQueue {
	return &RecvQueue{pd: pd, depth: min(max(depth, 0), MaxDepth), maxSGE: max(maxSGE, 0), name: "receive"}
}

// Len returns the number of requests in the queue.
func (q *RecvQueue) Len() int { return q.ring.len() }

// Depth returns the capacity in requests.
func (q *RecvQueue) Depth() int { return q.depth }

// Push appends a copy of the request. It fails if the request exceeds a limit of the queue.
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
		q.allocSGEs()
	}
	s := q.ring.at(q.ring.tail)
	s.id, s.length = wr.ID, n
	s.sg = withLen(s.sg, len(wr.SGList), q.maxSGE)
	copy(s.sg, wr.SGList)
	q.ring.tail++
	return nil
}

// Take moves the oldest request to dst, reusing dst.SG. It returns false if the queue is empty.
func (q *RecvQueue) Take(dst *RecvWQE) bool {
	if q.ring.len() == 0 {
		return false
	}
	s := q.ring.at(q.ring.head)
	dst.ID, dst.Length = s.id, s.length
	dst.SG = withLen(dst.SG, len(s.sg), q.maxSGE)
	for i, e := range s.sg {
		dst.SG[i] = Segment{Addr: e.Addr, Length: e.Length, LKey: e.LKey}
	}
	q.ring.head++
	return true
}

// PD returns the protection domain of the requests' memory.
func (q *RecvQueue) PD() *mr.PD { return q.pd }

// Shared returns false: only one queue pair uses the queue.
func (q *RecvQueue) Shared() bool { return false }

// Reset removes all requests and generates no completions, as the RESET state requires.
func (q *RecvQueue) Reset() { q.ring.head = q.ring.tail }

// resize sets the depth, which must not be less than Len. It shrinks the ring to that depth.
func (q *RecvQueue) resize(depth int) {
	q.depth, q.full = depth, nil
	if q.ring.shrink(depth) {
		q.allocSGEs()
	}
}

// allocSGEs allocates one array for the first SGE of all free slots, as nearly all requests
// have one SGE.
func (q *RecvQueue) allocSGEs() {
	if q.maxSGE == 0 {
		return
	}
	sg := make([]SGE, q.ring.free())
	for n := range sg {
		q.ring.at(q.ring.tail + uint32(n)).sg = sg[n : n : n+1]
	}
}
