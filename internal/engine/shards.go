package engine

import (
	"math/rand/v2"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// MaxShards is how many shards a device has at most: a look at all of it takes all their locks.
const MaxShards = 64

// home is the shard of queue pair 1, of datagrams with their groups, and of all that shares a receive queue, and of those
// queues. What is guarded by any shard's lock is read with home's.
func (d *Device) home() *shard { return d.shards[0] }

// shardOf is the shard of the queue pair with the given number, if there is one.
func (d *Device) shardOf(n bth.QPN) *shard {
	if n == bth.GSI {
		return d.home()
	}
	return d.shards[int(n)%len(d.shards)]
}

// shardFor chooses the shard of a new queue pair: home, or one that is drawn if any will do. The
// draw does not depend on the queue pairs there are: a rule that balances them shows a peer, by the
// shards of its own queue pairs, where those of others are. See SECURITY.md.
func (d *Device) shardFor(init *QPInit) *shard {
	if len(d.shards) == 1 || init.SRQ != nil || init.Type == qp.UD || init.Type == qp.GSI {
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

func (s *shard) unlock() {
	if s.several {
		s.keying.Unlock()
	}
	s.mu.Unlock()
}

// alone calls f, which may change keys, while no other shard looks them up. The shard's lock is held, and no payload is
// borrowed. The keys may be others before f and after it.
func (s *shard) alone(f func()) {
	if !s.several {
		f()
		return
	}
	s.keying.Unlock()
	for _, o := range s.dev.shards {
		o.keying.Lock()
	}
	f()
	for _, o := range s.dev.shards {
		if o != s {
			o.keying.Unlock()
		}
	}
}
