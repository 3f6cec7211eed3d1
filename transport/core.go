package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// This file has what all machines share: the state that the requester and the responder of any
// service need (core), the state of one call of Transmit (transmission), and the send queue of the
// two services without acknowledgements (unreliable).

// defaultPKey is the P_Key of every packet sent: full member of the default partition. It is the
// only P_Key, as in Linux rxe. The caller of Receive drops packets of other partitions (IBA
// A17.4.7).
const defaultPKey = 0xffff

// core is the part that the machines of all service types have in common.
type core struct {
	qp   *qp.QP
	keys mr.Finder

	state qp.State // state as of the last Modified, or ERR or SQE after a failure
	mtu   uint32   // path MTU in bytes

	storeBatch *StoreBatch // see ShareStoreBatch; nil if there is none

	recv    qp.RecvWQE // receive being filled
	hasRecv bool       // recv is taken from the queue and not completed

	established bool // COMM_EST was raised
	draining    bool // the state is SQD, and SQ_DRAINED must be raised
	lastWQE     bool // QP_LAST_WQE_REACHED was raised

	out   bth.Packet // scratch for the packet being built
	wc    qp.WC      // scratch for the completion being built
	count Counters
}

// Counters returns the live counters of this queue pair.
func (c *core) Counters() *Counters { return &c.count }

// ShareStoreBatch makes the machine hold back payloads for [mr.Vectored] memory in g. It must be
// called before the first packet. Without a StoreBatch, each payload is stored by a call of its
// own.
func (c *core) ShareStoreBatch(g *StoreBatch) { c.storeBatch = g }

// packetOf returns the scratch packet with the BTH fields that all packets have. Extension headers
// keep old values; only those of the opcode are encoded. Reserved bits, FECN and BECN are 0. SE and
// AckReq are clear; the caller sets them where the message needs them.
func (c *core) packetOf(op bth.Opcode, psn bth.PSN) *bth.Packet {
	p := &c.out
	p.Opcode, p.PSN = op, psn
	p.Solicited, p.AckReq = false, false
	// MigReq is set, because the initial migration state of a queue pair is "migrated" (IBA 9.2.6).
	// RNICs send it so. Linux rxe always clears it, and ignores it in received packets.
	p.MigReq = true
	p.PKey = defaultPKey
	// A UD replaces it by the queue pair number in its work request.
	p.DestQP = c.qp.Attr.DestQPN
	return p
}

// transmission is the state of one call of Transmit.
type transmission struct {
	core       *core
	now        Time
	path       *packet.Path // path of the frames
	dst        *packet.Batch
	framesLeft int        // frames that may still be appended
	full       bool       // a packet could be sent, but there was no room for its frame
	stage                 // staging buffer of this call
	source     readSource // message that the payload is read from
}

// bytesAhead returns how many bytes this call of Transmit can still send of a message that has left
// bytes remaining: in the packet whose frame was just taken and in the frames that may be appended.
func (x *transmission) bytesAhead(left uint64, mtu uint32) uint64 {
	return min(left, uint64(x.framesLeft+1)*uint64(mtu))
}

// frame returns the next frame, with the header of p, or nil if there is no room. payload is the
// length of the payload in bytes. Up to 3 pad bytes, which the pad count in the BTH states, extend
// the payload to a multiple of 4 bytes (IBA 9.2).
func (x *transmission) frame(p *bth.Packet, payload uint64) *packet.Frame {
	if x.framesLeft == 0 {
		x.full = true
		return nil
	}
	f := x.dst.AppendFrame()
	if f == nil {
		x.full = true
		return nil
	}
	x.framesLeft--
	x.core.count.SentPackets++
	p.Pad = uint8(-payload & 3)
	f.Path = x.path
	f.Header = p.AppendHeaders(f.Header)
	for range p.Pad {
		f.Trailer = append(f.Trailer, 0)
	}
	return f
}

// takeState sets c.state to the state of the queue pair and returns the previous one. If the state
// has changed, takeState also sets draining: SQ_DRAINED must be raised in SQD if the program
// requested it for this transition.
func (c *core) takeState() (was qp.State) {
	was, c.state = c.state, c.qp.State()
	if c.state != was {
		c.draining = c.state == qp.SQD && c.qp.Attr.SQDAsyncNotify
	}
	return was
}

