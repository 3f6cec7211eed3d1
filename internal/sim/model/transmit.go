package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
)

// ready schedules a turn to send and updates the timer.
func (e *end) ready() {
	if !e.turn {
		e.turn = true
		e.net.At(e.net.Now+scenario.Time(e.net.RNG.IntN(2000)), e.transmit)
	}
	e.mindTimer()
}

func (e *end) mindTimer() {
	if at, ok := e.m.NextTimeout(); ok && (e.wake == 0 || at < e.wake) {
		e.wake = max(at, e.net.Now)
		// The timer fires late by a random delay, as on a real host.
		e.net.At(e.wake+scenario.Time(e.net.RNG.IntN(5000)), e.timer)
	}
}

// timer calls Timeout of the machine. The call is early if the machine now has a later timeout.
func (e *end) timer() {
	e.wake = 0
	if _, ok := e.m.NextTimeout(); ok {
		r := &e.requester
		var st step
		fires := r.armed && e.net.Now >= r.deadline
		probes := r.armed && !fires && r.probeAt != 0 && e.net.Now >= r.probeAt
		e.m.Timeout(e.net.Now)
		r.waiting = r.waiting && e.net.Now < r.rnrUntil
		if r.armed = r.armed && !fires; fires && r.cursor != r.una {
			r.onTimeout()
			e.again(&st)
			r.backoff++
			r.reactedToNAK = false
		}
		if probes {
			e.probe()
		}
		e.settleStep(st)
		e.ready()
	}
	e.mindTimer()
}

// transmit is e's turn to send.
func (e *end) transmit() {
	e.turn = false
	net := e.net
	ends := e.endings()
	e.worked = e.cause == "" && e.broken == ""
	net.batch.LinkHasGSO = e.spec.Trains
	limit := 1 + net.RNG.IntN(net.batch.Cap())
	more := e.m.Transmit(net.Now, &e.path, net.batch, limit)
	l := net.Link(e.node.index, e.peer().node.index)
	for i := range net.batch.Len() {
		d := &delivery{from: e, epoch: e.conn.epoch, to: e.peer().node}
		f := &world.Frame{Raw: world.Seal(net.batch.At(i), uint16(l.Sent)), Flow: &e.conn.flow, To: d}
		if d.sent = e.check(f.Raw); d.sent != nil && d.sent.group != nil {
			net.spread(f, d)
		} else {
			net.Carry(l, f)
		}
	}
	e.endsTurn(limit)
	net.batch.Reset()
	if s, ok := e.m.(interface{ Sent(scenario.Time) bool }); ok {
		more = s.Sent(net.Now) || more
		e.requester.una = e.requester.cursor
	}
	e.settle()
	e.worked = false
	e.checkEndings(ends)
	if r := &e.responder; !more && e.alive() && (r.owesACK || r.owesNAK || r.refused != 0) {
		e.fail("the peer is owed an acknowledgement (%t), a NAK (%t) or an error NAK (%v) and gets none", r.owesACK,
			r.owesNAK, r.refused)
	}
	if more && !e.turn {
		e.turn = true
		net.At(l.Clear(net.Now), e.transmit)
	}
	e.mindTimer()
}

// check checks an outgoing packet against the model. It returns the work request of a datagram,
// else nil.
func (e *end) check(raw []byte) (datagram *sent) {
	var p bth.Packet
	if !world.Open(raw, &p) {
		e.fail("a packet is sent that does not decode or has a wrong ICRC: % x", raw)
		return nil
	}
	info := p.Opcode.Info()
	to := e.peer().qp.Num
	if e.qp.Type == qp.UD {
		if datagram = e.at(e.seq(p.PSN)); datagram != nil && datagram.group != nil {
			to = bth.MulticastQPN
		}
	}
	if p.DestQP != to || p.PKey != 0xffff {
		e.fail("%s goes to QP %#x with P_Key %#x", info.Name, uint32(p.DestQP), p.PKey)
	}
	switch {
	case info.Service == bth.ServiceUC && e.qp.Type == qp.UC:
		e.emittedUC(&p, info)
	case info.Service == bth.ServiceUD && e.qp.Type == qp.UD:
		e.emittedUD(&p, info)
	case info.Service != bth.ServiceRC || e.qp.Type != qp.RC:
		e.fail("%s is sent by a queue pair of type %v", info.Name, e.qp.Type)
	case info.Response():
		e.replied(&p, info)
	default:
		e.emitted(&p, info)
	}
	return datagram
}
