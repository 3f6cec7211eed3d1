package model

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// refusals maps error NAKs to completion statuses (IBA table 58).
var refusals = map[bth.Syndrome]qp.WCStatus{
	bth.NakInvalidRequest: qp.WCRemInvReqErr, bth.NakRemoteAccess: qp.WCRemAccessErr,
	bth.NakRemoteOperational: qp.WCRemOpErr,
}

// step is what one call of a machine must do besides updating its own state: change memory, and
// complete the oldest request with an error.
type step struct {
	memory []span
	status qp.WCStatus // required error status, or WCSuccess
}

// answered applies a response of the peer to the model, before e's machine receives it.
func (e *end) answered(p *bth.Packet, info *bth.OpcodeInfo) (st step) {
	r := &e.requester
	if s := e.state(); s != qp.RTS && s != qp.SQD {
		return st
	}
	seq := e.seq(p.PSN)
	if seq < r.una || seq >= r.next {
		return st // acknowledged before, or never sent
	}
	switch {
	case info.Op == bth.OpReadResponse || info.Op == bth.OpAtomicAck:
		if !e.acknowledged(seq) {
			e.implied(&st)
			return st
		}
		e.stored(&st, p, info, seq)
	case p.AETH.Syndrome.IsAck():
		if !e.acknowledged(seq + 1) {
			e.implied(&st)
		} else if r.inVain() {
			r.goBack()
		}
	case p.AETH.Syndrome.IsRNR():
		if !e.acknowledged(seq) {
			e.implied(&st)
		} else if !r.waiting && r.cursor != r.una {
			e.notReady(&st, p.AETH.Syndrome.RNRTimer())
		}
	case p.AETH.Syndrome == bth.NakPSNSequence:
		e.acknowledged(seq)
		vain := r.inVain()
		if !r.waiting && r.cursor != r.una {
			e.onSequenceNAK(&st, vain)
		}
	default:
		e.acknowledged(seq)
		st.status = refusals[p.AETH.Syndrome]
	}
	return st
}

// implied goes back for a packet whose loss a later response implies, once until una advances.
func (e *end) implied(st *step) {
	if r := &e.requester; !r.reactedToNAK {
		if e.triesOnNAK(st) {
			e.onLoss(r.cursor - r.una)
			r.goBack()
		}
		r.reactedToNAK = true
	}
}

// again uses a retry and, if one was left, goes back.
func (e *end) again(st *step) {
	if e.tries(st) {
		e.requester.goBack()
	}
}

// tries uses a retry and reports whether one was left.
func (e *end) tries(st *step) bool {
	r := &e.requester
	if r.retries++; r.retries > int(e.spec.RetryCnt) {
		st.status = qp.WCRetryExcErr
		return false
	}
	return true
}

// triesOnNAK uses a retry for a NAK, unless a timeout has used one since una last advanced.
func (e *end) triesOnNAK(st *step) bool { return e.requester.backoff > 0 || e.tries(st) }

// notReady waits for the RNR timer, and then goes back.
func (e *end) notReady(st *step, code uint8) {
	r := &e.requester
	if r.rnrs++; r.rnrs > int(e.spec.RNRRetry) && e.spec.RNRRetry != scenario.InfiniteRNR {
		st.status = qp.WCRNRRetryExcErr
		return
	}
	r.onNAK()
	r.goBack()
	r.waiting = true
	r.rnrUntil = e.net.Now + scenario.Time(bth.RNRDelay(code))
}

// acknowledged advances una up to end, but not past a request that still waits for response data.
// It reports whether una reached end.
func (e *end) acknowledged(end int64) bool {
	una := e.requester.una
	for una < end {
		s := e.at(una)
		if s == nil || waitsForData(s.op) {
			break
		}
		una = min(end, s.end)
	}
	if una != e.requester.una {
		e.advance(una)
	}
	return una == end
}

// advance records progress: una advances, which resets retries and timers.
func (e *end) advance(una int64) {
	r := &e.requester
	e.onAck(una - r.una)
	r.sinceNAK += una - r.una
	r.lone = r.probes > 0 && una == r.una+1
	r.probes = 0
	if r.una = una; r.wentBackForNAK && una > r.cursor || r.repairingForNAK && una > r.repaired {
		r.vainRepairs, r.proven = 0, true
	}
	r.wentBackForNAK, r.repairDue, r.repairingForNAK = false, false, r.repairingForNAK && una <= r.repaired
	r.sample(e.net.Now)
	r.cursor = max(r.cursor, una)
	r.retries, r.rnrs, r.reactedToNAK, r.waiting, r.rnrUntil = 0, 0, false, false, 0
	r.armed, r.backoff = false, 0
	if r.cursor != una {
		e.arm()
	}
}

// stored applies the data of a READ response or an ATOMIC Acknowledge that is in order.
func (e *end) stored(st *step, p *bth.Packet, info *bth.OpcodeInfo, seq int64) {
	s := e.at(seq)
	if !waitsForData(s.op) {
		e.acknowledged(seq + 1) // the empty response to a FLUSH or an ATOMIC WRITE
		return
	}
	data := p.Payload
	if info.Op == bth.OpAtomicAck {
		if s.executed && p.AtomicAck != s.old {
			e.fail("atomic %d returns %#x, it found %#x", s.id, p.AtomicAck, s.old)
		}
		data = binary.NativeEndian.AppendUint64(nil, p.AtomicAck)
	}
	spans, ok := scattered(nil, s.sg, uint64(seq-s.first)*uint64(e.conn.spec.MTU), data)
	switch {
	case !ok:
		e.fail("response of %d bytes does not fit request %d", len(data), s.id)
	case !e.pinned(s.sg):
		// SGEs before the invalid one may still be written. All SGEs of a request have the same
		// key.
		st.status = qp.WCLocProtErr
	default:
		st.memory = spans
		e.advance(seq + 1)
	}
}
