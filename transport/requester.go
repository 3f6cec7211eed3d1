package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// requester is the part of an RC that sends requests. Its PSNs always satisfy una <= send <= next:
// those before una are acknowledged, [una, next) were sent at least once, and send is the next PSN
// to send. send is below next only after going back (go-back-N).
//
// una belongs to the work request at the head of the send queue, and send to the work request with
// number cur. PSNs have 24 bits and wrap, and comparisons are modulo 2^24 (IBA 9.7.1).
type requester struct {
	una, send, next bth.PSN
	cur             uint32
	started         bool // the PSNs are valid: the queue pair has reached RTS

	cc        Congestion
	window    uint32 // PSNs that may be outstanding: the window of cc
	limited   bool   // the whole window was outstanding at some time since the last OnAck of cc
	notBefore Time   // NotBefore of cc while packets wait for it, else 0

	reads    int     // READ and atomic requests sent whose responses are not complete, 0 to max_rd_atomic
	resumed  bth.PSN // PSN of the last READ request that was sent for the rest of its chunk
	sinceAck int     // request packets since the last AckReq, below Config.AckEvery

	retryCnt, rnrRetry uint8 // retry_cnt and rnr_retry of the queue pair, 0 to 7
	retries, rnrTries  uint8 // remainder of them since the last progress
	actedOnNAK         bool  // a NAK was acted on, and una has not advanced since
	backoff            uint8 // timeouts since the last progress, 0 to retry_cnt

	repairs
	rttEstimator
	shareMember

	armed      bool // the local ACK timer runs
	deadline   Time // its expiry
	rnrWaiting bool // the RNR timer runs
	rnrUntil   Time // its expiry
}

// infiniteRNR is the value of rnr_retry that means no limit (IBA 9.7.5.2.8). retry_cnt has no such
// value: 7 means seven retries. Linux rxe takes 7 for no limit in retry_cnt too.
const infiniteRNR = 7

// start resets the requester: the queue pair enters RTS. psn is that of the first packet, head the
// number of the oldest work request in the send queue. Only the congestion control and the
// membership in a [Share] stay.
func (r *requester) start(psn bth.PSN, head uint32, limits WindowLimits, retryCnt, rnrRetry uint8) {
	*r = requester{
		una: psn, send: psn, next: psn, resumed: psn.Sub(1), started: true, cur: head, cc: r.cc,
		retryCnt: retryCnt, rnrRetry: rnrRetry, retries: retryCnt, rnrTries: rnrRetry,
		repairs: repairs{vainRepairsLeft: maxVainRepairs}, shareMember: shareMember{share: r.share, inShare: r.inShare},
	}
	r.cc.Start(limits)
	r.applyWindow()
}

// setRetryBudgets changes the retry budgets, which a program can do in SQD. A change restores both
// in full.
func (r *requester) setRetryBudgets(retryCnt, rnrRetry uint8) {
	if r.retryCnt != retryCnt || r.rnrRetry != rnrRetry {
		r.retryCnt, r.rnrRetry = retryCnt, rnrRetry
		r.retries, r.rnrTries = retryCnt, rnrRetry
	}
}

// halt stops the timers and sending.
func (r *requester) halt() {
	r.armed, r.rnrWaiting, r.started, r.notBefore = false, false, false, 0
	r.repair = span{}
	r.reads = 0
}

// hasWork reports whether the requester has packets to send.
func (r *requester) hasWork(c *RC) bool {
	return r.started && !r.rnrWaiting && (!r.repair.empty() || r.cur != c.qp.SQ.Tail())
}

// inFlight reports whether psn was sent and is not acknowledged: una <= psn < next, modulo 2^24.
// Only such a PSN is valid in a response. send does not matter, because packets from send to next
// were sent before the requester went back, and their responses may still arrive.
func (r *requester) inFlight(psn bth.PSN) bool {
	return distance(r.una, psn) < distance(r.una, r.next)
}

// distance returns the number of PSNs from a up to b, 0 to 2^24-1.
func distance(a, b bth.PSN) uint32 { return uint32(b.Sub(uint32(a))) }

