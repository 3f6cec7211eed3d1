package transport

import (
	"math"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// RC is one end of a reliable connection.
type RC struct {
	core
	cfg    Config
	window uint32 // PSNs, from Config and the path MTU; the requester's begins with that
	most   uint32 // the same, that it may grow to
	chunk  uint32 // PSNs of one READ request

	peer peer
	req  requester
	own  windowRules // congestion control of req, unless cfg names another
	rsp  responder
	word [8]byte // scratch for the value of an atomic
}

// NewRC returns the machine of q, whose memory keys are looked up in keys. It takes
// the queue pair's attributes as they are; call [RC.Modified] after each change.
func NewRC(q *qp.QP, keys *mr.Table, cfg *Config) *RC {
	c := &RC{core: core{qp: q, keys: mr.Finder{Table: keys}}}
	if cfg != nil {
		c.cfg = *cfg
	}
	c.cfg = c.cfg.withDefaults()
	c.req.cc = &c.own
	if c.cfg.Congestion != nil {
		if cc := c.cfg.Congestion(); cc != nil {
			c.req.cc = cc
		}
	}
	return c
}

// Modified takes over the attributes and the state that the queue pair has now.
// Entering ERR flushes both queues, entering RESET forgets everything.
func (c *RC) Modified(now Time) {
	was := c.entered()
	a := &c.qp.Attr
	if a.PathMTU > 0 {
		c.setPath(uint32(a.PathMTU))
	}
	switch c.state {
	case qp.RESET:
		c.rsp.early.drop()
		kept := shared{share: c.req.share, counted: c.req.counted}
		c.req, c.rsp, c.peer = requester{cc: c.req.cc, shared: kept}, responder{early: c.rsp.early}, peerUnknown
		c.forget()
	case qp.RTR:
		if was != qp.RTR {
			c.rsp.start(a.RQPSN)
		}
	case qp.RTS:
		if was == qp.RTR {
			c.req.start(a.SQPSN, c.qp.SQ.Head(), WindowLimits{c.window, c.most}, a.RetryCnt, a.RNRRetry)
		}
	case qp.SQD:
		c.req.allow(a.RetryCnt, a.RNRRetry)
		c.rsp.reads.resize(&c.rsp.reads.ring, int(a.MaxDestRdAtomic))
	case qp.ERR:
		if was != qp.ERR {
			c.flush()
		}
	}
	c.account()
	c.drained()
}

// setPath derives from the path MTU the window and the READ chunk.
func (c *RC) setPath(mtu uint32) {
	c.mtu = mtu
	c.window = uint32(min(c.cfg.Window, max(1, c.cfg.WindowBytes/int(mtu))))
	c.most = uint32(min(c.cfg.MaxWindow, max(1, c.cfg.MaxWindowBytes/int(mtu))))
	switch {
	case c.cfg.ReadChunk > 0:
		c.chunk = min(uint32(c.cfg.ReadChunk), c.window)
	case c.qp.Attr.MaxRdAtomic > 1:
		c.chunk = max(1, c.window/2)
	default:
		c.chunk = c.window
	}
}

// Receive takes one packet for this queue pair. p is borrowed for the call, and its payload as well
// unless [RC.ShareGather] was called: then it is until Settle.
func (c *RC) Receive(now Time, p *bth.Packet) Verdict {
	c.count.ReceivedPackets++
	info := p.Opcode.Info()
	if info.Op == bth.OpCNP {
		return c.notified(now)
	}
	if !info.Valid || info.Service != bth.ServiceRC {
		return WrongService
	}
	c.peer = peerOf(p)
	if info.Op != bth.OpAck {
		c.gather.settleOther(c, info.Request())
	}
	switch info.Op {
	case bth.OpReadResponse, bth.OpAck, bth.OpAtomicAck:
		if !c.sends() {
			return WrongState
		}
		v := c.response(now, p, info)
		c.account()
		c.drained()
		return v
	}
	if !c.receives() {
		return WrongState
	}
	return c.request(now, p, info)
}

// receives reports whether requests are executed in the state of the queue pair.
func (c *RC) receives() bool { return c.state == qp.RTR || c.state == qp.RTS || c.state == qp.SQD }

// Transmit appends to dst at most limit packets that may leave now, and reports
// whether there is more to send right away, but for what Hold holds back. Header and Payload of the frames are
// complete, Trailer holds the pad; the ICRC is the caller's to append. Payload is
// borrowed from memory regions until dst is reset. Local work requests, which may take such a region away, are
// executed only while dst is empty.
func (c *RC) Transmit(now Time, path *packet.Path, dst *packet.Batch, limit int) (more bool) {
	x := transmission{core: &c.core, now: now, path: path, dst: dst, left: limit}
	if dst.Len() == 0 && c.sends() && c.rsp.reply.kind != replyError {
		c.executeLocal()
	}
	c.rsp.repeated, c.rsp.held = 0, false
	behind := c.rsp.ackHeld && c.mayHoldACK()
	c.rsp.ackHeld = false
	if c.rsp.busy() && !behind {
		// A long READ response must not keep this end's own requests waiting.
		if c.req.wants(c) {
			x.left = max(1, limit*3/4)
		}
		held := limit - x.left
		c.reply(&x)
		x.left += held
	}
	if c.sends() {
		c.send(&x)
		c.account()
	}
	if behind {
		c.reply(&x)
	}
	c.drained()
	return c.rsp.busy() && !c.rsp.held || x.full
}

// HoldACK reports whether all that c has to send is an ACK of SENDs, so that the caller may wait with Transmit for a moment,
// much less than the peer's local ACK timeout. If a request is posted meanwhile, the two leave in one call, and where packets
// leave as a train in one datagram of the host: Transmit puts the ACK behind the requests then. It is false where the peer is
// Linux rxe.
func (c *RC) HoldACK() bool {
	if c.peer == peerRxe || !c.mayHoldACK() || c.req.wants(c) {
		return false
	}
	c.rsp.ackHeld = true
	return true
}

// mayHoldACK reports whether an ACK of SENDs is all that the responder owes.
func (c *RC) mayHoldACK() bool {
	r := &c.rsp
	return r.reply.kind == replyACK && r.op == bth.OpSend && !r.inside && r.reads.len == 0 && c.sends()
}

// Answers reports whether READ responses, or results of atomics, are left to send.
func (c *RC) Answers() bool { return c.rsp.reads.len > 0 }

// Hold sets whether Transmit holds back the responses of READs that their peers ask for often: READs whose responses
// were sent again at least twice, and 128 packets more. What follows them in PSN order waits with them.
func (c *RC) Hold(hold bool) { c.rsp.hold = hold }

// Repeated returns how many packets of such responses the last Transmit has appended, and whether it held some back.
func (c *RC) Repeated() (packets int, held bool) { return c.rsp.repeated, c.rsp.held }

// NextTimeout returns when Timeout wants to be called; false means never.
func (c *RC) NextTimeout() (Time, bool) {
	const never = Time(math.MaxInt64)
	r, next := &c.req, never
	if r.waiting {
		next = r.rnrUntil
	}
	if r.armed {
		next = min(next, r.deadline)
		if r.probeAt != 0 {
			next = min(next, r.probeAt)
		}
	}
	if r.paused != 0 {
		next = min(next, r.paused)
	}
	if r.blocked && r.outstanding() == 0 {
		next = min(next, r.since+shareWait)
	}
	if next == never {
		return 0, false
	}
	return next, true
}

// Timeout does what is due at now. It may be called early or late.
func (c *RC) Timeout(now Time) {
	r := &c.req
	if r.waiting && now >= r.rnrUntil {
		r.waiting = false
	}
	if now >= r.paused {
		r.paused = 0
	}
	switch {
	case r.armed && now >= r.deadline:
		c.ackTimeout(now)
	case r.armed && r.probeAt != 0 && now >= r.probeAt:
		c.probe(now)
	}
	c.account()
}
