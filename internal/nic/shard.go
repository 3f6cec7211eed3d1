package nic

import (
	"math"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/idmap"
	"github.com/gorxe/gorxe/internal/nic/crossing"
	"github.com/gorxe/gorxe/internal/ordered"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// shard is a set of queue pairs with the lock that guards all of them, and the state needed to
// transmit for them.
type shard struct {
	dev   *Device
	index int
	multi bool // the device has more than one shard

	mu          mutex
	keying      mutex // held to look keys up: see lock
	closed      bool
	qps         idmap.Map[bth.QPN, *QP]
	inOrder     ordered.List[*QP] // the queue pairs in qps in order of creation
	qpns        qpns
	out         []*outbox      // outbox of each entry of the GID table, same index; never empty
	loops       []*outbox      // loopback outbox of each entry; empty without Config.Loopback
	loopScratch arrival        // scratch of deliverLocally and receiveCrossed
	crossing    crossing.Queue // frames from other shards by loopback
	noOutbox    readyList      // queue pairs without an outbox whose sources have requests to flush
	fetched     int            // requests fetched from sources so far
	timers      timers
	count       counters
	sums        sums
	members     map[netip.Addr][]*QP      // queue pairs of the shard by the multicast groups they are attached to
	early       transport.EarlyPool       // shared by the machines of RC queue pairs
	shares      map[shareKey]*windowShare // windows that several queue pairs share; only those that a queue pair uses
	heldACKs    *heldACKs
	storeBatch  transport.StoreBatch // shared by the machines
	lost        lostCQs
	deferred    deferredQueue // datagrams from receivers of other shards

	backloggedUntil transport.Time // end of the time during which backlogged returns true

	kick chan struct{} // wakes the pump: queue pairs are ready
}

func newShard(d *Device, index int, several bool, secret [32]byte) *shard {
	// An address handle of an unknown kind refers to entry 0, even of an empty table.
	nowhere := &outbox{gid: &gid{errAbsent: errAbsent}}
	nowhere.disconnect()
	nowhere.rxFrom = nowhere
	return &shard{
		dev:      d,
		index:    index,
		multi:    several,
		out:      []*outbox{nowhere},
		qpns:     newQPNs(secret),
		timers:   newTimers(),
		members:  make(map[netip.Addr][]*QP),
		shares:   make(map[shareKey]*windowShare),
		kick:     make(chan struct{}, 1),
		heldACKs: newHeldACKs(),
		// An Observer is told of a completion during the packet that causes it.
		storeBatch: transport.StoreBatch{PerMessage: d.observer != nil},
	}
}

// markReady queues q for a turn to transmit. The lock is held.
func (s *shard) markReady(q *QP) {
	q.refill()
	if q.list != nil {
		return
	}
	leads := q.out != nil
	if q.dgram != nil {
		var link int
		if link, leads = q.dgram.Link(); leads {
			q.out = s.out[link]
		}
	}
	switch {
	case leads:
		q.out.push(q)
	case q.mustFetch():
		s.noOutbox.push(q)
	}
}

// flush lets the ready queue pairs transmit in turn, up to a budget, and leaves the rest to the
// pump, so that no goroutine holds the lock for the duration of a 2 GiB READ. The lock is held.
func (s *shard) flush(now transport.Time) { s.flushSome(now, flushBytes, true, math.MaxInt64) }

// flushFresh is flush after packets were received. Queue pairs that have had their turn in this
// round are left to the pump; otherwise the receiver would transmit for them as long as packets
// arrive. The exception is a queue pair for which continuesTurn is true: waking the pump for each
// acknowledgement of a stream costs more than what the stream's transmissions take from other queue
// pairs.
func (s *shard) flushFresh(now transport.Time) { s.flushSome(now, flushBytes, false, math.MaxInt64) }

// flushSome transmits for the ready queue pairs, for all or only for the fresh ones and one for
// which continuesTurn is true, up to a charge of bytes by each outbox. It begins no batch after the
// duration maxTime.
func (s *shard) flushSome(now transport.Time, bytes int, all bool, maxTime transport.Time) {
	s.failUsers(now)
	for _, o := range s.out {
		for budget := bytes; budget > 0; {
			all := all || s.continuesTurn(o, now)
			if !o.has(all) {
				break
			}
			budget -= o.transmit(s, now, budget, all)
			if s.dev.now()-now > maxTime {
				break
			}
		}
	}
	s.flushLoops(now, bytes, all, maxTime)
	if all {
		s.refillWithoutOutbox(bytes)
	}
	if s.noOutbox.head != nil {
		s.wakePump()
	}
	// A datagram queue pair moves from one outbox to another, possibly to one that had its turn.
	if !allEmpty(s.out, nil) || !allEmpty(s.loops, nil) {
		s.wakePump()
	}
	s.failUsers(now)
}

// continuesTurn reports whether the receiver may transmit more than one turn of o's queue pair:
// only if it is the only queue pair ready, for at most pumpTime, and while few packets wait to be
// received.
func (s *shard) continuesTurn(o *outbox, now transport.Time) bool {
	return o.single() && !s.backlogged(now) && allEmpty(s.out, o) && allEmpty(s.loops, o) && s.dev.now()-now <= pumpTime
}

// backlogged reports whether the last received batch was large and recent, so more packets are
// probably waiting.
func (s *shard) backlogged(now transport.Time) bool { return now < s.backloggedUntil }

// allEmpty reports whether no queue pair of out is ready, except those of the outbox but.
func allEmpty(out []*outbox, but *outbox) bool {
	for _, o := range out {
		if o != but && !o.empty() {
			return false
		}
	}
	return true
}

// wakePump lets the pump continue where the caller stops.
func (s *shard) wakePump() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// wakeAt registers the timeout of q's machine. The lock is held.
func (s *shard) wakeAt(q *QP, now transport.Time) {
	if at, ok := q.deadline(); ok {
		s.timers.at(q, now, at)
	}
}

// expire serves the queue pairs whose deadline has passed. The lock is held.
func (s *shard) expire(now transport.Time) {
	var cache behindCache
	for q := s.timers.due(now); q != nil; q = s.timers.due(now) {
		at, ok := q.deadline()
		if ok && at <= now {
			if !s.putOff(q, now, &cache) {
				q.machine.Timeout(now)
				q.share.resume()
				s.markReady(q)
			}
			at, ok = q.deadline()
		}
		if q.postponed {
			q.postponed = false
			s.markReady(q)
		}
		if ok {
			// Later than now: otherwise this loop would not end.
			s.timers.at(q, now, max(at, now+1))
		}
	}
	s.timers.rearm(now)
}

// pump runs until the device is closed.
func (s *shard) pump() {
	for {
		select {
		case <-s.dev.done:
			s.timers.runtime.Stop()
			s.heldACKs.timer.Stop()
			return
		case <-s.timers.runtime.C:
		case <-s.heldACKs.timer.C:
		case <-s.kick:
		}
		s.lock()
		s.sendOverdueACKs()
		s.receiveCrossed()
		now := s.dev.now()
		s.expire(now)
		bytes := flushBytes
		if s.backlogged(now) {
			bytes = backlogFlushBytes
		}
		s.flushSome(now, bytes, true, pumpTime)
		s.unlock()
		// Goroutines that waited for the lock go first: a received ACK is processed before more is
		// sent.
		runtime.Gosched()
	}
}

// close flushes and closes every queue pair and marks the shard as closed.
func (s *shard) close() {
	s.lock()
	defer s.unlock()
	s.closed = true
	now := s.dev.now()
	open := make([]*QP, 0, s.qps.Len())
	for _, q := range s.qps.All {
		open = append(open, q)
	}
	for _, q := range open {
		// In RESET there is nothing to flush; from every other state a change to ERR is allowed.
		if q.attr.State() != qp.RESET && q.attr.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState) == nil {
			q.machine.Modified(now)
		}
		q.close()
	}
}
