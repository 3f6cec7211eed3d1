package transport

import (
	"math/bits"

	"github.com/gorxe/gorxe/bth"
)

// EarlyPool lends the memory in which responders keep request packets that come before
// their turn. The queue pairs that share one share its bounds: a peer that fills it gets what
// it lost by going back, and so do the others until its gaps close. All of them must be
// driven by one goroutine at a time.
type EarlyPool struct {
	free  *earlyPacket
	spare int // how many are in free
	lent  int
	rings []earlyRing // that nobody has now
}

type earlyRing struct {
	ring []*earlyPacket
	here []uint64
}

const (
	// earlyPayload is the longest payload of a packet that is kept: the largest path MTU.
	earlyPayload = 4096
	// earlyLimit is how many packets a pool lends, 19 MiB in all.
	earlyLimit = 4096
	// earlyShare is how many of them a queue pair may have when half is lent: some with many leave room for others.
	earlyShare = 64
	// earlySpare is how many it holds on to for the next gap, 2.4 MiB: at 1 % loss hundreds are kept at once.
	earlySpare = 512
	// earlyRings is how many rings it holds on to, of 18 KiB each with the default window.
	earlyRings = 4
)

// earlyPacket is a request packet that came before its turn, with a copy of its payload.
type earlyPacket struct {
	packet  bth.Packet
	next    *earlyPacket
	payload [earlyPayload]byte
}

// Lent is how many packets are kept at the moment, by all that share the pool.
func (l *EarlyPool) Lent() int { return l.lent }

// take lends room for a packet, nil where too much is lent.
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

// give takes e back.
func (l *EarlyPool) give(e *earlyPacket) {
	l.lent--
	if l.spare < earlySpare {
		e.next, l.free = l.free, e
		l.spare++
	}
}

// takeRing lends an empty ring with places for span PSNs.
func (l *EarlyPool) takeRing(span uint32) ([]*earlyPacket, []uint64) {
	size := max(64, 1<<bits.Len32(span-1))
	for i, r := range l.rings {
		if len(r.ring) == size {
			last := len(l.rings) - 1
			l.rings[i], l.rings[last] = l.rings[last], earlyRing{}
			l.rings = l.rings[:last]
			return r.ring, r.here
		}
	}
	return make([]*earlyPacket, size), make([]uint64, size/64)
}

// giveRing takes an empty ring back.
func (l *EarlyPool) giveRing(ring []*earlyPacket, here []uint64) {
	if len(l.rings) < earlyRings {
		l.rings = append(l.rings, earlyRing{ring, here})
	}
}

// early is what a responder keeps, by PSN. It is empty while nothing is missing.
//
// Whatever a peer sends, a packet takes the same short time: it has one place, and the next one
// in PSN order is found by looking at 64 places at a time.
type early struct {
	pool         *EarlyPool
	ring         []*earlyPacket // a power of two; a packet's place is its PSN modulo that. nil while none is kept
	here         []uint64       // a bit for each place of ring that is taken
	kept         int
	invalidating int // SENDs with invalidate among them
}

// earlySpan is how far ahead of the expected PSN a packet is kept at most, in PSNs.
const earlySpan = 2 * earlyLimit

// keep stores a copy of p, unless one with its PSN is there already or there is no room. All PSNs that
// are kept and still ahead lie less than span apart, which is earlySpan at most.
func (e *early) keep(p *bth.Packet, span uint32) bool {
	if e.pool == nil {
		e.pool = new(EarlyPool)
	}
	if e.ring == nil {
		e.ring, e.here = e.pool.takeRing(span)
	}
	at := e.place(p.PSN)
	if k := e.ring[at]; k != nil {
		if k.packet.PSN == p.PSN {
			return false
		}
		e.give(at) // the responder went past it without it
		if e.ring == nil {
			e.ring, e.here = e.pool.takeRing(span)
		}
	}
	var k *earlyPacket
	if e.pool.lent < earlyLimit/2 || e.kept < earlyShare {
		k = e.pool.take()
	}
	if k == nil {
		e.rest()
		return false
	}
	k.packet = *p
	k.packet.Payload = k.payload[:copy(k.payload[:], p.Payload)]
	e.ring[at] = k
	e.here[at/64] |= 1 << (at % 64)
	e.kept++
	if invalidates(&k.packet) {
		e.invalidating++
	}
	return true
}

func (e *early) place(psn bth.PSN) int { return int(uint32(psn)) & (len(e.ring) - 1) }

// next returns the first packet from PSN psn on, and then those before it; nil if none is kept.
func (e *early) next(psn bth.PSN) *earlyPacket {
	if e.kept == 0 {
		return nil
	}
	at := e.place(psn)
	word := at / 64
	set := e.here[word] &^ (1<<(at%64) - 1)
	for set == 0 {
		word = (word + 1) % len(e.here)
		set = e.here[word]
	}
	return e.ring[word*64+bits.TrailingZeros64(set)]
}

