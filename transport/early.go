package transport

import (
	"math/bits"

	"github.com/gorxe/gorxe/bth"
)

// This file keeps early request packets, whose PSN is ahead of the expected one. The IBA lets a
// responder drop them and wait for go-back-N (IBA 9.7.4.1.2). Keeping them is invisible on the
// wire, except that fewer packets are sent again: they are executed in PSN order, and acknowledged
// only after that.

// EarlyPool lends the memory in which responders keep request packets that arrive ahead of the
// expected PSN. Queue pairs that share a pool share its limits: when the gaps of one peer fill
// it, early packets of the others are dropped too, and their requesters send them again. All of
// them must be driven by one goroutine at a time.
type EarlyPool struct {
	free  *earlyPacket // list of free packets
	spare int          // length of free
	lent  int          // packets that are lent, 0 to earlyLimit
	rings []earlyRing  // rings that no responder uses
}

// earlyRing is a ring and its bitmap, as in the fields ring and used of early.
type earlyRing struct {
	ring []*earlyPacket
	used []uint64
}

const (
	// earlyPayload is the maximum payload of a kept packet in bytes: the largest path MTU.
	earlyPayload = 4096
	// earlyLimit is the maximum number of packets that a pool lends, 19 MiB in all.
	earlyLimit = 4096
	// earlyShare is the maximum number of packets of one queue pair once half of the pool is
	// lent, so that queue pairs with many leave room for others.
	earlyShare = 64
	// earlySpare is the maximum number of free packets that a pool retains, 2.4 MiB: at 1 % loss,
	// hundreds are kept at once.
	earlySpare = 512
	// earlyRings is the maximum number of free rings that a pool retains, each of 18 KiB with the
	// default window.
	earlyRings = 4
)

// earlyPacket is an early request packet with a copy of its payload.
type earlyPacket struct {
	packet  bth.Packet
	next    *earlyPacket // in the list of free packets
	payload [earlyPayload]byte
}

// Lent returns the number of packets that all users of the pool keep at the moment.
func (l *EarlyPool) Lent() int { return l.lent }

// take lends the memory of a packet, or returns nil if earlyLimit packets are lent.
func (l *EarlyPool) take() *earlyPacket {
	if l.lent == earlyLimit {
		return nil
	}
	l.lent++
	e := l.free
	if e == nil {
		return new(earlyPacket)
	}
	l.free, e.next = e.next, nil
	l.spare--
	return e
}

// give returns e to the pool.
func (l *EarlyPool) give(e *earlyPacket) {
	l.lent--
	if l.spare < earlySpare {
		e.next, l.free = l.free, e
		l.spare++
	}
}

// takeRing lends an empty ring with slots for span PSNs, and the bitmap of its used slots.
func (l *EarlyPool) takeRing(span uint32) (ring []*earlyPacket, used []uint64) {
	size := max(64, 1<<bits.Len32(span-1))
	for i, r := range l.rings {
		if len(r.ring) == size {
			last := len(l.rings) - 1
			l.rings[i], l.rings[last] = l.rings[last], earlyRing{}
			l.rings = l.rings[:last]
			return r.ring, r.used
		}
	}
	return make([]*earlyPacket, size), make([]uint64, size/64)
}

// giveRing returns an empty ring to the pool.
func (l *EarlyPool) giveRing(ring []*earlyPacket, used []uint64) {
	if len(l.rings) < earlyRings {
		l.rings = append(l.rings, earlyRing{ring, used})
	}
}

// early is the set of requests that a responder keeps, by PSN. A connection without a gap holds
// no memory of the pool. When the pool is used up, packets are dropped as if early packets were
// never kept (counters early_kept and early_dropped).
//
// The cost of a packet does not depend on what the peer sends: each has one slot, and the next
// one in PSN order is found by scanning a bitmap, 64 slots at a time.
type early struct {
	pool         *EarlyPool
	ring         []*earlyPacket // by PSN modulo the length, a power of two; nil if empty
	used         []uint64       // bitmap of the used slots
	kept         int            // packets in ring
	invalidating int            // SENDs with invalidate among them
}

// earlySpan is the maximum distance in PSNs of a kept packet from the expected PSN.
const earlySpan = 2 * earlyLimit

