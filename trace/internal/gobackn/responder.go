package gobackn

import "github.com/gorxe/gorxe/bth"

// response is what a responder has to send: an acknowledgement, or the responses of a READ or
// atomic.
type response struct {
	kind    bth.Operation // OpAck, OpReadResponse or OpAtomicAck
	psn     bth.PSN       // next PSN to send
	aeth    bth.AETH
	message *Message
	first   bool    // no READ response was sent yet
	end     bth.PSN // PSN after the responses
}

// receive handles a request.
func (q *queuePair) receive(p *Sent) {
	switch d := p.PSN.Diff(q.expected); {
	case d > 0:
		q.tooNew(p)
	case d < 0:
		q.duplicate(p)
	default:
		q.inOrder(p)
	}
}

// tooNew handles a request after a missing one: one sequence NAK per gap (IBA 9.7.5.1.3).
func (q *queuePair) tooNew(*Sent) {
	if q.nakked || q.refused && !q.sim.Device.NAKAfterRNR {
		return
	}
	q.nakked = true
	q.respond(response{kind: bth.OpAck, psn: q.expected, aeth: bth.AETH{Syndrome: bth.NakPSNSequence, MSN: q.msn}})
}

// duplicate handles a request that was executed before (IBA 9.7.5.1.4): SENDs and WRITEs are
// acknowledged again, READs are executed again, and atomics answered with the saved result.
func (q *queuePair) duplicate(p *Sent) {
	switch m := p.Message; {
	case m.Verb.Data():
		q.serve(p)
	case p.AckReq || q.sim.Device.AckDuplicates:
		q.ack(q.executed(m))
	}
}

// executed returns the newest executed PSN that an acknowledgement of the duplicate m may have: the
// responses to later READs and atomics follow it.
func (q *queuePair) executed(m *Message) bth.PSN {
	for _, m := range q.peer.messages()[m.index:] {
		if m.Verb.Data() && m.First.Before(q.expected) {
			return m.First.Sub(1)
		}
	}
	return q.expected.Sub(1)
}

func (q *queuePair) inOrder(p *Sent) {
	m := p.Message
	info := p.Opcode.Info()
	last := info.Ends() || m.Verb.Data()
	needsReceive := m.Verb == Send && p.PSN == m.First || m.Verb == WriteImm && last
	q.nakked = false
	if needsReceive && q.sim.chance(q.sim.NotReady) {
		q.refused = true
		q.respond(response{kind: bth.OpAck, psn: p.PSN, aeth: bth.AETH{Syndrome: bth.RNR(q.sim.RNRTimer), MSN: q.msn}})
		return
	}
	q.refused = false
	if last {
		q.msn = (q.msn + 1) & uint32(bth.MaxPSN)
	}
	if m.Verb.Data() {
		q.expected = m.End()
		q.serve(p)
		return
	}
	q.expected = q.expected.Add(1)
	if p.AckReq {
		q.ack(p.PSN)
	}
}

// serve sends the data that the READ or atomic p requests.
func (q *queuePair) serve(p *Sent) {
	r := response{kind: bth.OpAtomicAck, psn: p.PSN, end: p.PSN.Add(1), message: p.Message, first: true,
		aeth: bth.AETH{Syndrome: bth.AckUnlimited, MSN: q.msn}}
	if p.Message.Verb == Read {
		r.kind, r.end = bth.OpReadResponse, p.Message.End()
	}
	q.respond(r)
}

// ack acknowledges psn. It replaces an acknowledgement that was not sent yet.
func (q *queuePair) ack(psn bth.PSN) {
	if n := len(q.responses); n > 0 {
		if r := &q.responses[n-1]; r.kind == bth.OpAck && r.aeth.Syndrome.IsAck() {
			r.psn, r.aeth.MSN = psn, q.msn
			return
		}
	}
	q.respond(response{kind: bth.OpAck, psn: psn, aeth: bth.AETH{Syndrome: bth.AckUnlimited, MSN: q.msn}})
}

func (q *queuePair) respond(r response) {
	q.responses = append(q.responses, r)
	q.wantResponse()
}

// nextResponse returns the next response packet, or nil, and whether there are more.
func (q *queuePair) nextResponse() (p *Sent, more bool) {
	if len(q.responses) == 0 {
		return nil, false
	}
	r := &q.responses[0]
	over := true
	switch r.kind {
	case bth.OpAck:
		p = q.packet(bth.RCAck, r.psn)
	case bth.OpAtomicAck:
		p = q.packet(bth.RCAtomicAck, r.psn)
	default:
		over = r.psn.Add(1) == r.end
		p = q.packet(position(r.first, over, bth.RCReadResponseFirst, bth.RCReadResponseMiddle,
			bth.RCReadResponseLast, bth.RCReadResponseOnly), r.psn)
		offset := int(r.psn.Diff(r.message.First))
		p.Len = min(q.sim.MTU, r.message.Len-offset*q.sim.MTU)
	}
	p.AETH, p.Message = r.aeth, r.message
	r.first = false
	r.psn = r.psn.Add(1)
	if over {
		q.responses = q.responses[1:]
	}
	return p, len(q.responses) > 0
}
