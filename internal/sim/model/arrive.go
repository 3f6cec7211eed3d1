package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// delivery is what the model knows about a frame in transit and its duplicates.
type delivery struct {
	from   *end
	epoch  int // epoch of from's connection when the frame was sent
	to     *node
	sent   *sent   // the work request of a datagram, else nil
	copies *copies // copies of a multicast datagram, else nil
}

// Arrive processes a frame that reached its node: it updates the model, then runs the machine.
func (d *delivery) Arrive(f *world.Frame) {
	net := d.from.net
	var p bth.Packet
	sound := world.Open(f.Raw, &p)
	if sound == f.Damaged {
		net.Fail("node", "a frame that was damaged on the way (%t) is found sound (%t)", f.Damaged, sound)
		return
	}
	if !sound {
		net.Stats.Caught++
		return
	}
	if d.copies != nil {
		d.arriveGroup(f.Raw, &p)
		return
	}
	e := d.to.qps[p.DestQP]
	if e == nil || e.peer() != d.from {
		net.Fail("node", "a frame for QP %#x is lost", uint32(p.DestQP))
		return
	}
	stale := d.epoch != e.conn.epoch
	info := p.Opcode.Info()
	if stale {
		if e.qp.Type != qp.RC {
			return // only TIME-WAIT protects unreliable queue pairs from old packets
		}
		e.conn.flow.Faults++ // the PSN of an old packet may be ahead of the expected one and cause a NAK
	}
	var st step
	want, judged := transport.Accepted, true
	switch {
	case e.qp.Type == qp.UC:
		st, want = e.arrivedUC(&p, info)
	case e.qp.Type == qp.UD:
		st, want = e.arrivedUD(&p, f.Raw, d)
	case info.Response():
		judged = false
		if !stale {
			st = e.answered(&p, info)
		}
	default:
		st, want = e.arrived(&p, info, stale)
	}
	if net.Violation == nil {
		e.receive(f.Raw, &p, st, want, judged)
	}
}

// receive passes a packet to e's machine and settles the step. If judged is set, the verdict must
// be want.
func (e *end) receive(raw []byte, p *bth.Packet, st step, want transport.Verdict, judged bool) {
	var got transport.Verdict
	if ud, ok := e.m.(*transport.UD); ok {
		got = ud.ReceiveFrom(e.net.Now, p, header(raw))
	} else {
		got = e.m.Receive(e.net.Now, p)
		e.heard = true
	}
	if want == transport.Duplicate && got == transport.UnknownDuplicate {
		got = want
	}
	if judged && got != want {
		e.fail("%s with PSN %d is %v, it should be %v", p.Opcode.Info().Name, p.PSN, got, want)
	}
	e.settleStep(st)
	if rc, ok := e.m.(*transport.RC); ok && e.spec.HoldsACKs && !e.turn && rc.HoldACK() {
		e.turn = true
		e.net.At(e.net.Now+scenario.Time(e.net.RNG.IntN(20_000)), e.transmit)
	}
	e.ready()
}