// keep stores a copy of p and reports whether it did: not if a packet with its PSN is kept already
// or if there is no room. The PSN of p is less than span ahead of the expected one, and span is at
// most earlySpan. The copy is necessary because the payload of a received packet is borrowed.
func (e *early) keep(p *bth.Packet, span uint32) bool {
	if e.pool == nil {
		e.pool = new(EarlyPool)
	}
	if e.ring == nil {
		e.ring, e.used = e.pool.takeRing(span)
	}
	at := e.slot(p.PSN)
	if k := e.ring[at]; k != nil {
		if k.packet.PSN == p.PSN {
			return false
		}
		e.give(at) // an old one: the responder has advanced past its PSN
		if e.ring == nil {
			e.ring, e.used = e.pool.takeRing(span)
		}
	}
	var k *earlyPacket
	if e.pool.lent < earlyLimit/2 || e.kept < earlyShare {
		k = e.pool.take()
	}
	if k == nil {
		e.releaseRing()
		return false
	}
	k.packet = *p
	k.packet.Payload = k.payload[:copy(k.payload[:], p.Payload)]
	e.ring[at] = k
	e.used[at/64] |= 1 << (at % 64)
	e.kept++
	if invalidates(&k.packet) {
		e.invalidating++
	}
	return true
}

// slot returns the slot of psn.
func (e *early) slot(psn bth.PSN) int { return int(uint32(psn)) & (len(e.ring) - 1) }

// next returns the kept packet with the lowest PSN from psn on, or, if there is none, the first of
// those before psn. It returns nil if no packet is kept.
func (e *early) next(psn bth.PSN) *earlyPacket {
	if e.kept == 0 {
		return nil
	}
	at := e.slot(psn)
	word := at / 64
	set := e.used[word] &^ (1<<(at%64) - 1)
	for set == 0 {
		word = (word + 1) % len(e.used)
		set = e.used[word]
	}
	return e.ring[word*64+bits.TrailingZeros64(set)]
}

// remove removes k from e and returns it to the pool, unless clear has done so.
func (e *early) remove(k *earlyPacket) {
	if e.kept > 0 && e.ring[e.slot(k.packet.PSN)] == k {
		e.give(e.slot(k.packet.PSN))
	}
}

// give removes the packet in slot at and returns it to the pool. If no packet is left, the ring
// returns to the pool too.
func (e *early) give(at int) {
	k := e.ring[at]
	e.ring[at] = nil
	e.used[at/64] &^= 1 << (at % 64)
	e.kept--
	if invalidates(&k.packet) {
		e.invalidating--
	}
	e.pool.give(k)
	e.releaseRing()
}

// releaseRing returns the ring to the pool if nothing is kept.
func (e *early) releaseRing() {
	if e.kept == 0 && e.ring != nil {
		e.pool.giveRing(e.ring, e.used)
		e.ring, e.used = nil, nil
	}
}

// clear returns all packets to the pool.
func (e *early) clear() {
	for word := 0; e.kept > 0; word++ {
		for set := e.used[word]; set != 0; set &= set - 1 {
			e.give(word*64 + bits.TrailingZeros64(set))
		}
	}
}

// ShareEarly makes c keep early packets in the memory of pool. It must be called before the first
// packet; without it, c has a pool of its own.
func (c *RC) ShareEarly(pool *EarlyPool) { c.rsp.early.pool = pool }

// Close leaves the share and returns all memory that c has been lent. No other method may be
// called after it.
func (c *RC) Close() {
	c.Join(nil)
	c.rsp.early.clear()
}

// Invalidates reports whether Receive of p would invalidate a key. If other queue pairs may look up
// keys concurrently, the caller calls it immediately before Receive, and stops them first if it
// returns true.
//
// It returns true only for packets that Receive will execute, with a key that their sender may
// invalidate. Otherwise a peer could stop the other queue pairs with packets of any kind.
func (c *RC) Invalidates(p *bth.Packet) bool {
	r := &c.rsp
	if !c.mayReceive() || r.reply.kind == replyError || p.PSN != r.expected {
		return false
	}
	if info := p.Opcode.Info(); invalidates(p) && c.mayInvalidate(p) && c.inOrder(p, info) {
		if !info.Starts() || c.qp.Recv.Len() > 0 {
			return true
		}
		// Another process may post a receive between this call and Receive; Receive must not find
		// that receive.
		r.noReceive = true
		return false
	}
	return r.early.invalidating > 0 && c.earlyInvalidates(p)
}

