package engine

import (
	"errors"

	"github.com/gorxe/gorxe/qp"
)

var errSourced = errors.New("the queue pair takes its work requests from a source: put them there, and ring the doorbell")

// Doorbell tells that there are work requests in the sources of the queue pair. Sends are fetched and,
// unless many are outstanding, sent in the caller; receives are taken when messages come, and flushed
// now if the queue pair has failed.
func (q *QP) Doorbell() error {
	q.shard.lock()
	defer q.shard.unlock()
	if err := q.usable(); err != nil {
		return err
	}
	busy := q.attr.SQ.Len() >= pipelined
	q.machine.Posted()
	q.begin(busy)
	return nil
}

// flushRounds is how often a full queue of requests is fetched and flushed at a time. A source that
// holds still more is looked at again when its doorbell rings.
const flushRounds = 4

// refill fetches sends as far as the send queue has room, which requests that have completed may have
// made, and reports whether there were any. The lock is held.
func (q *QP) refill() (got bool) {
	if !q.attr.SQ.Sourced() {
		return false
	}
	for range flushRounds {
		if q.attr.SQ.Len() == 0 {
			q.rekeys = false
		}
		n, local := q.attr.Fetch()
		if n == 0 {
			return got
		}
		got = true
		q.rekeys = q.rekeys || local
		q.machine.Posted()
		if state := q.attr.State(); state == qp.RTS || state == qp.SQD {
			return true
		}
	}
	return got
}
