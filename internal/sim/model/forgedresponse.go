package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/packet"
)

// forgedResponses are responses that no peer sent.
var forgedResponses = []bth.Packet{
	{Opcode: bth.RCAck, AETH: bth.AETH{Syndrome: bth.AckUnlimited}},
	{Opcode: bth.RCAck, AETH: bth.AETH{Syndrome: bth.NakPSNSequence}},
	{Opcode: bth.RCAck, AETH: bth.AETH{Syndrome: bth.NakRemoteAccess}},
	{Opcode: bth.RCAck, AETH: bth.AETH{Syndrome: bth.RNR(1)}},
	{Opcode: bth.RCReadResponseOnly, AETH: bth.AETH{Syndrome: bth.AckUnlimited}},
	{Opcode: bth.RCAtomicAck, AETH: bth.AETH{Syndrome: bth.AckUnlimited}},
}

// deliverForgedResponse delivers a response with a PSN just outside those that e awaits.
func (e *end) deliverForgedResponse(a *scenario.Act) {
	r := &e.requester
	p := forgedResponses[a.Imm%uint32(len(forgedResponses))]
	far := a.Imm >> 16 & 3
	p.PSN = e.psn.Add(uint32(r.next) + far)
	if a.Imm>>24&1 != 0 {
		p.PSN = e.psn.Add(uint32(r.una)).Sub(1 + far)
	}
	p.PKey, p.DestQP, p.MigReq = 0xffff, e.qp.Num, true
	b := packet.NewBatch(1)
	f := b.AppendFrame()
	f.Path = &e.peer().path
	f.Header = p.AppendHeaders(f.Header)
	d := &delivery{from: e.peer(), epoch: e.conn.epoch, to: e.node}
	d.Arrive(&world.Frame{Raw: world.Seal(f, 0)})
}
