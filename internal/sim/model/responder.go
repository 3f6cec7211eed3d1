package model

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// responder models the responder of a connection. PSNs are counted from the first that the peer
// sends in the epoch.
type responder struct {
	expected int64
	msn      uint32
	refused  bth.Syndrome // error NAK that must be sent, 0: none
	told     bool         // a completion reports the refused request
	gap      bool         // a packet was out of order since the last sequence NAK
	rnrDue   bool         // a receive was missing since the last RNR NAK, so the machine may send one

	early      map[int64]*bth.Packet // packets kept for later, by seq
	refusedRNR bool                  // the packet at the expected PSN found no receive when it last arrived

	owesNAK, owesACK bool  // responses due by the next turn to send
	reported         int64 // one more than the expected PSN for which a NAK was last due

	reads []answer // READs and atomics that were executed, at least the last hundred

	region *mr.Region // region of the WRITE that is being stored
	inside *sent      // UC: message that is being stored
}

// answer is an executed request that has a response of its own.
type answer struct {
	extent
	s      *sent
	region *mr.Region // region of a READ
	msn    uint32
	sent   int64 // first response that was never sent
	next   int64 // response that continues after the last one sent
}

// arrived applies a request of the peer to the model, before e's machine receives it. The
// packet's content was checked when it was sent.
func (e *end) arrived(p *bth.Packet, info *bth.OpcodeInfo, stale bool) (st step, v transport.Verdict) {
	r := &e.responder
	peer := e.peer()
	seq := peer.seq(p.PSN)
	switch {
	case !e.alive():
		return st, transport.WrongState
	case r.refused != 0:
		return st, transport.ReplyPending
	case seq < r.expected:
		if info.Op == bth.OpSend || info.Op == bth.OpWrite {
			r.owesACK = true
		}
		return st, transport.Duplicate
	case seq > r.expected:
		r.gap = r.gap || !r.refusedRNR
		r.report()
		e.keep(p, seq)
		return st, transport.OutOfSequence
	case stale:
		e.fail("%s of an earlier connection has PSN %d, which is expected", info.Name, p.PSN)
		return st, v
	}
	e.communicates()
	if v = e.performs(&st, p, seq); v == transport.Accepted {
		e.catchUp(&st)
	}
	return st, v
}

// performs executes the packet at the expected PSN, if possible.
func (e *end) performs(st *step, p *bth.Packet, seq int64) transport.Verdict {
	r := &e.responder
	s, wanted := e.peer().at(seq), len(e.want)
	v := e.execute(st, p, s, seq)
	if v == transport.Accepted {
		e.executed(p, s, seq)
		return v
	}
	clear(r.early)
	if v == transport.NoReceive {
		r.refusedRNR = true
		r.report()
	}
	r.told = r.refused != 0 && len(e.want) > wanted
	return v
}

// keep stores a packet that is less than two windows ahead of the expected PSN.
func (e *end) keep(p *bth.Packet, seq int64) {
	r := &e.responder
	if r.refusedRNR || seq-r.expected >= 2*e.maxWindow() {
		return
	}
	if r.early == nil {
		r.early = map[int64]*bth.Packet{}
	}
	if r.early[seq] == nil {
		r.early[seq] = p
	}
}

// catchUp executes the kept packets up to the next gap, as if each requested an acknowledgement.
func (e *end) catchUp(st *step) {
	r := &e.responder
	for p := r.early[r.expected]; p != nil; p = r.early[r.expected] {
		seq := r.expected
		delete(r.early, seq)
		p.AckReq = true
		if e.performs(st, p, seq) != transport.Accepted {
			return
		}
	}
	if len(r.early) > 0 {
		r.gap = true
		r.report()
	}
}

// report makes a NAK due, at most one for each expected PSN.
func (r *responder) report() {
	if r.reported != r.expected+1 {
		r.reported, r.owesNAK = r.expected+1, true
	}
}

// executed advances the model past packet p of request s, which was executed.
func (e *end) executed(p *bth.Packet, s *sent, seq int64) {
	r := &e.responder
	n := int64(1)
	if s.op == qp.WRRead {
		n = e.packets(uint64(p.RETH.DMALen))
	}
	r.expected += n
	r.owesNAK, r.refusedRNR = false, false
	if p.AckReq && !hasResponse(s.op) {
		r.owesACK = true
	}
	if s.op == qp.WRRead || s.split || seq == s.end-1 {
		r.msn = (r.msn + 1) & 0xffffff
	}
	if hasResponse(s.op) {
		if len(r.reads) > 200 {
			r.reads = r.reads[:copy(r.reads, r.reads[100:])]
		}
		r.reads = append(r.reads, answer{extent: extent{seq, seq + n}, s: s, msn: r.msn, sent: seq,
			region: e.node.keys.Lookup(s.rkey)})
	}
	s.executed = s.executed || r.expected >= s.end
}

// refuse makes an error NAK due and returns v.
func (e *end) refuse(s bth.Syndrome, v transport.Verdict) transport.Verdict {
	e.responder.refused = s
	return v
}

