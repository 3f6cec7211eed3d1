package nic

import (
	"math"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/idmap"
	"github.com/gorxe/gorxe/internal/nic/crossing"
	"github.com/gorxe/gorxe/internal/roster"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// shard is a set of queue pairs with the lock that guards all of them, and everything
// that is needed to let them transmit.
type shard struct {
	dev     *Device
	index   int
	several bool // shards of the device

	mu       mutex
	keying   mutex // the right to look keys up: see lock
	closed   bool
	qps      idmap.Map[bth.QPN, *QP]
	inOrder  roster.List[*QP] // those of qps, as they were made
	numbers  qpns
	out      []*outbox      // one for each entry of the GID table, same index; never empty
	loops    []*outbox      // likewise, for peers of the device; empty without Config.Loopback
	looped   arrival        // scratch of loop and receiveCrossed
	crossing crossing.Queue // what other shards send by loopback
	unled    readyList      // queue pairs without a way, with more in their sources to flush
	fetched  int            // requests from sources, ever
	timers   timers
	count    counters
	sums     sums
	members  map[netip.Addr][]*QP // those of the shard that are attached to a multicast group
	early    transport.EarlyPool
	shares   map[shareKey]*windowShare
	heldACKs *heldACKs
	gather   transport.Gather
	lost     lostCQs
	held     held

	crowdedUntil transport.Time // of crowded

	kick chan struct{} // wakes the pump: ready lists are not empty
}

func newShard(d *Device, index int, several bool, secret [32]byte) *shard {
	// A handle of an unknown kind leads to the first entry even of an empty table.
	nowhere := &outbox{gid: &gid{away: errAway}}
	nowhere.disconnect()
	nowhere.brings = nowhere
	return &shard{
		dev:      d,
		index:    index,
		several:  several,
		out:      []*outbox{nowhere},
		numbers:  newQPNs(secret),
		timers:   newTimers(),
		members:  make(map[netip.Addr][]*QP),
		shares:   make(map[shareKey]*windowShare),
		kick:     make(chan struct{}, 1),
		heldACKs: newHeldACKs(),
		// An observer is told of a completion with the packet that it comes of.
		gather: transport.Gather{Single: d.observer != nil},
	}
}

// ready queues q for a turn to transmit. The lock is held.
func (s *shard) ready(q *QP) {
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
	case q.fetches():
		s.unled.push(q)
	}
}

// flush lets the ready queue pairs transmit, each in its turn, and hands what is beyond
// its budget to the pump: nobody holds the lock for as long as a 2 GiB READ lasts. The
// lock is held.
func (s *shard) flush(now transport.Time) { s.flushSome(now, flushBytes, true, math.MaxInt64) }

// flushFresh is flush for after packets were received: queue pairs that have had their turn in this
// round are left to the pump, or the receiver would send for them as long as packets arrive. One for which the shard
// goes on is not: waking the pump for each acknowledgement of a stream costs more than what it sends takes from others.
func (s *shard) flushFresh(now transport.Time) { s.flushSome(now, flushBytes, false, math.MaxInt64) }

// flushSome sends up to bytes, as frames are charged, by each link: of all queue pairs, or only of the
// fresh ones and one for which the shard goes on. It begins no batch after more than most.
func (s *shard) flushSome(now transport.Time, bytes int, all bool, most transport.Time) {
	s.failUsers(now)
	for _, o := range s.out {
		for budget := bytes; budget > 0; {
			all := all || s.goesOn(o, now)
			if !o.has(all) {
				break
			}
			budget -= o.transmit(s, now, budget, all)
			if s.dev.now()-now > most {
				break
			}
		}
	}
	s.flushLoops(now, bytes, all, most)
	if all {
		s.refillUnled(bytes)
	}
	if s.unled.head != nil {
		s.wakePump()
	}
	// Datagrams move on from one outbox to another, also to one that had its turn.
	if !allEmpty(s.out, nil) || !allEmpty(s.loops, nil) {
		s.wakePump()
	}
	s.failUsers(now)
}

// goesOn reports whether the receiver sends more than a turn of a queue pair of o: of the only one that is ready, until
// as much time has passed as the pump may take, and while few packets wait.
func (s *shard) goesOn(o *outbox, now transport.Time) bool {
	return o.lone() && !s.crowded(now) && allEmpty(s.out, o) && allEmpty(s.loops, o) && s.dev.now()-now <= pumpTime
}

// crowded reports whether the last batch received was large, and not long ago: more packets wait probably.
func (s *shard) crowded(now transport.Time) bool { return now < s.crowdedUntil }

// allEmpty reports whether no queue pair of out is ready, but for those of one outbox.
func allEmpty(out []*outbox, but *outbox) bool {
	for _, o := range out {
		if o != but && !o.empty() {
			return false
		}
	}
	return true
}

// wakePump lets the pump go on where the caller stops.
func (s *shard) wakePump() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// wakeAt sees to it that q's machine gets its timeout. The lock is held.
func (s *shard) wakeAt(q *QP, now transport.Time) {
	if at, ok := q.deadline(); ok {
		s.timers.at(q, now, at)
	}
}

// expire serves the queue pairs whose deadline has come. The lock is held.
func (s *shard) expire(now transport.Time) {
	var look lookout
	for q := s.timers.due(now); q != nil; q = s.timers.due(now) {
		at, ok := q.deadline()
		if ok && at <= now {
			if !s.putOff(q, now, &look) {
				q.machine.Timeout(now)
				q.share.resume()
				s.ready(q)
			}
			at, ok = q.deadline()
		}
		if q.postponed {
			q.postponed = false
			s.ready(q)
		}
		if ok {
			// Never at now itself: this loop would not end.
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
		if s.crowded(now) {
			bytes = crowdedBytes
		}
		s.flushSome(now, bytes, true, pumpTime)
		s.unlock()
		// Who waited for the lock goes first: a received ACK is worth more than
		// another burst.
		runtime.Gosched()
	}
}

// close flushes every queue pair and ends the use of the shard.
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
		// In RESET there is nothing to flush; every other state leads to ERR.
		if q.attr.State() != qp.RESET && q.attr.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState) == nil {
			q.machine.Modified(now)
		}
		q.close()
	}
}