// drained raises SQ_DRAINED, if the program requested it, once all work requests started before SQD
// are complete. In SQD, requests that were not started stay in the queue (IBA 10.3.1.5). Machines
// call drained at the end of each method that may complete work.
func (c *core) drained() {
	if c.draining && !c.qp.SQDraining() {
		c.storeBatch.Settle() // completions of the last requests may be held back
		c.draining = false
		if c.state == qp.SQD {
			c.qp.Raise(qp.EventSQDrained)
		}
	}
}

// raiseCommEst raises COMM_EST at the first request that arrives in RTR. The request proves that
// the connection is established, even if the RTU of the connection manager is late or lost. A
// responder executes requests in RTR, before the program has moved the queue pair to RTS.
func (c *core) raiseCommEst() {
	if c.state == qp.RTR && !c.established {
		c.established = true
		c.qp.Raise(qp.EventCommEst)
	}
}

// enterSQE puts an unreliable queue pair whose send queue failed into SQE: queued and later sends
// are flushed, and receiving continues (IBA 10.3.1.6). A reliable connection has no such state; its
// failures end in ERR. Linux rxe enters ERR in all cases.
func (c *core) enterSQE() {
	c.state, c.qp.Attr.State = qp.SQE, qp.SQE
	c.flushSends()
}

// maySend reports whether requests may be sent: in RTS, and in SQD those that were started before
// the transition (IBA 10.3.1.5).
func (c *core) maySend() bool { return c.state == qp.RTS || c.state == qp.SQD }

// peer is the kind of implementation at the other end, for the cases in which Linux rxe departs
// from the rules.
type peer uint8

const (
	peerUnknown peer = iota // no packet has arrived yet
	peerRxe                 // MigReq is not set
	peerRNIC                // MigReq is set
)

// peerOf returns the kind of implementation that sent p: Linux rxe never sets MigReq; RNICs set it
// from the start, because they begin in the state "migrated" (IBA 9.2.6).
func peerOf(p *bth.Packet) peer {
	if p.MigReq {
		return peerRNIC
	}
	return peerRxe
}

// unreliable is the send queue of UC and UD, the services without acknowledgements. A work request
// is complete when its last packet has been handed to the network (IBA 9.8). Nothing is ever sent
// again.
type unreliable struct {
	core
	next bth.PSN // PSN of the next packet; a UD counts it too, but its receivers ignore it
	cur  uint32  // number of the work request being sent, as in [qp.SendQueue]
	sent uint32  // number of the first work request not completely put into a batch
}

func newUnreliable(q *qp.QP, keys *mr.Table) unreliable {
	return unreliable{core: core{qp: q, keys: mr.Finder{Table: keys}}}
}

// restart makes sending start at the head of the send queue.
func (c *unreliable) restart() { c.cur, c.sent = c.qp.SQ.Head(), c.qp.SQ.Head() }

// flush completes all requests of both queues with WR_FLUSH_ERR.
func (c *unreliable) flush() {
	c.flushQueues()
	c.restart()
}

// enterError puts the queue pair into ERR and flushes its queues.
func (c *unreliable) enterError() {
	c.state, c.qp.Attr.State = qp.ERR, qp.ERR
	c.flush()
}

// Posted tells the machine that work requests were posted. In ERR all are flushed at once, in SQE
// those of the send queue (IBA 10.3.1).
func (c *unreliable) Posted() {
	switch c.state {
	case qp.ERR:
		c.flush()
	case qp.SQE:
		c.flushSends()
		c.restart()
	}
}

// NextTimeout returns false: no timer runs, because no answer is expected. It exists for callers
// that treat all machines alike, as does Timeout.
func (c *unreliable) NextTimeout() (Time, bool) { return 0, false }

// Timeout does nothing.
func (c *unreliable) Timeout(Time) {}

// Sent completes the work requests whose last packet has left (IBA 9.8), and reports whether
// Transmit has something to do: a queued request or, in SQD, a request that was started before.
func (c *unreliable) Sent(Time) (more bool) {
	for c.maySend() && c.qp.SQ.Head() != c.sent {
		c.completeHead(qp.WCSuccess)
	}
	c.drained()
	return c.maySend() && c.cur != c.qp.SQ.Tail() && (c.state == qp.RTS || c.qp.SQ.At(c.cur).Started)
}

// failAt fails the work request at cur once all requests before it are complete, because
// completions keep the order of the queue. Until then it does nothing, and Transmit tries the
// request again. The send queue enters SQE, while receiving continues (IBA 10.3.1.6).
func (c *unreliable) failAt(status qp.WCStatus) {
	if c.cur != c.qp.SQ.Head() {
		return
	}
	c.completeHead(status)
	c.enterSQE()
	c.restart()
}
