package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// requester is the sending half. Its PSNs always satisfy una <= send <= next: what
// lies before una is acknowledged, [una, next) was sent at least once, and sending
// goes on at send, which stands behind next only after going back (go-back-N).
//
// una lies in the work request at the head of the send queue, send in the one with
// the free-running index cur.
type requester struct {
	una, send, next bth.PSN
	cur             uint32
	started         bool // PSNs are valid: the QP reached RTS

	cc      Congestion
	window  uint32 // PSNs that may be outstanding, as cc says
	limited bool   // all of them were, since cc was last told of an acknowledgement
	paused  Time   // until when something waits for cc to let it leave, 0 is nothing

	reads    int // READ and atomic requests sent whose responses are not complete
	sinceAck int // request packets since the last AckReq

	retryCnt, rnrRetry uint8 // the QP's budgets
	retries, rnrTries  uint8 // what is left of them since the last progress
	wentBack           bool  // a NAK was obeyed and nothing has moved since
	backoff            uint8 // timeouts since the last progress

	repairs
	pace
	shared

	armed    bool
	deadline Time
	waiting  bool // for an RNR timer
	rnrUntil Time
}

// infiniteRNR is the rnr_retry value that means: without limit (IBA 9.7.5.2.8).
const infiniteRNR = 7

func (r *requester) start(psn bth.PSN, head uint32, limits WindowLimits, retryCnt, rnrRetry uint8) {
	*r = requester{
		una: psn, send: psn, next: psn, started: true, cur: head, cc: r.cc,
		retryCnt: retryCnt, rnrRetry: rnrRetry, retries: retryCnt, rnrTries: rnrRetry,
		repairs: repairs{faith: faith}, shared: shared{share: r.share, counted: r.counted},
	}
	r.cc.Start(limits)
	r.regulate()
}

// allow changes the budgets. Where they do change they are whole again.
func (r *requester) allow(retryCnt, rnrRetry uint8) {
	if r.retryCnt != retryCnt || r.rnrRetry != rnrRetry {
		r.retryCnt, r.rnrRetry = retryCnt, rnrRetry
		r.retries, r.rnrTries = retryCnt, rnrRetry
	}
}

// halt stops the timers and sending.
func (r *requester) halt() {
	r.armed, r.waiting, r.started, r.paused = false, false, false, 0
	r.again = span{}
	r.reads = 0
}

// wants reports whether the requester could use room in a batch.
func (r *requester) wants(c *RC) bool {
	return r.started && !r.waiting && (!r.again.empty() || r.cur != c.qp.SQ.Tail())
}

// inFlight reports whether psn was sent and is not acknowledged.
func (r *requester) inFlight(psn bth.PSN) bool {
	return distance(r.una, psn) < distance(r.una, r.next)
}

// distance returns how many PSNs lie from a up to b, 0 to 2^24-1.
func distance(a, b bth.PSN) uint32 { return uint32(b.Sub(uint32(a))) }

// packets returns how many PSNs a message of n bytes takes: one even for none.
func packets(n uint64, mtu uint32) uint32 {
	return max(1, uint32((n+uint64(mtu)-1)/uint64(mtu)))
}

// usesReadSlot reports whether w counts against max_rd_atomic.
func usesReadSlot(w *qp.SendWQE) bool { return waitsForData(w) || w.Opcode == qp.WRAtomicWrite }

// waitsForData reports whether w is complete only when its response data arrived. FLUSH and
// ATOMIC WRITE have responses too, but those are empty: an acknowledgement of what follows
// them says as much.
func waitsForData(w *qp.SendWQE) bool { return w.Opcode == qp.WRRead || isAtomic(w) }

// isAtomic reports whether w is a compare and swap or a fetch and add.
func isAtomic(w *qp.SendWQE) bool { return w.Opcode == qp.WRCmpSwap || w.Opcode == qp.WRFetchAdd }

// goBack makes sending go on at the oldest unacknowledged PSN. The timer starts anew with
// the first packet: what is left of the former time says nothing of the repetition.
func (c *RC) goBack() {
	r := &c.req
	r.armed = false
	r.send = r.una
	r.cur = c.qp.SQ.Head()
	r.reads = 0
	r.sinceAck = 0
	r.again = span{}
	r.asked, r.heard, r.timing = false, false, false
}

// spendRetry takes one from the retry budget and reports whether there was one; if
// not, the queue pair has failed with RETRY_EXC_ERR.
func (c *RC) spendRetry() bool {
	if c.req.retries == 0 {
		c.count.RetryExceeded++
		c.fail(qp.WCRetryExcErr)
		return false
	}
	c.req.retries--
	return true
}

