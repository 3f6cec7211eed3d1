package model

import (
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// oversize reports whether s is a datagram that the queue pair drops because it exceeds the MTU.
func (e *end) oversize(s *sent) bool {
	return e.qp.Type == qp.UD && s.length > uint64(e.conn.spec.MTU)
}

// vanished reports whether s has completed without any packet: an oversize datagram that the
// queue pair has dropped, or a local operation on keys. If so, vanished marks s as done.
func (e *end) vanished(s *sent) bool {
	r := &e.requester
	if !e.oversize(s) && !s.op.IsLocal() || s.first > r.una || (e.cause != "" || e.broken != "") && !e.worked {
		return false
	}
	if !s.signaled && e.qp.SQ.Len() >= len(e.sends)-e.oldest {
		return false // still in the queue
	}
	s.done = true
	r.una, r.cursor = max(r.una, s.end), max(r.cursor, s.end)
	return true
}

// emittedUD checks an outgoing datagram: each is sent once, in order.
func (e *end) emittedUD(p *bth.Packet, info *bth.OpcodeInfo) {
	r := &e.requester
	seq := e.seq(p.PSN)
	for s := e.at(r.cursor); s != nil && seq > r.cursor && e.oversize(s); s = e.at(r.cursor) {
		r.cursor++
	}
	s := e.at(seq)
	if s == nil || seq != r.cursor {
		e.fail("%s is number %d, the next to be sent is %d", info.Name, seq, r.cursor)
		return
	}
	e.checkBegin(s)
	r.cursor++
	want := bth.DETH{QKey: qkey, SrcQP: e.qp.Num}
	if s.act.Wrong == scenario.WrongQKey {
		want.QKey++
	}
	if p.DETH != want || p.AckReq || e.oversize(s) {
		e.fail("%s of %d bytes with %+v, want %+v", info.Name, len(p.Payload), p.DETH, want)
	}
	e.checkRequest(p, info, s, seq)
}

// arrivedUD applies an incoming datagram to the model. Datagrams may arrive in any order and more
// than once.
func (e *end) arrivedUD(p *bth.Packet, raw []byte, d *delivery) (st step, v transport.Verdict) {
	s := d.sent
	switch {
	case !e.alive():
		return st, transport.WrongState
	case s.act.Wrong == scenario.WrongQKey:
		return st, transport.BadQKey
	case !e.take():
		return st, transport.NoReceive
	case !e.pinned(e.held.sg):
		e.complete(qp.WC{Status: qp.WCLocProtErr})
		return st, transport.LocalError
	case transport.GRHLen+s.length > e.held.room:
		if e.recvs.srq != nil {
			e.complete(qp.WC{Status: qp.WCRemInvReqErr})
		}
		return st, transport.TooLong
	}
	// The GRH area holds the network header as received; an IPv4 header follows 20 zero bytes.
	data := make([]byte, transport.GRHLen, transport.GRHLen+len(p.Payload))
	sl := uint8(qp.SLIPv6)
	if raw[0]>>4 == 4 {
		sl = qp.SLIPv4
		copy(data[transport.GRHLen-bth.IPv4HeaderLen:], raw[:bth.IPv4HeaderLen])
	} else {
		copy(data, raw)
	}
	data = append(data, p.Payload...)
	st.memory, _ = scattered(nil, e.held.sg, 0, data)
	wc := qp.WC{
		Opcode: qp.WCRecv, ByteLen: uint32(len(data)), Solicited: s.act.Flags&qp.Solicited != 0,
		Flags: qp.GRH, SrcQP: d.from.qp.Num, SL: sl,
	}
	if s.op == qp.WRSendImm {
		wc.Flags, wc.Imm = wc.Flags|qp.WithImm, s.act.Imm
	}
	e.complete(wc)
	return st, transport.Accepted
}

// header returns the network header of a frame in the form in which a link passes it to the
// machine.
func header(raw []byte) *transport.GRH {
	r := packet.Received{HopLimit: packet.DefaultHopLimit}
	if h := raw; h[0]>>4 == 4 {
		r.Src, r.Dst = netip.AddrFrom4([4]byte(h[12:16])), netip.AddrFrom4([4]byte(h[16:20]))
		r.ID, r.FlagsFragment = uint16(h[4])<<8|uint16(h[5]), packet.DontFragment
		r.Data = h[bth.IPv4HeaderLen+bth.UDPHeaderLen:]
	} else {
		r.Src, r.Dst = netip.AddrFrom16([16]byte(h[8:24])), netip.AddrFrom16([16]byte(h[24:40]))
		r.Data = h[bth.IPv6HeaderLen+bth.UDPHeaderLen:]
	}
	var g transport.GRH
	g.Set(&r)
	return &g
}