// remove gives k back, unless drop has.
func (e *early) remove(k *earlyPacket) {
	if e.kept > 0 && e.ring[e.place(k.packet.PSN)] == k {
		e.give(e.place(k.packet.PSN))
	}
}

// give gives back the packet at a place.
func (e *early) give(at int) {
	k := e.ring[at]
	e.ring[at] = nil
	e.here[at/64] &^= 1 << (at % 64)
	e.kept--
	if invalidates(&k.packet) {
		e.invalidating--
	}
	e.pool.give(k)
	e.rest()
}

// rest gives the ring back when nothing is kept.
func (e *early) rest() {
	if e.kept == 0 && e.ring != nil {
		e.pool.giveRing(e.ring, e.here)
		e.ring, e.here = nil, nil
	}
}

// drop gives back all.
func (e *early) drop() {
	for word := 0; e.kept > 0; word++ {
		for set := e.here[word]; set != 0; set &= set - 1 {
			e.give(word*64 + bits.TrailingZeros64(set))
		}
	}
}

// ShareEarly makes c keep packets that come before their turn in the memory of pool. It has
// to be called before the first packet; without it c has a pool of its own.
func (c *RC) ShareEarly(pool *EarlyPool) { c.rsp.early.pool = pool }

// Close gives back what c has been lent. Nothing may be called after it.
func (c *RC) Close() {
	c.Join(nil)
	c.rsp.early.drop()
}

// Invalidates reports whether Receive of p takes a key away. It is called right before that, by callers whose
// other queue pairs look keys up at the same time.
//
// Nothing but a packet that is executed counts, with a key that its sender may invalidate: a peer could stop
// the others otherwise as often as it likes.
func (c *RC) Invalidates(p *bth.Packet) bool {
	r := &c.rsp
	if !c.receives() || r.reply.kind == replyError || p.PSN != r.expected {
		return false
	}
	if info := p.Opcode.Info(); invalidates(p) && c.mayInvalidate(p) && c.inOrder(p, info) {
		if !info.Starts() || c.qp.Recv.Len() > 0 {
			return true
		}
		// Receive must not find one either, which another process may post at this moment.
		r.unready = true
		return false
	}
	return r.early.invalidating > 0 && c.keptInvalidate(p)
}

// keptInvalidate reports whether a packet takes a key away among those kept that follow p without a gap. The first
// FLUSH without a slot ends what is executed, p included; only an answer that leaves makes room for it.
func (c *RC) keptInvalidate(p *bth.Packet) bool {
	reads := &c.rsp.reads
	slots := -1 // of FLUSHes; counted when the first one is found
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

func (c *RC) mayInvalidate(p *bth.Packet) bool {
	return c.keys.InvalidatesRemote(c.qp.PD, uint32(c.qp.Num), p.InvalidateRKey)
}

// span returns how many PSNs a request packet takes.
func (c *RC) span(p *bth.Packet) uint32 {
	if p.Opcode.Info().Op == bth.OpReadRequest {
		return packets(uint64(p.RETH.DMALen), c.mtu)
	}
	return 1
}

func invalidates(p *bth.Packet) bool { return p.Opcode.Info().Headers&bth.HasIETH != 0 }

// ahead takes a request that is not the next: something before it is missing. That is asked
// for, and the packet kept until it can be executed, as far as this end would send itself while
// a packet is repaired, which is two windows. The IBA lets a responder drop such packets, as Linux rxe does, and
// the requester repeats them then. rxe repeats them in any case, so of it nothing is kept;
// neither is what follows a message that finds no receive, which all of it is repeated with.
func (c *RC) ahead(p *bth.Packet) Verdict {
	r := &c.rsp
	c.count.OutOfSequence++
	c.missed()
	span := min(2*c.most, earlySpan)
	near := distance(r.expected, p.PSN) < span
	switch {
	case c.peer == peerRxe || r.nak == nakUnready:
	case near && len(p.Payload) <= int(c.mtu) && r.early.keep(p, span):
		c.count.EarlyKept++
	default:
		c.count.EarlyDropped++
	}
	return OutOfSequence
}

// catchUp executes what was kept, in PSN order, up to the next gap, for which it asks at
// once. One acknowledgement covers it. What cannot be executed ends it as if it had arrived
// now: what follows has to come again.
func (c *RC) catchUp() {
	// The memory of what was kept is lent to others next.
	defer c.gather.Settle()
	r := &c.rsp
	for k := r.early.next(r.expected); k != nil; k = r.early.next(r.expected) {
		d := k.packet.PSN.Diff(r.expected)
		if d > 0 {
			c.missed()
			return
		}
		v := Accepted
		if d == 0 {
			k.packet.AckReq = true
			v = c.perform(&k.packet, k.packet.Opcode.Info())
		}
		r.early.remove(k)
		switch v {
		case Accepted:
		case OutOfSequence: // taken for lost, and asked for
			return
		default:
			r.early.drop()
			return
		}
	}
}
