package nic

import (
	"errors"
	"net/netip"

	"github.com/gorxe/gorxe/internal/nic/admit"
)

var errSourced = errors.New(
	"the queue pair takes its work requests from a source: put them there, and ring the doorbell")

// Doorbell announces work requests in the sources of the queue pair. It fetches sends and, unless
// many are outstanding, transmits them in the caller's goroutine. Receives are fetched when
// messages arrive, or flushed now if the queue pair is in ERR.
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

const (
	// chargePerRequest is the charge for a request fetched from a source, in bytes of frames:
	// requests that need no frame, such as binds, take time too.
	chargePerRequest = 256
	// fetchedDepth is the maximum size of the send queue of a queue pair with a source: the
	// requests of one turn. If more were in the queue, all of them could be executed, or flushed,
	// without releasing the lock. The others stay in the source, whose size the program determines.
	fetchedDepth = turnBytes / chargePerRequest
)

// refill fetches send requests from the source while the send queue has space, and reports whether
// it fetched any. The lock is held.
func (q *QP) refill() (got bool) {
	sq := q.attr.SQ
	if !sq.HasSource() {
		return false
	}
	if sq.Len() == 0 {
		q.mayChangeKeys = false
	}
	n, local := q.attr.Fetch()
	q.sourceMayHaveMore = sq.Len() == sq.Depth()
	if n == 0 {
		return false
	}
	q.mayChangeKeys = q.mayChangeKeys || local
	q.credit -= n * chargePerRequest
	q.shard.fetched += n
	q.machine.Posted()
	return true
}

// mustFetch reports whether the source may have more requests that now fit into the send queue. The
// device must fetch them itself, because the program has rung the doorbell for them already.
func (q *QP) mustFetch() bool { return q.sourceMayHaveMore && q.attr.SQ.Len() < q.attr.SQ.Depth() }

// refillWithoutOutbox gives a turn to the queue pairs in noOutbox, until the charge reaches
// maxCharge bytes. They only flush the requests in their sources: they have no path, or no datagram
// that can be sent. It returns the charge in bytes. The lock is held.
func (s *shard) refillWithoutOutbox(maxCharge int) (bytes int) {
	before := s.fetched
	for n := s.noOutbox.len; n > 0 && bytes < maxCharge; n-- {
		s.markReady(s.noOutbox.pop())
		bytes = (s.fetched - before) * chargePerRequest
	}
	return bytes
}

// OnFirstPacket makes q call f once, when the first packet for q arrives, with the lock of its
// shard held: f must not wait.
func (q *QP) OnFirstPacket(f func()) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.first = f
}

// ShareReceives limits each sender to its share of the free receives of a datagram queue pair; see
// [admit.FairShare]. receives is the number of all its receives. The owner calls ReceivesRead for
// each datagram that was read.
func (q *QP) ShareReceives(receives int) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.fair = admit.NewFairShare(receives)
}

// ReceivesRead records that one datagram was read for each entry of senders, so these senders may
// send more. An address may occur several times.
func (q *QP) ReceivesRead(senders []netip.Addr) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	for _, src := range senders {
		q.fair.Read(src)
	}
}
