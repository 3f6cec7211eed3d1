package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// Memory of a file may wait for a disk at each page: the lock is not held for all of them.
func TestAFlushThatTakesLongIsLeftToThePump(t *testing.T) {
	const queuePairs, packets = 8, 32
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, packets<<10, usualRetry, nil)
		defer closeAll(t, a, b)
		var qps []*QP
		for range queuePairs {
			q := a.newQP()
			a.connect(q, addrB, b.qp.Num(), b.psn, usualRetry)
			qps = append(qps, q)
		}
		time.Sleep(time.Second) // the device is older than flushTime
		s := a.dev.home()
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
		s.flush(a.dev.now() - flushTime - 1)
		if sent := s.count.txFrames; sent != batch {
			t.Errorf("%d packets left with the lock held, want one batch of %d", sent, batch)
		}
		s.unlock()
	})
}
