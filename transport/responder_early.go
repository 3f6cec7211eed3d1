package transport

import "github.com/gorxe/gorxe/bth"

// ShareEarly makes c keep packets that come before their turn in the memory of pool. It has
// to be called before the first packet; without it c has a pool of its own.
func (c *RC) ShareEarly(pool *EarlyPool) { c.rsp.early.pool = pool }

// Close gives back what c has been lent. Nothing may be called after it.
func (c *RC) Close() { c.rsp.early.drop() }

// Invalidates reports whether Receive of p takes a key away. It is called right before that, by callers whose
// other queue pairs look keys up at the same time.
//
// Nothing but a packet that is executed counts, with a key that its sender may invalidate: a peer could stop
// the others otherwise as often as it likes.
func (c *RC) Invalidates(p *bth.Packet) bool {
	r := &c.rsp
	if !c.receives() || !r.started || r.reply.kind == replyError || p.PSN != r.expected {
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
	return r.early.invalidating > 0 && c.keptInvalidate(p.PSN.Add(c.span(p)))
}

// keptInvalidate reports whether a packet takes a key away among those kept from psn on without a gap.
func (c *RC) keptInvalidate(psn bth.PSN) bool {
	for {
		k := c.rsp.early.next(psn)
		if k == nil || k.packet.PSN != psn {
			return false
		}
		if invalidates(&k.packet) && c.mayInvalidate(&k.packet) {
			return true
		}
		psn = psn.Add(c.span(&k.packet))
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
