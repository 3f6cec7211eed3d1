package model

import (
	"bytes"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// replied checks an acknowledgement or response that e sends to its peer.
func (e *end) replied(p *bth.Packet, info *bth.OpcodeInfo) {
	r := &e.responder
	seq := e.peer().seq(p.PSN)
	if info.Op != bth.OpAck {
		e.responded(p, info, seq)
		return
	}
	r.owesNAK, r.owesACK = false, false
	for i := range r.reads {
		if a := &r.reads[i]; a.sent < a.end && a.sent < seq && e.cause == "" {
			e.fail("%v with PSN %d overtakes the response %d of a READ or atomic", p.AETH.Syndrome, p.PSN, a.sent)
		}
	}
	if p.AETH.MSN != r.msn {
		e.fail("%v carries MSN %d, %d messages were executed", p.AETH.Syndrome, p.AETH.MSN, r.msn)
	}
	switch s := p.AETH.Syndrome; {
	case s == bth.AckUnlimited:
		if seq >= r.expected {
			e.fail("PSN %d is acknowledged, %d was not executed", seq, r.expected)
		}
	case s == bth.NakPSNSequence:
		if seq > r.expected || !r.gap {
			e.fail("sequence NAK for %d, %d is expected and nothing is missing", seq, r.expected)
		}
		r.gap = false
	case s.IsRNR():
		if seq > r.expected || !r.rnrDue || s.RNRTimer() != e.spec.MinRNRTimer {
			e.fail("%v for %d, %d is expected; no receive was missing or the timer is not %d", s, seq, r.expected,
				e.spec.MinRNRTimer)
		}
		r.rnrDue = false
	default:
		e.refusing(s, seq)
	}
}

// refusing checks an error NAK. It is due if the model refused the request, or if the memory of a
// READ was deregistered before the last response. If all responses were sent before and this one
// answers a duplicate, the queue pair stays alive.
func (e *end) refusing(s bth.Syndrome, seq int64) {
	r := &e.responder
	if r.refused == s && seq == r.expected {
		e.sentErrorNAK(s, r.told)
		return
	}
	if s == bth.NakRemoteAccess || s == bth.NakRemoteOperational {
		for _, a := range r.reads {
			if seq < a.first || seq >= a.end || a.s.op != qp.WRRead || e.node.keys.Lookup(a.s.rkey) == a.region {
				continue
			}
			if a.sent < a.end {
				e.sentErrorNAK(s, false)
				r.refused = s
			}
			return
		}
	}
	e.fail("%v for %d: the model refuses nothing there", s, seq)
}

// responded checks a READ response or an ATOMIC Acknowledge.
func (e *end) responded(p *bth.Packet, info *bth.OpcodeInfo, seq int64) {
	r := &e.responder
	var a *answer
	for i := range r.reads {
		if x := &r.reads[i]; seq >= x.first && seq < x.end {
			a = x
		}
	}
	if a == nil {
		e.fail("%s with PSN %d answers nothing that was executed", info.Name, p.PSN)
		return
	}
	if a.sent < seq {
		e.fail("%s for %d is sent before that for %d", info.Name, seq, a.sent)
	}
	a.sent = max(a.sent, seq+1)
	if info.Headers&bth.HasAETH != 0 && (p.AETH.Syndrome != bth.AckUnlimited || p.AETH.MSN != a.msn) {
		e.fail("%s carries %+v, the MSN was %d", info.Name, p.AETH, a.msn)
	}
	if info.Op == bth.OpAtomicAck {
		if a.s.op == qp.WRRead || !waitsForData(a.s.op) || p.AtomicAck != a.s.old {
			e.fail("%s with %#x answers a %v, which found %#x", info.Name, p.AtomicAck, a.s.op, a.s.old)
		}
		return
	}
	if !waitsForData(a.s.op) {
		if info.Pos != bth.Only || len(p.Payload) > 0 {
			e.fail("%s with %d bytes answers a %v", info.Name, len(p.Payload), a.s.op)
		}
		return
	}
	mtu := uint64(e.conn.spec.MTU)
	off := uint64(seq-a.s.first) * mtu
	n := min(a.s.length-off, mtu)
	ends := info.Pos == bth.Last || info.Pos == bth.Only
	begins := info.Pos == bth.First || info.Pos == bth.Only
	switch {
	case a.s.op != qp.WRRead || ends != (seq == a.end-1):
		e.fail("%s for response %d of %d of a %v", info.Name, seq-a.first, a.end-a.first, a.s.op)
	case !begins && seq != a.next:
		e.fail("%s for %d does not go on where the response before it ended, at %d", info.Name, seq, a.next)
	case !bytes.Equal(p.Payload, e.node.mem.at(a.s.act.Remote+off, n)):
		e.fail("%s of %d bytes at %#x does not carry what memory holds", info.Name, n, a.s.act.Remote+off)
	}
	a.next = seq + 1
}
