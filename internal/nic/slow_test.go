package nic

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/transport"
)

// readies posts a WRITE of n bytes to b on q, whose shard the caller has locked, and leaves
// sending to others.
func (e *end) readies(q *QP, b *end, n int) {
	e.t.Helper()
	if err := q.attr.SQ.Push(e.write(b, 1, 0, n)); err != nil {
		e.t.Fatal(err)
	}
	q.machine.Posted()
	q.shard.markReady(q)
}

// Memory of a file may wait for a disk at each page: the pump does not hold the lock for all
// pages.
func TestThePumpReleasesTheLockWhenItTakesLong(t *testing.T) {
	const queuePairs, packets = 8, 32
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, packets<<10, usualRetry, nil)
		defer closeAll(t, a, b)
		time.Sleep(time.Second) // the device is older than pumpTime
		s := a.dev.shard0()
		var qps []*QP
		for len(qps) < queuePairs {
			if q := a.newQP(); q.shard == s {
				a.connect(q, addrB, b.qp.Num(), b.psn, usualRetry)
				qps = append(qps, q)
			}
		}
		s.lock()
		for _, q := range qps {
			a.readies(q, b, packets<<10)
		}
		batch := uint64(qps[0].out.batch.Cap())
		// As if the first batch had taken that long.
		s.flushSome(a.dev.now()-pumpTime-1, flushBytes, true, pumpTime)
		if sent := s.count.txFrames; sent != batch {
			t.Errorf("%d packets left with the lock held, want one batch of %d", sent, batch)
		}
		s.unlock()
		synctest.Wait()
		s.lock()
		if sent := s.count.txFrames; sent < queuePairs*packets {
			t.Errorf("%d packets left in all, want %d", sent, queuePairs*packets)
		}
		s.unlock()
	})
}

// While many packets wait, the pump sends no more than its bytes, even in the middle of a turn,
// and keeps the rest of the turn for itself: the receiver takes the packets.
func TestThePumpOfACrowdedShardKeepsToItsBytes(t *testing.T) {
	oneShard(t)
	const packets, some = 64, 16 << 10
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, packets<<10, usualRetry, nil)
		defer closeAll(t, a, b)
		s, q := a.dev.shard0(), a.qp
		s.lock()
		defer s.unlock()
		a.readies(q, b, packets<<10)
		now, before := s.dev.now(), s.count.txFrames
		s.backloggedUntil = now + backlogTime
		s.flushSome(now, some, true, pumpTime)
		first := s.count.txFrames - before
		s.flushFresh(now)
		if rest := s.count.txFrames - before - first; first == 0 || first > some>>10 || rest != 0 {
			t.Errorf("the pump sent %d packets of 1 KiB, the receiver %d more; want 1 to %d and none",
				first, rest, some>>10)
		}
	})
}

// The receiver continues for a queue pair that alone has something to send, but not for longer
// than the pump would, not while many packets wait, and not with requests that all shards have to
// wait for.
func TestTheReceiverGoesOnForALoneQueuePairWithinBounds(t *testing.T) {
	oneShard(t)
	const packets = 64
	for _, tt := range []struct {
		name string
		set  func(s *shard, q *QP)
		late transport.Time
		want bool
	}{
		{name: "nothing else to do", set: func(*shard, *QP) {}, want: true},
		{name: "after the time of the pump", set: func(*shard, *QP) {}, late: pumpTime + 1},
		{name: "many packets wait", set: func(s *shard, _ *QP) { s.backloggedUntil = s.dev.now() + backlogTime }},
		{name: "many packets waited long ago",
			set: func(s *shard, _ *QP) { s.backloggedUntil = s.dev.now() }, want: true},
		{name: "requests change keys", set: func(_ *shard, q *QP) { q.mayChangeKeys = true }},
		{name: "another link has a queue pair that is ready", set: func(s *shard, _ *QP) {
			s.out = append(s.out, &outbox{})
			s.out[len(s.out)-1].spent.push(&QP{})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newPair(t, packets<<10, usualRetry, nil)
				defer closeAll(t, a, b)
				time.Sleep(time.Second) // the device is older than pumpTime
				s, q := a.dev.shard0(), a.qp
				s.lock()
				defer s.unlock()
				a.readies(q, b, packets<<10)
				q.credit = 1
				q.out.transmit(s, s.dev.now(), flushBytes, false) // ends its turn
				before, out := s.count.txFrames, s.out
				tt.set(s, q)
				s.flushFresh(s.dev.now() - tt.late)
				if sent := s.count.txFrames - before; (sent > 0) != tt.want || before == 0 {
					t.Errorf("%d packets left in the turn and %d after it; want any after it: %t",
						before, sent, tt.want)
				}
				s.out, s.backloggedUntil = out, 0
			})
		})
	}
}
