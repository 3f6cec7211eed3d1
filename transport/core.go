package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// defaultPKey is the only P_Key: full member of the default partition, as rxe.
const defaultPKey = 0xffff

// core is what the machines of all service types have in common.
type core struct {
	qp   *qp.QP
	keys mr.Finder

	state qp.State // as of the last Modified, or ERR once the machine failed
	mtu   uint32   // path MTU in bytes

	gather *Gather // of the shard, may be nil

	recv    qp.RecvWQE // the receive being filled
	holding bool       // recv is valid and not completed

	established bool // COMM_EST was raised
	draining    bool // in SQD, and SQ_DRAINED is to be raised
	lastWQE     bool // QP_LAST_WQE_REACHED was raised

	out   bth.Packet // scratch for the packet being built
	wc    qp.WC      // scratch for the completion being made
	count Counters
}

// Counters returns the live counters of this queue pair.
func (c *core) Counters() *Counters { return &c.count }

// ShareGather makes the machine hold back payloads for [mr.Vectored] memory in g. It has to be called before
// the first packet; without it each payload is stored by a call of its own.
func (c *core) ShareGather(g *Gather) { c.gather = g }

// packetOf returns the scratch packet with a BTH that has the fields all packets share. Extension
// headers that the opcode does not name hold what they held before, which nobody reads.
func (c *core) packetOf(op bth.Opcode, psn bth.PSN) *bth.Packet {
	p := &c.out
	p.Opcode, p.PSN = op, psn
	p.Solicited, p.AckReq = false, false
	p.MigReq = true // the initial migration state is "migrated" (IBA 9.2.6), as RNICs send it
	p.PKey = defaultPKey
	p.DestQP = c.qp.Attr.DestQPN
	return p
}

// transmission is the state of one call of Transmit.
type transmission struct {
	core *core
	now  Time
	path *packet.Path
	dst  *packet.Batch
	left int
	full bool // something could be sent but there was no room
	stage
	of reading
}

// ahead is how many bytes of a message, of which left are to be sent, the packet whose frame was taken
// and those that may follow in this call can carry.
func (x *transmission) ahead(left uint64, mtu uint32) uint64 {
	return min(left, uint64(x.left+1)*uint64(mtu))
}

// frame returns the next frame with the header of p, or nil when there is no room.
func (x *transmission) frame(p *bth.Packet, payload uint64) *packet.Frame {
	if x.left == 0 {
		x.full = true
		return nil
	}
	f := x.dst.Next()
	if f == nil {
		x.full = true
		return nil
	}
	x.left--
	x.core.count.SentPackets++
	p.Pad = uint8(-payload & 3)
	f.Path = x.path
	f.Header = p.AppendHeaders(f.Header)
	for range p.Pad {
		f.Trailer = append(f.Trailer, 0)
	}
	return f
}

// entered takes note of the state that the queue pair was given and returns the one before.
func (c *core) entered() (was qp.State) {
	was, c.state = c.state, c.qp.State()
	if c.state != was {
		c.draining = c.state == qp.SQD && c.qp.Attr.SQDAsyncNotify
	}
	return was
}

// drained raises SQ_DRAINED, where it was asked for, once all that was started before SQD
// is complete (IBA 10.3.1.5). Machines call it at the end of whatever may complete work.
func (c *core) drained() {
	if c.draining && !c.qp.SQDraining() {
		c.gather.Settle() // for their completions
		c.draining = false
		if c.state == qp.SQD {
			c.qp.Raise(qp.EventSQDrained)
		}
	}
}

// communicates raises COMM_EST at the first request that arrives in RTR: the peer is
// connected, whether or not it could say so in another way.
func (c *core) communicates() {
	if c.state == qp.RTR && !c.established {
		c.established = true
		c.qp.Raise(qp.EventCommEst)
	}
}

// enterSQE brings an unreliable queue pair whose send queue failed into SQE: what is queued
// and what is posted is flushed, and receiving goes on (IBA 10.3.1.6).
func (c *core) enterSQE() {
	c.state, c.qp.Attr.State = qp.SQE, qp.SQE
	c.flushSends()
}

// sends is true in the states in which requests leave: in SQD those that were started.
func (c *core) sends() bool { return c.state == qp.RTS || c.state == qp.SQD }

// peer is what is known of the implementation at the other end, for the places in which
// Linux rxe departs from the rules.
type peer uint8

const (
	peerUnknown peer = iota // nothing came from it yet
	peerRxe                 // it does not set MigReq
	peerRNIC                // it does
)

// peerOf tells who sent p: rxe never sets MigReq, RNICs do from the start (IBA 9.2.6).
func peerOf(p *bth.Packet) peer {
	if p.MigReq {
		return peerRNIC
	}
	return peerRxe
}

// unreliable is the send queue of the services that wait for no answer, UC and UD: a work
// request is done when its packets have left.
type unreliable struct {
	core
	next bth.PSN // of the next packet
	cur  uint32  // free-running index of the work request being sent
	sent uint32  // those before it were handed to the link as a whole
}

func newUnreliable(q *qp.QP, keys *mr.Table) unreliable {
	return unreliable{core: core{qp: q, keys: mr.Finder{Table: keys}}}
}

// restart goes on with the work request at the head of the queue.
func (c *unreliable) restart() { c.cur, c.sent = c.qp.SQ.Head(), c.qp.SQ.Head() }

// flush completes both queues with WR_FLUSH_ERR.
func (c *unreliable) flush() {
	c.flushQueues()
	c.restart()
}

// enterError brings the queue pair into ERR and flushes its queues.
func (c *unreliable) enterError() {
	c.state, c.qp.Attr.State = qp.ERR, qp.ERR
	c.flush()
}

// Posted tells the machine that work requests were queued. In ERR all of them are flushed
// at once, in SQE those of the send queue (IBA 10.3.1).
func (c *unreliable) Posted() {
	switch c.state {
	case qp.ERR:
		c.flush()
	case qp.SQE:
		c.flushSends()
		c.restart()
	}
}

// NextTimeout is never: nothing waits for an answer.
func (c *unreliable) NextTimeout() (Time, bool) { return 0, false }

// Timeout does nothing.
func (c *unreliable) Timeout(Time) {}

// Sent completes the work requests whose last packet has left, and reports whether
// Transmit has something to do again.
func (c *unreliable) Sent(Time) (more bool) {
	for c.sends() && c.qp.SQ.Head() != c.sent {
		c.completeHead(qp.WCSuccess)
	}
	c.drained()
	return c.sends() && c.cur != c.qp.SQ.Tail() && (c.state == qp.RTS || c.qp.SQ.At(c.cur).Started)
}

// failAt fails the work request that cannot be sent, once those before it are complete. It
// takes the send queue with it, while receives go on (IBA 10.3.1, state SQE).
func (c *unreliable) failAt(status qp.WCStatus) {
	if c.cur != c.qp.SQ.Head() {
		return
	}
	c.completeHead(status)
	c.enterSQE()
	c.restart()
}
