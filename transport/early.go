package transport

import "github.com/gorxe/gorxe/bth"

// EarlyPool lends the memory in which responders keep request packets that come before
// their turn. The queue pairs that share one share its bounds: a peer that fills it gets what
// it lost by going back, and so do the others until its gaps close. All of them must be
// driven by one goroutine at a time.
type EarlyPool struct {
	free  *earlyPacket
	spare int // how many are in free
	lent  int
}

const (
	// earlyPayload is the longest payload of a packet that is kept: the largest path MTU.
	earlyPayload = 4096
	// earlyLimit is how many packets a pool lends, 17 MiB in all.
	earlyLimit = 4096
	// earlySpare is how many it holds on to for the next gap, 270 KiB.
	earlySpare = 64
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

// early is what a responder keeps, by PSN. It is empty while nothing is missing.
type early struct {
	pool         *EarlyPool
	first, last  *earlyPacket
	invalidating int // SENDs with invalidate among them
}

// keep stores a copy of p, unless one with its PSN is there already or there is no room.
func (e *early) keep(p *bth.Packet) bool {
	var before *earlyPacket
	if e.last != nil && e.last.packet.PSN.Before(p.PSN) {
		before = e.last
	} else {
		for k := e.first; k != nil && !p.PSN.Before(k.packet.PSN); k = k.next {
			if k.packet.PSN == p.PSN {
				return false
			}
			before = k
		}
	}
	if e.pool == nil {
		e.pool = new(EarlyPool)
	}
	k := e.pool.take()
	if k == nil {
		return false
	}
	k.packet = *p
	k.packet.Payload = k.payload[:copy(k.payload[:], p.Payload)]
	if before == nil {
		k.next, e.first = e.first, k
	} else {
		k.next, before.next = before.next, k
	}
	if k.next == nil {
		e.last = k
	}
	if invalidates(&k.packet) {
		e.invalidating++
	}
	return true
}

// pop gives back the first.
func (e *early) pop() {
	k := e.first
	if e.first = k.next; e.first == nil {
		e.last = nil
	}
	if invalidates(&k.packet) {
		e.invalidating--
	}
	e.pool.give(k)
}

// drop gives back all.
func (e *early) drop() {
	for e.first != nil {
		e.pop()
	}
}
