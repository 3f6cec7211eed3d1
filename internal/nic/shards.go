package nic

import (
	"math/rand/v2"
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// MaxShards is the maximum number of shards of a device: some calls take the locks of all of
// them.
const MaxShards = 64

// shard0 returns the shard of queue pair 1 and of the datagram queue pairs and shared receive
// queues without a user. State that may be read with the lock of any shard is read with that of
// shard 0.
func (d *Device) shard0() *shard { return d.shards[0] }

// shardOf returns the shard to which the queue pair with the given number belongs, if it exists.
func (d *Device) shardOf(n bth.QPN) *shard {
	if n == bth.GSI {
		return d.shard0()
	}
	return d.shards[int(n)%len(d.shards)]
}

// shardFor chooses the shard of a new queue pair: the shard of its shared receive queue or its
// user, otherwise a random one. Queue pairs that share a source of receives must be in one shard,
// the one of their user, because its lock guards the source.
func (d *Device) shardFor(init *QPInit) *shard {
	switch {
	case init.SRQ != nil:
		return init.SRQ.shard
	case init.Type == qp.GSI:
		return d.shard0()
	case init.Type == qp.UD, init.Receives != nil && init.Receives.Shared():
		return d.shardOfUser(init.User)
	}
	return d.drawShard()
}

// drawShard returns a random shard, independent of the existing queue pairs. Any rule that balances
// the n shards would reveal the shard of a queue pair, all log2(n) bits of it, to a client that
// creates queue pairs before and after that queue pair is created. If the rule chose a shard with
// the fewest queue pairs, a client with equally many in each shard would create n - 1 more; the
// shard that gets none of them has the other client's queue pair. If the rule chose the better of
// two random shards, the client would find the shard with a probability of 98 % by 16 connections
// for n = 2, and of 99 % by 64 connections for n = 8. The price of the random draw is balance: N
// busy connections occupy n(1 - (1 - 1/n)^N) shards on average: of 8 shards, 5.25 for N = 8 and 7.9
// for N = 32. See SECURITY.md.
func (d *Device) drawShard() *shard {
	if len(d.shards) == 1 {
		return d.shard0()
	}
	return d.shards[d.shardDraw.next(len(d.shards))]
}

// draw returns random numbers that cannot be predicted without the secret. It is safe for
// concurrent use.
type draw struct {
	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

func newDraw(secret [32]byte) draw { return draw{random: rand.New(rand.NewChaCha8(secret))} }

// next returns a uniformly distributed number in [0, n).
func (d *draw) next(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// lockAll takes the lock of every shard: no machine runs, no packet is processed and none is being
// sent. If the memory of a shard stalls, it waits for that shard without holding the locks of the
// others.
func (d *Device) lockAll() {
	if !d.shard0().multi {
		d.shard0().mu.Lock()
		return
	}
	for {
		n := 0
		for n < len(d.shards) && d.shards[n].mu.lockWithin(dataLockTimeout) {
			n++
		}
		if n == len(d.shards) {
			return
		}
		for _, s := range d.shards[:n] {
			s.mu.Unlock()
		}
		d.shards[n].mu.await()
	}
}

func (d *Device) unlockAll() {
	for _, s := range d.shards {
		s.mu.Unlock()
	}
}

// lock takes the shard's lock and its keying, the right to look keys up.
func (s *shard) lock() {
	s.mu.Lock()
	if s.multi {
		s.keying.Lock()
	}
}

// tryLock is lock without waiting: it returns false if one of the locks is taken.
func (s *shard) tryLock() bool {
	if !s.mu.TryLock() {
		return false
	}
	if s.multi && !s.keying.TryLock() {
		s.mu.Unlock()
		return false
	}
	return true
}

// lockWithTimeout is lock with the time limit dataLockTimeout: it returns false if memory of the
// shard stalls.
func (s *shard) lockWithTimeout() bool {
	if !s.mu.lockWithin(dataLockTimeout) {
		return false
	}
	if s.multi {
		s.keying.Lock() // held for long only together with mu, or by shard.withKeysExclusive
	}
	return true
}

func (s *shard) unlock() {
	if s.multi {
		s.keying.Unlock()
	}
	s.mu.Unlock()
}

// withKeysExclusive calls f, which may change keys, while no other shard looks keys up, and returns
// true. If the memory of another shard stalls, it returns false without calling f. The shard's lock
// is held, and no payload that is still to be sent is borrowed. Keys looked up before
// withKeysExclusive are stale after it.
func (s *shard) withKeysExclusive(f func()) bool {
	s.storeBatch.Settle()
	d := s.dev
	if !s.multi {
		d.changing.Lock()
		f()
		d.changing.Unlock()
		return true
	}
	s.keying.Unlock()
	n := 0
	for n < len(d.shards) && d.shards[n].keying.lockWithin(dataLockTimeout) {
		n++
	}
	all := n == len(d.shards)
	if all {
		d.changing.Lock()
		f()
		d.changing.Unlock()
	}
	for _, o := range d.shards[:n] {
		if o != s {
			o.keying.Unlock()
		}
	}
	if s.index >= n {
		s.keying.Lock()
	}
	return all
}

// User is a user of a device: in package verbs, a Context. Its datagram queue pairs with their
// multicasts, and its shared receive queues with their queue pairs, are in one shard, so they can
// delay only users of the same shard.
type User struct{ shard *shard }

// NewUser returns a user with a random shard. It need not be closed.
func (d *Device) NewUser() *User { return &User{d.drawShard()} }

// shardOfUser returns the user's shard, shard 0 for nil.
func (d *Device) shardOfUser(u *User) *shard {
	if u == nil {
		return d.shard0()
	}
	return u.shard
}

// A receiver gets packets for queue pairs of other shards if its link has a single receive queue,
// and in trains, which the kernel steers by their first packet. It waits for the locks of those
// shards only for packets from the peer of their queue pair; for datagrams, which any host may
// send, it tries the lock without waiting.

// senders holds the permitted sender of each queue pair, for receivers that do not hold the lock
// of its shard. It is empty on a device with one shard.
type senders struct {
	mu sync.RWMutex
	of map[bth.QPN]sender // guarded by mu
}

// sender is the address of a queue pair's peer (the zero Addr if it has none), or any host.
type sender struct {
	addr    netip.Addr
	anybody bool
}

// set sets the permitted sender of a queue pair.
func (n *senders) set(q bth.QPN, s sender) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[bth.QPN]sender{}
	}
	n.of[q] = s
}

// remove removes a closed queue pair.
func (n *senders) remove(q bth.QPN) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.of, q)
}

