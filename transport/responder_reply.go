package transport

import (
	"github.com/gorxe/gorxe/bth"
)

// replyKind says what the responder owes the peer besides READ data.
type replyKind uint8

const (
	replyNone  replyKind = iota
	replyACK             // acknowledges all up to psn
	replyNAK             // sequence or RNR NAK at psn: acknowledges all before
	replyError           // NAK at psn, then the queue pair goes into ERR
)

// reply is the one answer that is owed: acknowledgements are cumulative, so a later
// one always takes the place of an earlier one.
type reply struct {
	kind     replyKind
	psn      bth.PSN
	syndrome bth.Syndrome
	told     bool // of replyError: a completion says what was wrong
}

// busy reports whether the responder has something to send.
func (r *responder) busy() bool { return r.reply.kind != replyNone || r.reads.len > 0 }

// reply emits READ responses and the reply that is owed, in PSN order (IBA 9.7.5.1).
func (c *RC) reply(x *transmission) {
	r := &c.rsp
	for {
		owed := r.reply.kind != replyNone
		if r.reads.len > 0 {
			j := r.reads.head()
			if !owed || j.next.Before(r.reply.psn) || j.next == r.reply.psn {
				if !c.sendResponse(x, j) {
					return
				}
				continue
			}
		}
		if !owed || !c.sendReply(x) {
			return
		}
	}
}

// sendReply emits the ACK or NAK that is owed.
func (c *RC) sendReply(x *transmission) bool {
	r := &c.rsp
	if r.reply.syndrome == bth.NakPSNSequence && r.asked && c.rxeWaitsForAck() && !c.sendAck(x, r.reply.psn.Sub(1), bth.AckUnlimited) {
		return false
	}
	if !c.sendAck(x, r.reply.psn, r.reply.syndrome) {
		return false
	}
	over := r.reply.kind == replyError
	r.reply.kind = replyNone
	if over {
		if !r.reply.told {
			c.qp.Raise(fatal(r.reply.syndrome).event)
		}
		c.enterError()
	}
	return true
}

// rxeWaitsForAck reports whether the peer may take no notice of a second sequence NAK before an ACK. Linux rxe goes back once until
// something is acknowledged other than by a NAK within the oldest message, and then waits for its timer. The ACK of what came
// since the first NAK is legal, and only with SENDs and WRITEs: a READ's PSNs are acknowledged by its responses.
func (c *RC) rxeWaitsForAck() bool {
	return c.peer == peerRxe && (c.rsp.op == bth.OpSend || c.rsp.op == bth.OpWrite)
}

// sendAck emits an ACK or NAK.
func (c *RC) sendAck(x *transmission, psn bth.PSN, syndrome bth.Syndrome) bool {
	p := c.packetOf(bth.RCAck, psn)
	p.AETH = bth.AETH{Syndrome: syndrome, MSN: c.rsp.msn}
	if x.frame(p, 0) == nil {
		return false
	}
	c.rsp.asked = syndrome == bth.NakPSNSequence
	return true
}
