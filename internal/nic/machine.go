package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A machine is the transport of one queue pair, as package transport describes it.
// Every call is made with the shard's lock held.
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

// A completer is a machine whose requests are complete once they have left. Sent is called
// after the link took all that Transmit put into the batch; it reports whether Transmit
// has something to do again.
type completer interface {
	Sent(now transport.Time) (more bool)
}

// An invalidator is a machine whose peer can take keys away. Invalidates reports whether to receive p may do that.
type invalidator interface {
	Invalidates(p *bth.Packet) bool
}

// An answerer is a machine whose peer can ask for data. Answers reports whether some of it is left
// to send. Data that was asked for often waits while Hold is set; Repeated returns how many packets of it the last
// Transmit has appended, and whether it held some back.
type answerer interface {
	Answers() bool
	Hold(hold bool)
	Repeated() (packets int, held bool)
}

// An ackHolder is a machine that may have nothing to send but an acknowledgement that can wait for a moment, which HoldACK
// reports.
type ackHolder interface {
	HoldACK() bool
}

// A sharer is a machine that has a share of what the device has outstanding towards one address. Blocked
// reports whether the last Transmit stopped for want of room in it.
type sharer interface {
	Join(s *transport.Share)
	Blocked() bool
}

// A datagramMachine has no peer: its requests leave by the link that Link names, in any
// turn another one, and its packets come from everywhere, with the header that tells.
type datagramMachine interface {
	Link() (index int, ok bool)
	ReceiveFrom(now transport.Time, p *bth.Packet, grh *transport.GRH) transport.Verdict
}

// newMachine returns the machine for q's type. The queue pairs of a shard share what they
// keep packets in.
func (s *shard) newMachine(q *qp.QP) (machine, error) {
	d := s.dev
	switch q.Type {
	case qp.RC:
		rc := transport.NewRC(q, d.keys, &d.transport)
		rc.ShareEarly(&s.early)
		rc.ShareGather(&s.gather)
		return rc, nil
	case qp.UC:
		uc := transport.NewUC(q, d.keys)
		uc.ShareGather(&s.gather)
		return uc, nil
	case qp.UD, qp.GSI:
		return transport.NewUD(q, d.keys), nil
	}
	return nil, fmt.Errorf("queue pair type %v is not supported: use %v, %v or %v", q.Type, qp.RC, qp.UC, qp.UD)
}

// An Observer is told what the queue pairs of a device do, for traces. It is called with the lock of the data path held: it must
// not call the device, and it keeps nothing of what it is shown.
type Observer interface {
	// Sending tells that f, a request of queue pair q, is going to be sent for the work request wr.
	Sending(q bth.QPN, f *packet.Frame, wr *qp.SendWQE)
	// Receiving tells that q takes p, and Received that it has: what is told in between comes of it.
	Receiving(q bth.QPN, p *bth.Packet)
	Received(q bth.QPN)
	// Completed tells of a completion of q: that of the work request wr, or of a receive, for which wr is nil.
	Completed(q bth.QPN, wc *qp.WC, wr *qp.SendWQE)
	// Changed tells of a change of q's state.
	Changed(q bth.QPN, from, to qp.State)
}

// observe lets the device's observer look at what q's machine is going to do. What it takes stands between the machine and
// the others; where nobody observes there is nothing.
func (q *QP) observe(o Observer) {
	if o == nil {
		return
	}
	q.attr.SendCQ = &observedCQ{q.attr.SendCQ, q, o, true}
	q.attr.RecvCQ = &observedCQ{q.attr.RecvCQ, q, o, false}
}

// observed is a machine that somebody looks at. A failure to store what was held back of earlier packets (see
// transport.Gather) shows at the next call.
type observed struct {
	machine
	q     *QP
	o     Observer
	state qp.State // that was told last
}

// changed tells of a new state.
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

// observedDatagrams is a machine of datagrams that somebody looks at.
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

// cause is the work request of a request packet, nil of others.
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

// observedCQ is a completion queue of one queue pair that somebody looks at.
type observedCQ struct {
	qp.Completer
	q     *QP
	o     Observer
	sends bool
}

func (c *observedCQ) Complete(wc *qp.WC) {
	var wr *qp.SendWQE
	if sq := c.q.attr.SQ; c.sends && sq.Len() > 0 {
		wr = sq.At(sq.Head())
	}
	c.o.Completed(c.q.attr.Num, wc, wr)
	c.Completer.Complete(wc)
}
