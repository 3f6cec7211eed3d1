package transport

import (
	"math"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// RC is one end of a reliable connection (IBA 9.7): a requester and a responder. The two share the
// queue pair and the address of the peer, but their PSNs are independent: each direction has its
// own (IBA 9.7.1).
type RC struct {
	core
	cfg       Config
	window    uint32 // initial window in PSNs, from Config and the path MTU
	maxWindow uint32 // maximum window in PSNs
	chunk     uint32 // PSNs of one READ request

	peer      peer
	req       requester
	defaultCC defaultCongestion // congestion control of req, unless cfg names another
	rsp       responder
	atomicBuf [8]byte // scratch for the value of an atomic
}

// NewRC returns the machine of q, which looks up memory keys in keys. It uses the attributes that
// q has now; [RC.Modified] must be called after each change. A nil cfg means [DefaultConfig].
func NewRC(q *qp.QP, keys *mr.Table, cfg *Config) *RC {
	c := &RC{core: core{qp: q, keys: mr.Finder{Table: keys}}}
	if cfg != nil {
		c.cfg = *cfg
	}
	c.cfg = c.cfg.withDefaults()
	c.req.cc = &c.defaultCC
	if c.cfg.Congestion != nil {
		if cc := c.cfg.Congestion(); cc != nil {
			c.req.cc = cc
		}
	}
	return c
}

// Modified applies the current state and attributes of the queue pair (IBA 10.3.1). RTR starts the
// responder at rq_psn, and RTS the requester at sq_psn. ERR flushes both queues. RESET empties them
// and resets the machine, which keeps only its congestion control, its [Share] and its [EarlyPool].
func (c *RC) Modified(now Time) {
	was := c.takeState()
	a := &c.qp.Attr
	if a.PathMTU > 0 {
		c.setPath(uint32(a.PathMTU))
	}
	switch c.state {
	case qp.RESET:
		c.rsp.early.clear()
		kept := shareMember{share: c.req.share, inShare: c.req.inShare}
		c.req, c.rsp, c.peer = requester{cc: c.req.cc, shareMember: kept}, responder{early: c.rsp.early}, peerUnknown
		c.reset()
	case qp.RTR:
		if was != qp.RTR {
			c.rsp.start(a.RQPSN)
		}
	case qp.RTS:
		// RTS after SQD continues with the PSNs and requests that the requester had.
		if was == qp.RTR {
			c.req.start(a.SQPSN, c.qp.SQ.Head(), WindowLimits{c.window, c.maxWindow}, a.RetryCnt, a.RNRRetry)
		}
	// These attributes can be changed in SQD.
	case qp.SQD:
		c.req.setRetryBudgets(a.RetryCnt, a.RNRRetry)
		c.rsp.resources.resize(&c.rsp.resources.ring, int(a.MaxDestRdAtomic))
	case qp.ERR:
		if was != qp.ERR {
			c.flush()
		}
	}
	c.account()
	c.drained()
}

// setPath computes the windows and the READ chunk for a path MTU in bytes. With max_rd_atomic above
// 1, a chunk is half of the window: the second request is sent before the responses of the first
// have all arrived. With 1, each chunk costs a round trip, so it is as large as the window.
func (c *RC) setPath(mtu uint32) {
	c.mtu = mtu
	c.window = uint32(min(c.cfg.Window, max(1, c.cfg.WindowBytes/int(mtu))))
	c.maxWindow = uint32(min(c.cfg.MaxWindow, max(1, c.cfg.MaxWindowBytes/int(mtu))))
	switch {
	case c.cfg.ReadChunk > 0:
		c.chunk = min(uint32(c.cfg.ReadChunk), c.window)
	case c.qp.Attr.MaxRdAtomic > 1:
		c.chunk = max(1, c.window/2)
	default:
		c.chunk = c.window
	}
}

// Receive processes one packet for this queue pair. p and its payload are borrowed for the call;
// after [RC.ShareStoreBatch], the payload is borrowed until the next [StoreBatch.Settle].
//
// The opcode decides whether the requester or the responder gets the packet. FECN and BECN of a
// request have no effect (IBA CA17-29). A packet with an opcode of another service, or one that the
// state does not permit, is dropped without a NAK, as in Linux rxe.
func (c *RC) Receive(now Time, p *bth.Packet) Verdict {
	c.count.ReceivedPackets++
	info := p.Opcode.Info()
	if info.Op == bth.OpCNP {
		return c.receiveCNP(now)
	}
	if !info.Valid || info.Service != bth.ServiceRC {
		return WrongService
	}
	c.peer = peerOf(p)
	// An ACK or NAK stores nothing itself, so the responder's data can stay held back.
	if info.Op != bth.OpAck {
		c.storeBatch.settleOther(c, info.Request())
	}
	switch info.Op {
	case bth.OpReadResponse, bth.OpAck, bth.OpAtomicAck:
		if !c.maySend() {
			return WrongState
		}
		v := c.response(now, p, info)
		c.account()
		c.drained()
		return v
	}
	if !c.mayReceive() {
		return WrongState
	}
	return c.request(now, p, info)
}

// mayReceive reports whether the queue pair executes requests in its state (IBA 10.3.1). SQD stops
// only the send queue.
func (c *RC) mayReceive() bool { return c.state == qp.RTR || c.state == qp.RTS || c.state == qp.SQD }

// Transmit appends to dst at most limit packets that may be sent now. It reports whether more can
// be sent at once, except responses that [RC.HoldReplays] holds back. The Header and Payload of
// each frame are complete and Trailer has the pad bytes; the caller adds the ICRC. Payload is
// borrowed from memory regions until dst is reset. Local work requests may invalidate such a
// region, so they are executed only while dst is empty.
func (c *RC) Transmit(now Time, path *packet.Path, dst *packet.Batch, limit int) (more bool) {
	x := transmission{core: &c.core, now: now, path: path, dst: dst, framesLeft: limit}
	if dst.Len() == 0 && c.maySend() && c.rsp.reply.kind != replyError {
		c.executeLocal()
	}
	c.rsp.repeated, c.rsp.held = 0, false
	behind := c.rsp.ackHeld && c.mayHoldACK()
	c.rsp.ackHeld = false
	if c.rsp.busy() && !behind {
		// A long READ response must not starve the requests of this end: they get a quarter of the
		// frames.
		if c.req.hasWork(c) {
			x.framesLeft = max(1, limit*3/4)
		}
		held := limit - x.framesLeft
		c.sendReplies(&x)
		x.framesLeft += held // the part reserved for requests
	}
	if c.maySend() {
		c.send(&x)
		c.account()
	}
	if behind {
		c.sendReplies(&x)
	}
	c.drained()
	return c.rsp.busy() && !c.rsp.held || x.full
}

// HoldACK reports whether the only thing that c has to send is an ACK of SENDs. The caller may
// then delay Transmit for a moment, much less than the peer's local ACK timeout. If a request is
// posted meanwhile, Transmit puts the ACK behind it, and both leave in one call, and as one train
// on a link with segmentation offload. HoldACK returns false if the peer is Linux rxe.
func (c *RC) HoldACK() bool {
	if c.peer == peerRxe || !c.mayHoldACK() || c.req.hasWork(c) {
		return false
	}
	c.rsp.ackHeld = true
	return true
}

// mayHoldACK reports whether all that the responder has to send is an ACK of SENDs, in a state in
// which requests may be sent. Such an ACK may wait and be sent behind requests, because the IBA
// orders responses only among themselves (IBA 9.7.5.1).
func (c *RC) mayHoldACK() bool {
	r := &c.rsp
	return r.reply.kind == replyACK && r.op == bth.OpSend && !r.inside && r.resources.len == 0 && c.maySend()
}

// HasResponses reports whether responses of READs, atomics, FLUSHes or ATOMIC WRITEs are left to
// send.
func (c *RC) HasResponses() bool { return c.rsp.resources.len > 0 }

// HoldReplays sets whether Transmit holds back the responses of READs that the peer requests often.
// A READ with n responses counts as such if at least 2 × n + 128 of its packets were sent again.
// Responses and acknowledgements behind them in PSN order wait too; requests of this end do not.
func (c *RC) HoldReplays(hold bool) { c.rsp.hold = hold }

// Replayed returns how many response packets of READs that the peer requests often (see
// [RC.HoldReplays]) the last Transmit appended, and whether it held some back.
func (c *RC) Replayed() (packets int, held bool) { return c.rsp.repeated, c.rsp.held }

// NextTimeout returns the time at which Timeout must be called, or false for never. It is the
// earliest of
//
//   - the end of an RNR wait
//   - the local ACK timeout and the next probe, while the local ACK timer runs
//   - the time at which the congestion control permits the next packet
//   - the time at which a requester with nothing outstanding may exceed its share
func (c *RC) NextTimeout() (Time, bool) {
	const never = Time(math.MaxInt64)
	r, next := &c.req, never
	if r.rnrWaiting {
		next = r.rnrUntil
	}
	if r.armed {
		next = min(next, r.deadline)
		if r.probeAt != 0 {
			next = min(next, r.probeAt)
		}
	}
	if r.notBefore != 0 {
		next = min(next, r.notBefore)
	}
	// With nothing outstanding, one packet may be sent after shareWait.
	if r.blocked && r.outstanding() == 0 {
		next = min(next, r.blockedSince+shareWait)
	}
	if next == never {
		return 0, false
	}
	return next, true
}

// Timeout handles the timers that have expired at now. It may be called early or late. If the local
// ACK timeout and a probe are both due, only the timeout is handled, because it retransmits
// the packet that the probe would repeat, too.
func (c *RC) Timeout(now Time) {
	r := &c.req
	// The wait was the minimum that the responder asked for (IBA 9.7.5.2.8); the next Transmit
	// sends again from una.
	if r.rnrWaiting && now >= r.rnrUntil {
		r.rnrWaiting = false
	}
	if now >= r.notBefore {
		r.notBefore = 0
	}
	switch {
	case r.armed && now >= r.deadline:
		c.ackTimeout(now)
	case r.armed && r.probeAt != 0 && now >= r.probeAt:
		c.probe(now)
	}
	c.account()
}