// spendRetryOnNAK does so for a NAK. One that comes after a timeout and before progress may
// tell of the loss that the timeout has paid for, so it spends nothing; as a NAK is obeyed once
// until something moves, timeouts still end the repetitions.
func (c *RC) spendRetryOnNAK() bool { return c.req.backoff > 0 || c.spendRetry() }

// progressed is called when una has moved by n: the budgets are whole again, the window
// grows, and the timer starts anew for what is still outstanding.
func (c *RC) progressed(now Time, n uint32) {
	r := &c.req
	c.acked(now, n)
	r.moved()
	r.answered(now)
	r.lone = r.probes > 0 && n == 1
	r.probes = 0
	r.retries, r.rnrTries = r.retryCnt, r.rnrRetry
	r.wentBack = false
	r.backoff = 0
	r.waiting = false
	if r.send.Diff(r.una) < 0 {
		r.send = r.una
	}
	if int32(r.cur-c.qp.SQ.Head()) < 0 {
		r.cur = c.qp.SQ.Head()
	}
	r.armed = false
	if r.send != r.una {
		c.arm(now)
	}
}

// arm starts the local ACK timer.
func (c *RC) arm(now Time) {
	t := AckTimeout(c.qp.Attr.Timeout)
	if t == 0 {
		return
	}
	t *= Time(min(1<<min(c.req.backoff, 2), c.cfg.BackoffLimit))
	c.req.armed = true
	c.req.deadline = now + t
	c.plan(now)
}

// ackTimeout handles the expiry of the local ACK timer (IBA 9.7.6.1.3).
func (c *RC) ackTimeout(now Time) {
	r := &c.req
	r.armed = false
	if r.send == r.una {
		return
	}
	c.count.Timeouts++
	if !c.spendRetry() {
		return
	}
	r.backoff++
	r.cc.OnTimeout(now, r.outstanding())
	r.regulate()
	c.goBack()
	r.wentBack = false
}

// A cursor is the position in the send queue of a packet that is to be emitted.
type cursor struct {
	psn    bth.PSN
	index  uint32 // of the work request in the send queue, free-running
	packet uint32 // of the work request, from 0
	repair bool   // sent again out of turn: new packets go on behind it
}

// span is the PSNs from first up to but not end. It is empty where they are equal.
type span struct{ first, end bth.PSN }

func (s span) empty() bool { return s.first == s.end }

// locate returns the position of psn, which was sent and is not acknowledged.
func (c *RC) locate(psn bth.PSN) (at cursor, w *qp.SendWQE) {
	at = cursor{psn: psn, index: c.qp.SQ.Head()}
	for {
		w = c.qp.SQ.At(at.index)
		if at.packet = distance(w.FirstPSN, psn); at.packet < w.Packets {
			return at, w
		}
		at.index++
	}
}

// room returns how many PSNs from psn on may be outstanding.
func (r *requester) room(psn bth.PSN) uint32 {
	used := distance(r.una, psn)
	if used >= r.window {
		return 0
	}
	return r.window - used
}

// maxOutstanding is the most PSNs of which one can still be told from a duplicate.
const maxOutstanding = 1<<23 - 1

// space returns how many packets of SENDs and WRITEs from psn on may be. While one is repaired, a
// peer that keeps has what came after it, which is not on its way any more: as many again may be.
func (r *requester) space(psn bth.PSN) uint32 {
	used, most := distance(r.una, psn), r.window
	if r.asked && r.proven {
		most = min(2*most, maxOutstanding)
	}
	if used >= most {
		return 0
	}
	return most - used
}

// fits reports whether the request for a READ chunk of n PSNs from psn on may leave. A chunk cannot be
// made smaller, so one is always allowed where nothing before it is outstanding.
func (r *requester) fits(psn bth.PSN, n uint32) bool { return n <= r.room(psn) || psn == r.una }

// outstanding returns how many PSNs are.
func (r *requester) outstanding() uint32 { return distance(r.una, r.send) }

// regulate takes over the window that the congestion control allows now.
func (r *requester) regulate() { r.window = max(1, r.cc.Window()) }

// acked tells the congestion control that una has moved by n PSNs.
func (c *RC) acked(now Time, n uint32) {
	r := &c.req
	r.cc.OnAck(now, Ack{PSNs: n, Limited: r.limited, Grows: c.peer != peerRxe})
	r.limited = false
	r.regulate()
}

// naked tells the congestion control of a NAK that is obeyed.
func (r *requester) naked(now Time, kind LossKind) {
	r.cc.OnLoss(now, Loss{kind, r.outstanding()})
	r.regulate()
}

// notified takes a congestion notification packet.
func (c *RC) notified(now Time) Verdict {
	if !c.req.started {
		return WrongState
	}
	c.count.CNPsTaken++
	c.req.cc.OnCNP(now)
	c.req.regulate()
	return CongestionNotified
}
