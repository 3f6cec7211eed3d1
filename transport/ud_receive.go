package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Receive is ReceiveFrom for a datagram whose network header nobody saw.
func (c *UD) Receive(now Time, p *bth.Packet) Verdict { return c.ReceiveFrom(now, p, &GRH{}) }

// ReceiveFrom takes one packet for this queue pair, which came with the network header grh.
// Both are borrowed for the call.
func (c *UD) ReceiveFrom(_ Time, p *bth.Packet, grh *GRH) Verdict {
	c.count.ReceivedPackets++
	info := p.Opcode.Info()
	if !info.Valid || info.Service != bth.ServiceUD {
		return WrongService
	}
	switch c.state {
	case qp.RTR, qp.RTS, qp.SQD, qp.SQE:
	default:
		return WrongState
	}
	if p.DETH.QKey != c.qkey() {
		c.count.QKeyViolations++
		return BadQKey
	}
	if !c.holding && !c.takeReceive() {
		return NoReceive
	}
	if resolve(c.keys, c.qp.Recv.PD(), c.recv.SG, mr.LocalWrite) != mr.OK {
		return c.failReceive()
	}
	n := GRHLen + uint64(len(p.Payload))
	if n > c.recv.Length {
		return c.tooLong()
	}
	if scatter(c.recv.SG, 0, grh[:]) != mr.OK || scatter(c.recv.SG, GRHLen, p.Payload) != mr.OK {
		return c.failReceive()
	}
	wc := qp.WC{
		Status: qp.WCSuccess, Opcode: qp.WCRecv, ByteLen: uint32(n), Solicited: p.Solicited,
		Flags: qp.GRH, SrcQP: p.DETH.SrcQP,
	}
	if info.Headers&bth.HasImmDt != 0 {
		wc.Flags |= qp.WithImm
		wc.Imm = p.Imm
	}
	c.completeReceive(wc)
	return Accepted
}

// tooLong drops a datagram for which the receive is too small. As on rxe the receive
// serves the next one, unless it was taken from a shared source and would be missing there: then it
// completes with an error. The queue pair goes on.
func (c *UD) tooLong() Verdict {
	if c.qp.Recv.Shared() {
		c.completeReceive(qp.WC{Status: qp.WCRemInvReqErr})
	}
	return TooLong
}

// failReceive ends a receive whose memory is not what it has to be.
func (c *UD) failReceive() Verdict {
	c.completeReceive(qp.WC{Status: qp.WCLocProtErr})
	c.enterError()
	return LocalError
}
