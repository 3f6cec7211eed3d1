package qp

// A SendSource provides send requests that another process posts, for example to a ring in
// shared memory. The device calls it under the lock of the queue pair. Calls must not block.
// Results must not alias memory that others can change, because the device checks them after
// the call.
type SendSource interface {
	// Fetch copies the next request to wr, reusing the slices of wr.
	Fetch(wr *SendWR) FetchStatus
	// Retire reports that the n oldest fetched requests are complete and frees their places. It
	// is called before the completion of a request is generated.
	Retire(n int)
	// Reset removes all requests, fetched or not, and generates no completions, as the RESET state
	// requires.
	Reset()
}

// FetchStatus is the result of [SendSource.Fetch].
type FetchStatus uint8

const (
	FetchNone FetchStatus = iota // no request available
	FetchGot                     // wr holds a request
	FetchBad                     // malformed request: only the ID of wr is valid
)

// SetSource makes the queue take its requests from src, by [QP.Fetch]. It must be called before
// the first request.
func (q *SendQueue) SetSource(src SendSource) { q.source = src }

// HasSource reports whether requests come from a source: the program must then not call Push.
func (q *SendQueue) HasSource() bool { return q.source != nil }

// Retire reports the completion of the oldest request to the source, if there is one. The caller
// calls Pop next.
func (q *SendQueue) Retire() {
	if q.source != nil {
		q.source.Retire(1)
	}
}

// Fetch moves requests from the source of the send queue to the queue, until the queue is full
// or the source has no more, and returns their number. local reports whether any of them
// changes memory keys. An invalid request is queued too and fails when its turn comes, with
// LOC_LEN_ERR if its message is too long, otherwise with LOC_QP_OP_ERR, because there is no
// caller to return an error to. In a state in which nothing can be posted, Fetch does nothing.
func (q *QP) Fetch() (n int, local bool) {
	sq := q.SQ
	if sq.source == nil || !q.canPostSend() {
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
				sq.pushFailed(wr.ID, WCLocLenErr)
			} else {
				sq.pushFailed(wr.ID, WCLocQPOpErr)
			}
		default:
			sq.pushFailed(wr.ID, WCLocQPOpErr)
		}
	}
	return n, local
}

// pushFailed appends a request of which only the ID is known. It fails with status when its turn
// comes.
func (q *SendQueue) pushFailed(id uint64, status WCStatus) {
	if q.ring.full() {
		q.grow()
	}
	w := q.At(q.ring.tail)
	*w = SendWQE{ID: id, Opcode: WRSend, FailStatus: status, SG: w.SG[:0], Inline: w.Inline[:0], Local: w.Local}
	q.ring.tail++
}
