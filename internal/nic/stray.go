package nic

import (
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/bth"
)

// A receiver meets packets for queue pairs of other shards: where a link has one receive queue, and in trains that
// the kernel steers by their first packet. It would wait for the locks of those shards, so only packets that
// their queue pairs take get that far, and datagrams, of which anybody may send some, do not wait at all.

// senders says who may send to a queue pair, for receivers that do not hold the lock of its shard. A device with one
// shard needs none.
type senders struct {
	mu sync.RWMutex
	of map[bth.QPN]sender // guarded by mu
}

// sender is the peer of a queue pair, the zero Addr while it has none, or anybody.
type sender struct {
	addr    netip.Addr
	anybody bool
}

// set says who may send to a queue pair.
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

// get returns who may send to a queue pair; ok is false if there is none of that number.
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