// packets returns the number of PSNs of a message of n bytes. A message of length 0 has one packet.
// A READ uses as many PSNs as its response has packets, so that the requester can detect the loss
// of each of them (IBA 9.4.4).
func packets(n uint64, mtu uint32) uint32 {
	return max(1, uint32((n+uint64(mtu)-1)/uint64(mtu)))
}

// usesReadSlot reports whether w counts against max_rd_atomic (IBA 9.4.4, 9.4.5). An ATOMIC WRITE
// does, because the responder needs a resource for it; a FLUSH does not, as in Linux rxe.
func usesReadSlot(w *qp.SendWQE) bool { return waitsForData(w) || w.Opcode == qp.WRAtomicWrite }

// waitsForData reports whether w completes only when its response data has arrived. FLUSH and
// ATOMIC WRITE have responses too, but empty ones: the acknowledgement of a later request covers
// them.
func waitsForData(w *qp.SendWQE) bool { return w.Opcode == qp.WRRead || isAtomic(w) }

// isAtomic reports whether w is a compare and swap or a fetch and add.
func isAtomic(w *qp.SendWQE) bool { return w.Opcode == qp.WRCmpSwap || w.Opcode == qp.WRFetchAdd }

// goBack makes sending continue at una, the oldest unacknowledged PSN, also in the middle of a
// message. goBack is called after a timeout, an RNR NAK, an implied NAK, a repair in vain and, if
// the peer does not keep early packets, a sequence NAK. The local ACK timer starts anew with the
// first packet sent. A request that is repeated keeps its PSNs, because the responder must
// recognize it as a duplicate if it has executed it.
func (c *RC) goBack() {
	r := &c.req
	r.armed = false
	r.send = r.una
	r.cur = c.qp.SQ.Head()
	r.reads = 0
	r.sinceAck = 0
	r.repair = span{}
	r.repairingForNAK, r.wentBackForNAK, r.sampling = false, false, false
}

// spendRetry takes one retry from the budget of retry_cnt and returns true. If no retry is left, it
// fails the queue pair with RETRY_EXC_ERR and returns false (IBA 9.7.6.1.3). So the first
// transmission may be followed by retry_cnt retransmissions without progress.
func (c *RC) spendRetry() bool {
	if c.req.retries == 0 {
		c.count.RetryExceeded++
		c.fail(qp.WCRetryExcErr)
		return false
	}
	c.req.retries--
	return true
}

// spendRetryOnNAK is spendRetry for a sequence NAK or an implied NAK. After a timeout, a NAK takes
// no retry until una advances, because the timeout may have taken a retry for the same loss. The
// retries still run out: in that time, only the first NAK causes a retransmission, and then the
// timer expires again.
func (c *RC) spendRetryOnNAK() bool { return c.req.backoff > 0 || c.spendRetry() }

// progressed is called when una has advanced by n PSNs. It restores the retry budgets, lets the
// window grow, and restarts the timer for what is still outstanding. The timer thus measures the
// time since the last progress and not the age of a packet.
func (c *RC) progressed(now Time, n uint32) {
	r := &c.req
	c.onAck(now, n)
	r.updateRepairs()
	r.endSample(now)
	r.probeAnsweredAlone = r.probes > 0 && n == 1
	r.probes = 0
	// The budgets count retries without progress.
	r.retries, r.rnrTries = r.retryCnt, r.rnrRetry
	r.actedOnNAK = false
	r.backoff = 0
	r.rnrWaiting = false
	// After going back, una may advance past send: the peer had received those packets, and they
	// are not sent again.
	if r.send.Diff(r.una) < 0 {
		r.send = r.una
	}
	if int32(r.cur-c.qp.SQ.Head()) < 0 {
		r.cur = c.qp.SQ.Head()
	}
	r.armed = false
	// The timer runs only while something is outstanding.
	if r.send != r.una {
		c.arm(now)
	}
}

// arm starts the local ACK timer and schedules a probe. Code 0 means no timer (IBA 9.7.6.1.3).
func (c *RC) arm(now Time) {
	t := AckTimeout(c.qp.Attr.Timeout)
	if t == 0 {
		return
	}
	// The IBA fixes the timeout only within [T, 4T] (IBA 9.7.6.1.3, C9-140), which leaves room for
	// a backoff of 1, 2 and 4 times T. TCP backs off without such a limit (RFC 6298, rule 5.5).
	t *= Time(min(1<<min(c.req.backoff, 2), c.cfg.BackoffLimit))
	c.req.armed = true
	c.req.deadline = now + t
	c.scheduleProbe(now)
}

