package transport

import "github.com/gorxe/gorxe/bth"

// ShareEarly makes c keep packets that come before their turn in the memory of pool. It has
// to be called before the first packet; without it c has a pool of its own.
func (c *RC) ShareEarly(pool *EarlyPool) { c.rsp.early.pool = pool }

// Close gives back what c has been lent. Nothing may be called after it.
func (c *RC) Close() { c.rsp.early.drop() }

// Invalidates reports whether to receive p may take a key away: p is the next to be executed, and
// asks for that, or something that is kept behind it does.
func (c *RC) Invalidates(p *bth.Packet) bool {
	return p.PSN == c.rsp.expected && (invalidates(p) || c.rsp.early.invalidating > 0)
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
