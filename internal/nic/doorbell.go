package nic

import (
	"errors"

	"github.com/gorxe/gorxe/qp"
)

var errSourced = errors.New("the queue pair takes its work requests from a source: put them there, and ring the doorbell")

// Doorbell announces work requests in the sources of the queue pair. It fetches sends and transmits
// them in the caller's goroutine unless many are outstanding. Receives are taken when messages arrive,
// or flushed now if the queue pair is in ERR.
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

// flushRounds bounds the send queues full of requests that one call of refill flushes. What the source
// holds beyond that is flushed when its doorbell rings.
const flushRounds = 4

// refill fetches sends while the send queue has room, and reports whether there were any. The lock is
// held.
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

// OnFirstPacket has f called once, when the first packet comes for q, with the lock of its shard held: f must not wait.
func (q *QP) OnFirstPacket(f func()) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.first = f
}
