package nic

import (
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet/pipe"
)

// Early packets are kept in memory of the shard, which gets it back with the queue pair.
func TestKeptPacketsGoBackToTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		lent := func() int {
			synctest.Wait()
			s := v.qp.shard
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.early.Lent()
		}
		for ahead := range uint32(3) {
			p := v.valid()
			p.MigReq, p.PSN = true, peerPSN.Add(1+ahead)
			v.peer.sendSealed(addrA, p.Append(nil))
		}
		if n := lent(); n != 3 {
			t.Errorf("%d packets are kept, want 3", n)
		}
		v.qp.Close()
		if n := lent(); n != 0 {
			t.Errorf("%d packets are kept for a queue pair that is closed", n)
		}
	})
}