// earlyInvalidates reports whether one of the kept packets that follow p without a gap invalidates
// a key. Execution stops at the first FLUSH, p included, for which there is no resource: a resource
// becomes free only when a response is sent.
func (c *RC) earlyInvalidates(p *bth.Packet) bool {
	reads := &c.rsp.resources
	slots := -1 // free resources for FLUSHes; counted at the first FLUSH
	for psn := p.PSN; ; {
		if p.Opcode.Info().Op == bth.OpFlush {
			if slots < 0 {
				slots = reads.free(&reads.flushes, flushSlots)
			}
			if slots == 0 {
				return false
			}
			slots--
		}
		psn = psn.Add(c.span(p))
		k := c.rsp.early.next(psn)
		if k == nil || k.packet.PSN != psn {
			return false
		}
		if p = &k.packet; invalidates(p) && c.mayInvalidate(p) {
			return true
		}
	}
}

// mayInvalidate reports whether the sender of p may invalidate the key in p.
func (c *RC) mayInvalidate(p *bth.Packet) bool {
	return c.keys.WouldInvalidateRemote(c.qp.PD, uint32(c.qp.Num), p.InvalidateRKey)
}

// span returns the number of PSNs that a request packet uses: one, or for a READ as many as its
// response has packets (IBA 9.4.4).
func (c *RC) span(p *bth.Packet) uint32 {
	if p.Opcode.Info().Op == bth.OpReadRequest {
		return packets(uint64(p.RETH.DMALen), c.mtu)
	}
	return 1
}

// invalidates reports whether p is the last packet of a SEND with invalidate, the only one with an
// IETH.
func invalidates(p *bth.Packet) bool { return p.Opcode.Info().Headers&bth.HasIETH != 0 }

// receiveEarly processes a request whose PSN is ahead of the expected one: an earlier packet is
// missing (IBA 9.7.4.1.2). It requests the missing packet and keeps p, up to two windows ahead,
// which is as far as a requester of this package sends during a repair. The IBA permits a responder
// to drop p, as Linux rxe does; the requester then sends p again.
//
// A requester of Linux rxe sends everything again in any case, so none of its packets is kept. The
// same holds for packets that follow a message without a receive, because all of them are sent
// again after the RNR NAK.
func (c *RC) receiveEarly(p *bth.Packet) Verdict {
	r := &c.rsp
	c.count.OutOfSequence++
	c.requestMissing()
	// Within span, no two PSNs have the same slot of the ring. span also limits the memory that a
	// peer can occupy by sending far ahead.
	span := min(2*c.maxWindow, earlySpan)
	near := distance(r.expected, p.PSN) < span
	switch {
	// These packets arrive again in any case.
	case c.peer == peerRxe || r.nak == nakUnready:
	case near && len(p.Payload) <= int(c.mtu) && r.early.keep(p, span):
		c.count.EarlyKept++
	default:
		c.count.EarlyDropped++
	}
	return OutOfSequence
}

// executeEarly executes kept packets in PSN order up to the next gap and requests the missing
// packet at once. One acknowledgement covers all of them. A packet that cannot be executed is
// answered as if it had just arrived, and the packets behind it are dropped: the requester sends
// them again.
func (c *RC) executeEarly() {
	// The StoreBatch borrows the payload of kept packets, whose memory goes back to the pool.
	defer c.storeBatch.Settle()
	r := &c.rsp
	for k := r.early.next(r.expected); k != nil; k = r.early.next(r.expected) {
		d := k.packet.PSN.Diff(r.expected)
		if d > 0 {
			c.requestMissing()
			return
		}
		v := Accepted
		if d == 0 {
			// An ACK is due even if the kept packets have no AckReq. The requester waits for the
			// ACK of the repaired packet, and a later PSN in this ACK shows that the packets behind
			// it were kept.
			k.packet.AckReq = true
			v = c.perform(&k.packet, k.packet.Opcode.Info())
		}
		r.early.remove(k)
		switch v {
		case Accepted:
		case OutOfSequence: // a FLUSH without a resource: treated as lost, and requested
			return
		default:
			r.early.clear()
			return
		}
	}
}
