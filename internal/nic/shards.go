package nic

import (
	"math/rand/v2"
	"net/netip"
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
// one that is drawn if any will do. Queue pairs that share a source of receives call it under the lock of
// one shard, that of their client.
func (d *Device) shardFor(init *QPInit) *shard {
	switch {
	case init.SRQ != nil:
		return init.SRQ.shard
	case init.Type == qp.GSI:
		return d.home()
	case init.Type == qp.UD, init.Receives != nil && init.Receives.Shared():
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

// lockAll takes the lock of every shard: no machine runs, no packet is dealt with and none is being
// sent. While it waits for one whose memory stalls, the others go on.
func (d *Device) lockAll() {
	if !d.home().several {
		d.home().mu.Lock()
		return
	}
	for {
		n := 0
		for n < len(d.shards) && d.shards[n].mu.lockWithin(dataPatience) {
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

// lockSoon is lock, and true, unless memory of the shard stalls.
func (s *shard) lockSoon() bool {
	if !s.mu.lockWithin(dataPatience) {
		return false
	}
	if s.several {
		s.keying.Lock() // nobody holds it for long without mu
	}
	return true
}

func (s *shard) unlock() {
	if s.several {
		s.keying.Unlock()
	}
	s.mu.Unlock()
}

// alone calls f, which may change keys, while no other shard looks them up, and returns true. Where
// the memory of another shard stalls it returns false instead. The shard's lock is held, and no
// payload to be sent is borrowed. The keys may be others before f and after it.
func (s *shard) alone(f func()) bool {
	s.gather.Settle()
	d := s.dev
	if !s.several {
		d.changing.Lock()
		f()
		d.changing.Unlock()
		return true
	}
	s.keying.Unlock()
	n := 0
	for n < len(d.shards) && d.shards[n].keying.lockWithin(dataPatience) {
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

// Client is a user of a device: its datagram queue pairs with their multicasts, and its shared receive
// queues with their queue pairs, are in one shard, so that only clients of the same shard wait for them.
type Client struct{ shard *shard }

// NewClient returns a client with a shard that is drawn at random. It needs no end.
func (d *Device) NewClient() *Client { return &Client{d.drawShard()} }

// shardOfClient is the client's shard; that of nil is home.
func (d *Device) shardOfClient(c *Client) *shard {
	if c == nil {
		return d.home()
	}
	return c.shard
}

// A receiver meets packets for queue pairs of other shards: where a link has one receive queue, and in trains that
// the kernel steers by their first packet. It would wait for the locks of those shards, so only packets that
// their queue pairs take get that far, and datagrams, of which anybody may send some, do not wait at all.

// senders holds the permitted sender of each queue pair, for receivers without the lock of its shard. It is empty
// on a device with one shard.
type senders struct {
	mu sync.RWMutex
	of map[bth.QPN]sender // guarded by mu
}

// sender is the peer of a queue pair (the zero Addr while it has none), or any host.
type sender struct {
	addr    netip.Addr
	anybody bool
}

// set records the permitted sender of a queue pair.
func (n *senders) set(q bth.QPN, s sender) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[bth.QPN]sender{}
	}
	n.of[q] = s
}

// remove forgets a queue pair that ends.
func (n *senders) remove(q bth.QPN) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.of, q)
}

// get returns the permitted sender of a queue pair; ok is false if no queue pair has the number.
func (n *senders) get(q bth.QPN) (s sender, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	s, ok = n.of[q]
	return s, ok
}

// stray notes the shard of a packet for another one than the receiver's, and reports whether to go on with the
// packet. What its queue pair would drop is counted here.
func (in *inbox) stray(a *arrival) bool {
	if !in.shard.several || in.group != nil {
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

const maxHeld = 64

// held are datagrams for a shard whose lock was taken when they came. A goroutine that lives as long as there are some
// gives them to their queue pairs.
type held struct {
	mu      sync.Mutex // guards the rest; taken with the lock of the shard held, or without
	list    []heldDatagram
	running bool
}

// heldDatagram is a datagram with a copy of its payload.
type heldDatagram struct {
	arrival
	link    int // index of the GID table
	payload []byte
}

// holdDatagrams keeps those of good that are for s, as far as there is room, and returns how many there was none for.
func (in *inbox) holdDatagrams(s *shard, good []arrival) (dropped uint64) {
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	d := s.dev
	for i := range good {
		a := &good[i]
		if d.shardOf(a.packet.DestQP) != s {
			continue
		}
		if len(h.list) == maxHeld {
			dropped++
			continue
		}
		if cap(h.list) == 0 {
			h.list = make([]heldDatagram, 0, maxHeld)
		}
		h.list = h.list[:len(h.list)+1]
		k := &h.list[len(h.list)-1]
		k.arrival, k.link = *a, in.index
		k.payload = append(k.payload[:0], a.packet.Payload...)
		k.packet.Payload = k.payload
	}
	if !h.running && len(h.list) > 0 {
		h.running = true
		d.running.Go(s.deliverHeld)
	}
	return dropped
}

// deliverHeld gives the datagrams that are held to their queue pairs, until there are none.
func (s *shard) deliverHeld() {
	for {
		s.lock()
		if !s.receiveHeld() {
			s.unlock()
			return
		}
		s.unlock()
	}
}

// receiveHeld is one round of deliverHeld, with the lock held. It is false when there was nothing left.
func (s *shard) receiveHeld() bool {
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.list) == 0 || s.closed {
		h.list, h.running = h.list[:0], false
		return false
	}
	now := s.dev.now()
	for i := range h.list {
		k := &h.list[i]
		s.receive(now, s.out[k.link], &k.arrival)
	}
	h.list = h.list[:0]
	s.gather.Settle()
	s.flushFresh(now)
	return true
}
