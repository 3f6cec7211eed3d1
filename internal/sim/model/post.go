package model

import (
	"encoding/binary"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// noKey is a key that no table returns in a run this short.
const noKey = 0

// post posts the work request that a describes, if the state permits and the queue has space.
func (e *end) post(a *scenario.Act) {
	wr := qp.SendWR{ID: e.nextID, Opcode: a.Op, Flags: a.Flags, Imm: a.Imm}
	wr.RKey = e.peer().remoteKey(a)
	wr.RemoteAddr = e.peer().node.namedAddr(wr.RKey, a.Remote)
	switch a.Op {
	case qp.WRRegMR, qp.WRBindMW:
		e.keyWork(a, &wr)
	case qp.WRSendInv:
		e.peer().makeInvalidate(a, &wr)
	}
	s := &sent{act: a, id: wr.ID, op: wr.Opcode, length: a.Length(), rkey: wr.RKey, remote: wr.RemoteAddr,
		bind: wr.Bind, imm: wr.Imm}
	s.sg = e.keyed(a.SG, a.Wrong == scenario.WrongLKey)
	if a.Inline {
		s.data = e.node.mem.gathered([]byte{}, a.SG, 0, s.length)
		wr.Flags |= qp.Inline
		wr.InlineData = s.data
	} else {
		wr.SGList = e.node.namedSGEs(s.sg)
	}
	switch a.Op {
	case qp.WRFetchAdd:
		wr.CompareAdd = a.Add
	case qp.WRCmpSwap:
		wr.Swap = a.Add
		if wr.CompareAdd = ^a.Add; a.Match {
			wr.CompareAdd = binary.NativeEndian.Uint64(e.peer().node.mem.at(a.Remote&^7, 8))
		}
	}
	if a.Op == qp.WRFlush {
		wr.Flush = flushOf(a)
		s.length = 0
	}
	if e.ah != nil {
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = e.ah, e.peer().qp.Num, qkey
		if a.Group > 0 {
			s.group = e.net.groups[a.Group-1]
			wr.AH, wr.RemoteQPN = s.group.addressHandle(e), bth.MulticastQPN
		}
		if a.Wrong == scenario.WrongQKey {
			wr.RemoteQKey++
		}
	}
	s.compareAdd, s.swap = wr.CompareAdd, wr.Swap
	if e.qp.CheckPost(&wr) != nil || e.qp.SQ.Len() == scenario.MaxQueue {
		return
	}
	if err := e.qp.SQ.Push(&wr); err != nil {
		e.fail("request %d is refused: %v", wr.ID, err)
		return
	}
	e.nextID++
	s.signaled = e.spec.SigAll || a.Flags&qp.Signaled != 0
	// A failed message keeps the PSNs that it was sent with, even those after the PSN that the
	// queue pair went back to: packets with these PSNs may still be in transit.
	s.first = max(e.requester.cursor, e.requester.next)
	if e.head() != nil {
		s.first = e.sends[len(e.sends)-1].end
	}
	s.end = s.first
	if !s.op.IsLocal() {
		s.end += e.packets(s.length)
	}
	e.sends = append(e.sends, s)
	e.net.Stats.Requests++
	e.m.Posted()
	if scenario.TakesReceive(a.Op) {
		for _, to := range e.receivers(a) {
			e.net.At(e.net.Now+a.RecvDelay, func() {
				to.postReceive(a)
				to.settle()
			})
		}
	}
}

// flushOf returns the FLUSH that a describes: of a.Add bytes, or of the whole region if the top
// bit of a.Imm is set.
func flushOf(a *scenario.Act) qp.Flush {
	f := qp.Flush{Length: uint32(a.Add), Type: qp.FlushToGlobal}
	if a.Imm&1 != 0 {
		f.Type = qp.FlushToPersistent
	}
	if a.Imm>>31 != 0 {
		f.Level = qp.FlushRegion
	}
	return f
}

// keyed returns sg with the key of e's local region, or noKey if wrong is set or there is no
// region.
func (e *end) keyed(sg []qp.SGE, wrong bool) []qp.SGE {
	sg = slices.Clone(sg)
	for i := range sg {
		if e.local != nil && !wrong {
			sg[i].LKey = e.local.LKey()
		} else {
			sg[i].LKey = noKey
		}
	}
	return sg
}

// postReceive posts a receive for a message of the peer.
func (e *end) postReceive(a *scenario.Act) {
	srq := e.recvs.srq
	if srq == nil && e.qp.CheckPostRecv() != nil || len(e.recvs.list) == scenario.MaxQueue {
		return
	}
	p := &posted{id: e.nextID | recvID | uint64(e.qp.Num)<<32, sg: e.keyed(a.Recv, a.Wrong == scenario.WrongRecvKey)}
	if a.Wrong == scenario.WrongRoom {
		for i := range p.sg {
			if p.sg[i].Length > 0 {
				p.sg[i].Length--
				break
			}
		}
	}
	for _, s := range p.sg {
		p.room += uint64(s.Length)
	}
	queue := e.qp.Recv.(interface{ Push(*qp.RecvWR) error })
	if err := queue.Push(&qp.RecvWR{ID: p.id, SGList: e.node.namedSGEs(p.sg)}); err != nil {
		e.fail("receive %d is refused: %v", p.id&^recvID, err)
		return
	}
	e.nextID++
	e.recvs.list = append(e.recvs.list, p)
	if srq == nil {
		e.m.Posted()
	}
}