// get returns the permitted sender of a queue pair; ok is false if there is no such queue pair.
func (n *senders) get(q bth.QPN) (s sender, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	s, ok = n.of[q]
	return s, ok
}

// admit reports whether to process the packet. If the packet is for another shard, it records this
// shard in strays or datagrams; if the queue pair there would drop the packet, it counts the packet
// as dropped and returns false.
func (in *inbox) admit(a *arrival) bool {
	if !in.shard.multi || in.group != nil {
		return true
	}
	d := in.shard.dev
	s := d.shardOf(a.packet.DestQP)
	if s == in.shard {
		return true
	}
	switch from, ok := d.senders.get(a.packet.DestQP); {
	case !ok:
		in.count.drops[dropUnknownQPN]++
		return false
	case from.anybody:
		in.datagrams |= 1 << s.index
	case from.addr != a.src:
		in.count.drops[dropStranger]++
		return false
	default:
		in.strays |= 1 << s.index
	}
	return true
}

// maxDeferred is the maximum number of datagrams in a deferredQueue.
const maxDeferred = 64

// deferredQueue is a queue of datagrams for a shard whose lock was taken when they arrived. While
// it is not empty, a goroutine passes them to their queue pairs.
type deferredQueue struct {
	mu      sync.Mutex // guards list and running
	list    []deferredDatagram
	running bool               // deliverDeferred runs
	spare   []deferredDatagram // list of the round before, guarded by the shard's lock
}

// deferredDatagram is a datagram with a copy of its payload.
type deferredDatagram struct {
	arrival
	link    int // index in the GID table
	payload []byte
}

// deferDatagrams queues the datagrams of good that are for s, as far as there is space, and
// returns the number of those dropped.
func (in *inbox) deferDatagrams(s *shard, good []arrival) (dropped uint64) {
	h := &s.deferred
	h.mu.Lock()
	defer h.mu.Unlock()
	d := s.dev
	for i := range good {
		a := &good[i]
		if d.shardOf(a.packet.DestQP) != s {
			continue
		}
		if len(h.list) == maxDeferred {
			dropped++
			continue
		}
		if cap(h.list) == 0 {
			h.list = make([]deferredDatagram, 0, maxDeferred)
		}
		h.list = h.list[:len(h.list)+1]
		k := &h.list[len(h.list)-1]
		k.arrival, k.link = *a, in.index
		k.payload = append(k.payload[:0], a.packet.Payload...)
		k.packet.Payload = k.payload
	}
	if !h.running && len(h.list) > 0 {
		h.running = true
		d.running.Go(s.deliverDeferred)
	}
	return dropped
}

// deliverDeferred passes the datagrams in s.deferred to their queue pairs until there are none.
func (s *shard) deliverDeferred() {
	for {
		s.lock()
		if !s.receiveDeferred() {
			s.unlock()
			return
		}
		s.unlock()
	}
}

// receiveDeferred is one round of deliverDeferred: it passes on the datagrams that are in
// s.deferred now, and returns false if there are none. The shard's lock is held.
func (s *shard) receiveDeferred() bool {
	list := s.takeDeferred()
	if len(list) == 0 {
		return false
	}
	now := s.dev.now()
	for i := range list {
		k := &list[i]
		s.receive(now, s.out[k.link], &k.arrival)
	}
	s.deferred.spare = list[:0]
	s.storeBatch.Settle()
	s.flushFresh(now)
	return true
}

// takeDeferred empties the queue of datagrams and returns its contents, nil if the shard is closed.
// Receivers can queue others while these are processed, which may take as long as the memory of a
// program stalls.
func (s *shard) takeDeferred() []deferredDatagram {
	h := &s.deferred
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) == 0 || s.closed {
		h.list, h.running = h.list[:0], false
		return nil
	}
	list := h.list
	h.list = h.spare[:0]
	return list
}
