package nic

import (
	"testing"
	"testing/synctest"
	"time"
)

// Memory of a file may wait for a disk at each page: the pump does not hold the lock for all of them.
func TestThePumpReleasesTheLockWhenItTakesLong(t *testing.T) {
	const queuePairs, packets = 8, 32
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, packets<<10, usualRetry, nil)
		defer closeAll(t, a, b)
		time.Sleep(time.Second) // the device is older than pumpTime
		s := a.dev.home()
		var qps []*QP
		for len(qps) < queuePairs {
			if q := a.newQP(); q.shard == s {
				a.connect(q, addrB, b.qp.Num(), b.psn, usualRetry)
				qps = append(qps, q)
			}
		}
		s.lock()
		for _, q := range qps {
			if err := q.attr.SQ.Push(a.write(b, 1, 0, packets<<10)); err != nil {
				t.Fatal(err)
			}
			q.machine.Posted()
			s.ready(q)
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
