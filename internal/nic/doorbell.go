package nic

import (
	"errors"
	"net/netip"

	"github.com/gorxe/gorxe/internal/nic/admit"
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

const (
	// fetchCharge is what a request is charged that is fetched from a source, in bytes of frames: requests that need
	// no frame, as binds do, take time as well.
	fetchCharge = 256
	// fetchedDepth is how many requests of a source wait in the send queue at most, which is one turn of them: more
	// would be executed, or flushed, without releasing the lock. The others stay in the source, which the program
	// has made as long as it likes.
	fetchedDepth = turnBytes / fetchCharge
)

// refill fetches sends while the send queue has room, and reports whether there were any. The lock is
// held.
func (q *QP) refill() (got bool) {
	sq := q.attr.SQ
	if !sq.Sourced() {
		return false
	}
	if sq.Len() == 0 {
		q.rekeys = false
	}
	n, local := q.attr.Fetch()
	q.unfetched = sq.Len() == sq.Depth()
	if n == 0 {
		return false
	}
	q.rekeys = q.rekeys || local
	q.credit -= n * fetchCharge
	q.shard.fetched += n
	q.machine.Posted()
	return true
}

// fetches reports whether the source may have more requests, for which there is room now: no doorbell will ring for
// them.
func (q *QP) fetches() bool { return q.unfetched && q.attr.SQ.Len() < q.attr.SQ.Depth() }

// refillUnled gives the queue pairs a turn that only flush what their sources hold: they have no way, or no datagram
// that would leave by one. It returns the charge in bytes. The lock is held.
func (s *shard) refillUnled(most int) (bytes int) {
	before := s.fetched
	for n := s.unled.len; n > 0 && bytes < most; n-- {
		s.ready(s.unled.pop())
		bytes = (s.fetched - before) * fetchCharge
	}
	return bytes
}

// OnFirstPacket has f called once, when the first packet comes for q, with the lock of its shard held: f must not wait.
func (q *QP) OnFirstPacket(f func()) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.first = f
}

// ShareReceives lets each sender have at most half of the free receives of a datagram queue pair, which has
// that many of them. The owner says with ReceivesRead when they are free again.
func (q *QP) ShareReceives(receives int) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.fair = admit.NewFairShare(receives)
}

// ReceivesRead says that a datagram of each of the senders has been read, so that they may send as many more.
func (q *QP) ReceivesRead(senders []netip.Addr) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	for _, src := range senders {
		q.fair.Read(src)
	}
}
