package nic

import (
	"math/rand/v2"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// MaxShards is how many shards a device has at most: a look at all of it takes all their locks.
const MaxShards = 64

// home is the shard of queue pair 1, and of the datagram queue pairs and shared receive queues of no
// client. What is guarded by any shard's lock is read with home's.
func (d *Device) home() *shard { return d.shards[0] }

// shardOf is the shard of the queue pair with the given number, if there is one.
func (d *Device) shardOf(n bth.QPN) *shard {
	if n == bth.GSI {
		return d.home()
	}
	return d.shards[int(n)%len(d.shards)]
}

// shardFor chooses the shard of a new queue pair: that of its shared receive queue or its client, or
// one that is drawn if any will do.
func (d *Device) shardFor(init *QPInit) *shard {
	switch {
	case init.SRQ != nil:
		return init.SRQ.shard
	case init.Type == qp.GSI:
		return d.home()
	case init.Type == qp.UD:
		return d.shardOfClient(init.Client)
	}
	return d.drawShard()
}

// drawShard returns a shard. The draw does not depend on the queue pairs there are: a rule that
// balances them shows a peer, by the shards of its own queue pairs, where those of others are. See
// SECURITY.md.
func (d *Device) drawShard() *shard {
	if len(d.shards) == 1 {
		return d.home()
	}
	return d.shards[d.shardDraw.next(len(d.shards))]
}

// draw gives random numbers that nobody predicts without the secret. It is safe for concurrent use.
type draw struct {
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

func newDraw(secret [32]byte) draw { return draw{random: rand.New(rand.NewChaCha8(secret))} }

// next returns a number below n, each with the same probability.
func (d *draw) next(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// lockAll takes the lock of every shard: no machine runs, no packet is dealt with and none is being sent.
func (d *Device) lockAll() {
	for _, s := range d.shards {
		s.mu.Lock()
	}
}

func (d *Device) unlockAll() {
	for _, s := range d.shards {
		s.mu.Unlock()
	}
}

// lock takes the shard's lock, and with it the right to look keys up.
func (s *shard) lock() {
	s.mu.Lock()
	if s.several {
		s.keying.Lock()
	}
}

// tryLock is lock where that need not wait.
func (s *shard) tryLock() bool {
	if !s.mu.TryLock() {
		return false
	}
	if s.several && !s.keying.TryLock() {
		s.mu.Unlock()
		return false
	}
	return true
}

func (s *shard) unlock() {
	if s.several {
		s.keying.Unlock()
	}
	s.mu.Unlock()
}

// alone calls f, which may change keys, while no other shard looks them up. The shard's lock is held, and no payload to
// be sent is borrowed. The keys may be others before f and after it.
func (s *shard) alone(f func()) {
	s.gather.Settle()
	d := s.dev
	if !s.several {
		d.changing.Lock()
		f()
		d.changing.Unlock()
		return
	}
	s.keying.Unlock()
	for _, o := range d.shards {
		o.keying.Lock()
	}
	d.changing.Lock()
	f()
	d.changing.Unlock()
	for _, o := range d.shards {
		if o != s {
			o.keying.Unlock()
		}
	}
}
