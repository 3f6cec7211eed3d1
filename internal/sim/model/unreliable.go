package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// emittedUC checks an outgoing packet of an unreliable connection: each is sent once, in order.
func (e *end) emittedUC(p *bth.Packet, info *bth.OpcodeInfo) {
	r := &e.requester
	seq := e.seq(p.PSN)
	s := e.at(seq)
	if s == nil || seq != r.cursor {
		e.fail("%s is number %d, the next to be sent is %d", info.Name, seq, r.cursor)
		return
	}
	if seq == s.first {
		e.checkBegin(s)
	}
	r.cursor++
	if p.AckReq {
		e.fail("%s asks for an acknowledgement", info.Name)
	}
	e.checkRequest(p, info, s, seq)
}

// arrivedUC applies a packet of an unreliable connection to the model. After a gap the rest of
// the message is dropped; its receive remains for the next message.
func (e *end) arrivedUC(p *bth.Packet, info *bth.OpcodeInfo) (st step, v transport.Verdict) {
	r := &e.responder
	peer := e.peer()
	seq := peer.seq(p.PSN)
	if !e.alive() {
		return st, transport.WrongState
	}
	e.communicates()
	if seq != r.expected {
		r.inside = nil
	}
	r.expected = seq + 1
	s := peer.at(seq)
	if seq == s.first {
		r.inside = s
		if v := e.beginUC(s); v != transport.Accepted {
			r.inside = nil
			return st, v
		}
	}
	if r.inside != s {
		r.inside = nil
		return st, transport.OutOfSequence
	}
	if v = e.storeUC(&st, p, s, seq); v != transport.Accepted || seq == s.end-1 {
		r.inside = nil
	}
	return st, v
}

// beginUC handles the first packet of a message.
func (e *end) beginUC(s *sent) transport.Verdict {
	r := &e.responder
	if scenario.IsSend(s.op) {
		return e.readyUC()
	}
	if r.region = e.granted(s.rkey, s.remote, s.length, mr.RemoteWrite); s.length > 0 && r.region == nil {
		return transport.AccessRefused
	}
	return transport.Accepted
}

// readyUC takes a receive, unless one is held.
func (e *end) readyUC() transport.Verdict {
	if e.held != nil {
		return transport.Accepted
	}
	if !e.take() {
		return transport.NoReceive
	}
	if !e.pinned(e.held.sg) {
		e.complete(qp.WC{Status: qp.WCLocProtErr})
		return transport.LocalError
	}
	return transport.Accepted
}

// storeUC applies the payload of a packet that is in order.
func (e *end) storeUC(st *step, p *bth.Packet, s *sent, seq int64) transport.Verdict {
	off := uint64(seq-s.first) * uint64(e.conn.spec.MTU)
	ends := seq == s.end-1
	if s.op == qp.WRSend || s.op == qp.WRSendImm {
		spans, ok := scattered(nil, e.held.sg, off, p.Payload)
		if len(p.Payload) > 0 && !e.pinned(e.held.sg) {
			return transport.InvalidRequest
		}
		st.memory = spans
		if !ok {
			return transport.InvalidRequest
		}
		if ends {
			e.received(p, s, qp.WCRecv)
		}
		return transport.Accepted
	}
	if ends && s.op == qp.WRWriteImm {
		if v := e.readyUC(); v != transport.Accepted {
			return v
		}
	}
	if len(p.Payload) > 0 {
		if region := e.granted(s.rkey, s.remote, s.length, mr.RemoteWrite); region == nil ||
			region != e.responder.region {
			return transport.AccessRefused
		}
		st.memory = []span{{s.act.Remote + off, p.Payload}}
	}
	if ends && s.op == qp.WRWriteImm {
		e.received(p, s, qp.WCRecvWriteImm)
	}
	return transport.Accepted
}