// ackTimeout handles the expiry of the local ACK timer: it spends a retry and goes back
// (IBA 9.7.6.1.3). Each timeout repeats everything, so the congestion control reduces the window
// first.
func (c *RC) ackTimeout(now Time) {
	r := &c.req
	r.armed = false
	// All is acknowledged, or about to be sent again anyway.
	if r.send == r.una {
		return
	}
	c.count.Timeouts++
	if !c.spendRetry() {
		return
	}
	r.backoff++
	r.cc.OnTimeout(now, r.outstanding())
	r.applyWindow()
	c.goBack()
	// The next NAK is acted on.
	r.actedOnNAK = false
}

// A cursor is the position in the send queue of a packet to be sent.
type cursor struct {
	psn    bth.PSN
	index  uint32 // number of the work request in the send queue
	packet uint32 // index of the packet in the work request
	repair bool   // retransmission out of order: sending of new packets continues at r.send
}

// span is the range of PSNs from first up to but not including end. It is empty if first equals
// end.
type span struct{ first, end bth.PSN }

func (s span) empty() bool { return s.first == s.end }

// locate returns the position of psn and its work request. psn must have been sent and not
// acknowledged.
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

// windowLeft returns how many PSNs from psn on fit into the window, which begins at una. A window
// that was reduced may be smaller than what is outstanding; then the result is 0.
func (r *requester) windowLeft(psn bth.PSN) uint32 {
	used := distance(r.una, psn)
	if used >= r.window {
		return 0
	}
	return r.window - used
}

// maxOutstanding is the maximum number of outstanding PSNs, less than half of the PSN space: a
// responder takes the 2^23 PSNs before the expected one for duplicates (IBA 9.7.1, 9.7.4.1.2).
const maxOutstanding = 1<<23 - 1

// sendWindowLeft returns how many packets of SENDs and WRITEs from psn on may be sent. During a
// repair, a peer that keeps early packets has the packets behind the gap, so they are not in flight
// any more, and twice the window may be sent.
func (r *requester) sendWindowLeft(psn bth.PSN) uint32 {
	used, most := distance(r.una, psn), r.window
	if r.repairingForNAK && r.peerKeepsEarly {
		most = min(2*most, maxOutstanding)
	}
	if used >= most {
		return 0
	}
	return most - used
}

// readFits reports whether the request for a READ chunk of n PSNs from psn on may be sent. A chunk
// cannot be made smaller, so one is always allowed if nothing is outstanding before it.
func (r *requester) readFits(psn bth.PSN, n uint32) bool {
	return n <= r.windowLeft(psn) || psn == r.una
}

// outstanding returns the number of outstanding PSNs. After going back, PSNs from send on are not
// in flight any more and are not included.
func (r *requester) outstanding() uint32 { return distance(r.una, r.send) }

// applyWindow applies the window of the congestion control. A window of 0 would end all sending, so
// the minimum is 1.
func (r *requester) applyWindow() { r.window = max(1, r.cc.Window()) }

// onAck tells the congestion control that una has advanced by n PSNs.
func (c *RC) onAck(now Time, n uint32) {
	r := &c.req
	r.cc.OnAck(now, Ack{PSNs: n, Limited: r.limited, PeerHasRoom: c.peer != peerRxe})
	r.limited = false
	r.applyWindow()
}

// onNAK tells the congestion control of a NAK that is acted on. repeated is the number of PSNs that
// are sent again.
func (r *requester) onNAK(now Time, kind LossKind, repeated uint32) {
	r.cc.OnLoss(now, Loss{kind, r.outstanding(), repeated})
	r.applyWindow()
}

// receiveCNP processes a congestion notification packet: a switch has marked a packet that this end
// sent, and the peer reports it (IBA A17.9.3). The PSN of a CNP is not checked, and the 16 bytes
// behind its BTH are ignored (figure 6).
func (c *RC) receiveCNP(now Time) Verdict {
	if !c.req.started {
		return WrongState
	}
	c.count.CNPsTaken++
	c.req.cc.OnCNP(now)
	c.req.applyWindow()
	return CongestionNotified
}
