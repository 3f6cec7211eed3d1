package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A machine is the transport of one queue pair; see package transport. Every call is made with
// the shard's lock held.
type machine interface {
	Receive(now transport.Time, p *bth.Packet) transport.Verdict
	Transmit(now transport.Time, path *packet.Path, dst *packet.Batch, limit int) (more bool)
	NextTimeout() (transport.Time, bool)
	Timeout(now transport.Time)
	Modified(now transport.Time)
	Posted()
	Counters() *transport.Counters
	Progress() transport.Progress
}

// A sentNotifier is a machine whose requests complete once they are sent. Sent is called after the
// link accepted all frames that Transmit appended; it reports whether Transmit must be called
// again.
type sentNotifier interface {
	Sent(now transport.Time) (more bool)
}

// An invalidator is a machine whose peer can invalidate keys. Invalidates reports whether receiving
// p may invalidate a key.
type invalidator interface {
	Invalidates(p *bth.Packet) bool
}

// A responseSource is a machine whose peer can request data. HasResponses reports whether responses
// are left to send. After HoldReplays(true), responses that the peer has requested repeatedly wait
// until HoldReplays(false). Replayed returns how many packets of such responses the last Transmit
// appended, and whether Transmit held any back.
type responseSource interface {
	HasResponses() bool
	HoldReplays(hold bool)
	Replayed() (packets int, held bool)
}

// An ackHolder is a machine whose acknowledgements can be delayed. HoldACK reports whether the
// machine has nothing to send but an acknowledgement that may wait for a moment.
type ackHolder interface {
	HoldACK() bool
}

// A sharer is a machine that takes part in a [transport.Share], the limit on outstanding packets
// towards one address. Blocked reports whether the last Transmit stopped because the share was
// used up.
type sharer interface {
	Join(s *transport.Share)
	Blocked() bool
}

// A datagramMachine has no peer. Link returns the index in the GID table for the next datagram; ok
// is false if there is no datagram to send. Packets are received from any host, with their network
// header.
type datagramMachine interface {
	Link() (index int, ok bool)
	ReceiveFrom(now transport.Time, p *bth.Packet, grh *transport.GRH) transport.Verdict
}

// newMachine returns the machine for q's type. The queue pairs of a shard share its EarlyPool and
// its StoreBatch.
func (s *shard) newMachine(q *qp.QP) (machine, error) {
	d := s.dev
	switch q.Type {
	case qp.RC:
		rc := transport.NewRC(q, d.keys, &d.transport)
		rc.ShareEarly(&s.early)
		rc.ShareStoreBatch(&s.storeBatch)
		return rc, nil
	case qp.UC:
		uc := transport.NewUC(q, d.keys)
		uc.ShareStoreBatch(&s.storeBatch)
		return uc, nil
	case qp.UD, qp.GSI:
		return transport.NewUD(q, d.keys), nil
	}
	return nil, fmt.Errorf("queue pair type %v is not supported: use %v, %v or %v", q.Type, qp.RC, qp.UC, qp.UD)
}

// An Observer observes the queue pairs of a device, for traces. Its methods are called with a
// shard's lock held: they must not call the device or keep their arguments.
type Observer interface {
	// Sending is called before f, a request packet of queue pair q for the work request wr, is
	// sent.
	Sending(q bth.QPN, f *packet.Frame, wr *qp.SendWQE)
	// Receiving is called before q processes p, and Received afterwards: calls between the two
	// result from p.
	Receiving(q bth.QPN, p *bth.Packet)
	Received(q bth.QPN)
	// Completed is called for each completion of q. wr is its send work request, nil for a
	// receive.
	Completed(q bth.QPN, wc *qp.WC, wr *qp.SendWQE)
	// Changed is called when q's state changes.
	Changed(q bth.QPN, from, to qp.State)
}

// observe makes o, if it is not nil, observe the completions of q: it replaces q's CQs by
// observedCQs. The changes of q's state are observed through its machine, which shard.enter wraps
// in an observed.
func (q *QP) observe(o Observer) {
	if o == nil {
		return
	}
	q.attr.SendCQ = &observedCQ{q.attr.SendCQ, q, o, true}
	q.attr.RecvCQ = &observedCQ{q.attr.RecvCQ, q, o, false}
}

// observed is a machine with an observer. A failure to store data that was held back from earlier
// packets (see transport.StoreBatch) is observed in the next call.
type observed struct {
	machine
	q     *QP
	o     Observer
	state qp.State // last state that was reported
}

// changed reports the state of the queue pair if it has changed.
func (m *observed) changed() {
	if now := m.q.attr.State(); now != m.state {
		m.o.Changed(m.q.attr.Num, m.state, now)
		m.state = now
	}
}

func (m *observed) Receive(now transport.Time, p *bth.Packet) transport.Verdict {
	m.o.Receiving(m.q.attr.Num, p)
	v := m.machine.Receive(now, p)
	m.changed()
	m.o.Received(m.q.attr.Num)
	return v
}

func (m *observed) Transmit(now transport.Time, path *packet.Path, dst *packet.Batch, limit int) (more bool) {
	had := dst.Len()
	more = m.machine.Transmit(now, path, dst, limit)
	for i := had; i < dst.Len(); i++ {
		f := dst.At(i)
		if wr := m.cause(f.Header); wr != nil {
			m.o.Sending(m.q.attr.Num, f, wr)
		}
	}
	m.changed()
	return more
}

func (m *observed) Timeout(now transport.Time) {
	m.machine.Timeout(now)
	m.changed()
}

func (m *observed) Modified(now transport.Time) {
	m.machine.Modified(now)
	m.changed()
}

// observedDatagrams is a datagramMachine with an observer.
type observedDatagrams struct {
	datagramMachine
	by *observed
}

func (m *observedDatagrams) ReceiveFrom(now transport.Time, p *bth.Packet, grh *transport.GRH) transport.Verdict {
	m.by.o.Receiving(m.by.q.attr.Num, p)
	v := m.datagramMachine.ReceiveFrom(now, p, grh)
	m.by.changed()
	m.by.o.Received(m.by.q.attr.Num)
	return v
}

// cause returns the work request of the request packet with the given header, nil for other
// packets.
func (m *observed) cause(header []byte) *qp.SendWQE {
	if len(header) < bth.BTHLen || !bth.Opcode(header[0]).Info().Request() {
		return nil
	}
	psn := bth.PSN(uint32(header[9])<<16 | uint32(header[10])<<8 | uint32(header[11]))
	sq := m.q.attr.SQ
	for i := sq.Head(); i != sq.Tail(); i++ {
		w := sq.At(i)
		if !w.Started {
			return nil
		}
		if d := psn.Diff(w.FirstPSN); d >= 0 && d < int32(w.Packets) {
			return w
		}
	}
	return nil
}

// observedCQ is a completion queue of one queue pair with an observer.
type observedCQ struct {
	qp.CompletionSink
	q     *QP
	o     Observer
	sends bool // CQ of q's sends, not of its receives
}

func (c *observedCQ) Complete(wc *qp.WC) {
	var wr *qp.SendWQE
	if sq := c.q.attr.SQ; c.sends && sq.Len() > 0 {
		wr = sq.At(sq.Head())
	}
	c.o.Completed(c.q.attr.Num, wc, wr)
	c.CompletionSink.Complete(wc)
}
