package qp

// A SendSource holds send requests that another process writes, such as a ring in shared memory. The
// device calls it under the lock of the queue pair. Calls must not block, and what they return must not
// alias memory that others can change: it is checked after they return.
type SendSource interface {
	// Fetch copies the next request to wr, whose slices it may reuse, and tells whether there was one.
	Fetch(wr *SendWR) FetchStatus
	// Retire tells that the n oldest requests that were fetched are complete: their places are free
	// again. Where they leave a completion, this comes before it.
	Retire(n int)
	// Reset removes all requests without a completion, as the state RESET demands: those that were
	// fetched, and those that still wait.
	Reset()
}

// FetchStatus is what [SendSource.Fetch] found.
type FetchStatus uint8

const (
	FetchNone FetchStatus = iota // no request waits
	FetchGot                     // a request
	FetchBad                     // something that is no request: only the ID of wr holds
)

// SetSource makes the queue take its requests from src, by [QP.Fetch]. It is called before the first
// request.
func (q *SendQueue) SetSource(src SendSource) { q.source = src }

// Sourced reports whether requests come from a source: none may be pushed then by anybody else.
func (q *SendQueue) Sourced() bool { return q.source != nil }

// Retire tells the source, if there is one, that the oldest request is complete. Pop follows.
func (q *SendQueue) Retire() {
	if q.source != nil {
		q.source.Retire(1)
	}
}

// Fetch moves requests from the source of the send queue to the queue, until one of them has no more,
// and returns how many. local reports whether there are some among them that change memory keys. A
// request that cannot be carried out is moved as well, and fails when its turn comes, with
// LOC_QP_OP_ERR or, where its message is too long, LOC_LEN_ERR: no caller waits for an error. In a state
// in which nothing may be posted, nothing is fetched.
func (q *QP) Fetch() (n int, local bool) {
	sq := q.SQ
	if sq.source == nil || !q.takesSends() {
		return 0, false
	}
	for ; sq.Len() < sq.depth; n++ {
		wr := &sq.fetched
		switch sq.source.Fetch(wr) {
		case FetchNone:
			return n, local
		case FetchGot:
			if q.CheckPost(wr) == nil && sq.Push(wr) == nil {
				local = local || wr.Opcode.IsLocal()
			} else if wr.length() > MaxMessage {
				sq.refuse(wr.ID, WCLocLenErr)
			} else {
				sq.refuse(wr.ID, WCLocQPOpErr)
			}
		default:
			sq.refuse(wr.ID, WCLocQPOpErr)
		}
	}
	return n, local
}

// refuse appends a request of which only the ID is known, and that fails with status in its turn.
func (q *SendQueue) refuse(id uint64, status WCStatus) {
	if q.ring.full() {
		q.grow()
	}
	w := q.At(q.ring.tail)
	*w = SendWQE{ID: id, Opcode: WRSend, Refused: status, SG: w.SG[:0], Inline: w.Inline[:0], Local: w.Local}
	q.ring.tail++
}