// execute applies the packet at the expected PSN to memory and to the receive queue, and returns
// the verdict that the machine must return.
func (e *end) execute(st *step, p *bth.Packet, s *sent, seq int64) transport.Verdict {
	mtu := uint64(e.conn.spec.MTU)
	off := uint64(seq-s.first) * mtu
	switch s.op {
	case qp.WRSend, qp.WRSendImm, qp.WRSendInv:
		return e.executeSend(st, p, s, seq, off)
	case qp.WRWrite, qp.WRWriteImm:
		return e.executeWrite(st, p, s, seq, off)
	case qp.WRRead:
		if p.RETH.DMALen > 0 && !e.grants(s.rkey, p.RETH.VA, uint64(p.RETH.DMALen), mr.RemoteRead) {
			return e.refuse(bth.NakRemoteAccess, transport.AccessRefused)
		}
	case qp.WRFetchAdd, qp.WRCmpSwap:
		return e.executeAtomic(st, s)
	case qp.WRAtomicWrite:
		if s.remote%8 != 0 {
			return e.refuse(bth.NakInvalidRequest, transport.InvalidRequest)
		}
		return e.executeWrite(st, p, s, seq, off)
	case qp.WRFlush:
		n, f := s.act.Add, flushOf(s.act)
		if f.Level == qp.FlushRegion {
			n = 0
		}
		if !e.grants(s.rkey, s.remote, n, f.Type.Access()) {
			return e.refuse(bth.NakRemoteAccess, transport.AccessRefused)
		}
	}
	return transport.Accepted
}

func (e *end) executeWrite(st *step, p *bth.Packet, s *sent, seq int64, off uint64) transport.Verdict {
	begins, va, n := seq == s.first, s.remote, s.length
	if s.split {
		begins, va, n = true, p.RETH.VA, uint64(p.RETH.DMALen)
	}
	region := e.granted(s.rkey, va, n, mr.RemoteWrite)
	if begins {
		e.responder.region = region
	}
	// A region re-registered during the message does not receive the rest.
	granted := s.length == 0 || region != nil && region == e.responder.region
	if begins && !granted {
		return e.refuse(bth.NakRemoteAccess, transport.AccessRefused)
	}
	imm := s.op == qp.WRWriteImm && seq == s.end-1
	if imm && !e.take() {
		e.responder.rnrDue = true
		return transport.NoReceive
	}
	if !granted {
		return e.refuse(bth.NakRemoteAccess, transport.AccessRefused)
	}
	if imm {
		e.received(p, s, qp.WCRecvWriteImm)
	}
	if len(p.Payload) > 0 {
		st.memory = append(st.memory, span{s.act.Remote + off, p.Payload})
	}
	return transport.Accepted
}

func (e *end) executeAtomic(st *step, s *sent) transport.Verdict {
	if s.remote%8 != 0 {
		return e.refuse(bth.NakInvalidRequest, transport.InvalidRequest)
	}
	if !e.grants(s.rkey, s.remote, 8, mr.RemoteAtomic) {
		return e.refuse(bth.NakRemoteAccess, transport.AccessRefused)
	}
	for _, w := range st.memory { // writes of earlier packets in this step
		copy(e.node.mem.at(w.addr, uint64(len(w.data))), w.data)
	}
	s.old = binary.NativeEndian.Uint64(e.node.mem.at(s.act.Remote, 8))
	value := s.old + s.compareAdd
	if s.op == qp.WRCmpSwap {
		if value = s.old; s.old == s.compareAdd {
			value = s.swap
		}
	}
	st.memory = append(st.memory, span{s.act.Remote, binary.NativeEndian.AppendUint64(nil, value)})
	return transport.Accepted
}

func (e *end) executeSend(st *step, p *bth.Packet, s *sent, seq int64, off uint64) transport.Verdict {
	if seq == s.first {
		if !e.take() {
			e.responder.rnrDue = true
			return transport.NoReceive
		}
	}
	recv := e.held
	if seq == s.first && !e.pinned(recv.sg) {
		e.complete(qp.WC{Status: qp.WCLocProtErr})
		return e.refuse(bth.NakRemoteOperational, transport.OperationalError)
	}
	// A packet that does not fit may leave its first bytes in memory: a failed receive has no
	// valid data.
	spans, ok := scattered(nil, recv.sg, off, p.Payload)
	switch {
	case len(p.Payload) > 0 && !e.pinned(recv.sg):
		e.complete(qp.WC{Status: qp.WCLocProtErr})
		return e.refuse(bth.NakRemoteOperational, transport.OperationalError)
	case !ok:
		st.memory = append(st.memory, spans...)
		e.complete(qp.WC{Status: qp.WCLocLenErr})
		return e.refuse(bth.NakInvalidRequest, transport.InvalidRequest)
	}
	st.memory = append(st.memory, spans...)
	if seq == s.end-1 {
		if s.op == qp.WRSendInv {
			if !e.mayInvalidate(s.imm) {
				e.complete(qp.WC{Status: qp.WCRemInvReqErr})
				return e.refuse(bth.NakRemoteAccess, transport.AccessRefused)
			}
			e.gone = append(e.gone, s.imm)
		}
		e.received(p, s, qp.WCRecv)
	}
	return transport.Accepted
}

// received completes the held receive with success.
func (e *end) received(p *bth.Packet, s *sent, op qp.WCOpcode) {
	wc := qp.WC{Opcode: op, ByteLen: uint32(s.length), Solicited: s.act.Flags&qp.Solicited != 0}
	if s.op == qp.WRSendImm || s.op == qp.WRWriteImm {
		wc.Flags, wc.Imm = qp.WithImm, s.imm
	}
	if s.op == qp.WRSendInv {
		wc.Flags, wc.Imm = qp.WithInv, s.imm
	}
	e.complete(wc)
}

// complete makes the completion of the held receive due in this step.
func (e *end) complete(wc qp.WC) {
	if wc.WRID, wc.QPN = e.held.id, e.qp.Num; e.qp.Type != qp.UD {
		wc.SrcQP = e.peer().qp.Num
	}
	e.want = append(e.want, wc)
	e.held = nil
}
