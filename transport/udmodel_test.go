package transport

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"pgregory.net/rapid"
)

// The model of datagrams: three queue pairs, one with another Q_Key than the others, and a wire
// that loses, duplicates and reorders. Each request completes once and in order. A received
// datagram is complete, its header names its real source, it was sent to this queue pair with its
// Q_Key, and it is received at most as often as the wire delivered it.

const (
	udSlots = 8    // receives of a queue pair, each with its own piece of memory
	udSlot  = 1024 // bytes of a piece; the rest behind a receive must stay untouched
	udMTU   = 256
)

type udNode struct {
	ud     *UD
	qp     *qp.QP
	cq     *qp.CQ
	mem    []byte
	region *mr.Region
	room   [udSlots]int // lengths of the receives that are posted, -1 for none
	posted []uint64     // requests not complete
}

type udMessage struct {
	from, to int
	qkey     uint32
	data     []byte
	carried  int // copies that the wire delivered and that may have arrived
}

type udModel struct {
	t     *rapid.T
	nodes [3]*udNode
	sent  map[uint32]*udMessage // by message number, which is the immediate data
	wire  [][]byte
	batch *packet.Batch
	next  uint32
}

func newUDModel(t *rapid.T) *udModel {
	m := &udModel{t: t, sent: map[uint32]*udMessage{}, batch: packet.NewBatch(16)}
	for i := range m.nodes {
		n := &udNode{mem: make([]byte, udSlots*udSlot), cq: qp.NewCQ(1 << 10)}
		pd := &mr.PD{}
		keys := mr.NewTable([32]byte{byte(i)}, 4)
		n.region, _ = keys.Register(pd, mr.Bytes(n.mem), 0, uint64(len(n.mem)), mr.LocalWrite)
		n.qp = &qp.QP{Num: bth.QPN(16 + i), Type: qp.UD, PD: pd, SigAll: true,
			SQ: qp.NewSendQueue(8, 2, true), Recv: qp.NewRecvQueue(pd, udSlots, 2), SendCQ: n.cq, RecvCQ: n.cq}
		n.qp.SQ.SetMaxInline(2 * udMTU)
		n.ud = NewUD(n.qp, keys)
		for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
			n.qp.Attr = qp.Attr{State: st, QKey: uint32(100 + i/2), SQPSN: 0xfffffe}
			n.ud.Modified(1)
		}
		for j := range n.room {
			n.room[j] = -1
		}
		m.nodes[i] = n
	}
	return m
}

// post sends a message that begins with a number, by which the receiver identifies it.
func (m *udModel) post(t *rapid.T) {
	from, to := rapid.IntRange(0, 2).Draw(t, "from"), rapid.IntRange(0, 2).Draw(t, "to")
	n := m.nodes[from]
	if n.qp.SQ.Len() == n.qp.SQ.Depth() {
		t.Skip("send queue full")
	}
	size := rapid.SampledFrom([]int{0, 1, 3, 255, 256, 257}).Draw(t, "size")
	msg := &udMessage{from: from, to: to, qkey: uint32(rapid.IntRange(100, 101).Draw(t, "qkey"))}
	for i := range size {
		msg.data = append(msg.data, byte(m.next)+byte(i))
	}
	wr := qp.SendWR{ID: uint64(m.next), Opcode: qp.WRSendImm, Flags: qp.Inline, InlineData: msg.data, Imm: m.next,
		AH: NewAH(n.qp.PD, qp.AddressVector{}, rapid.IntRange(0, 1).Draw(t, "link"),
			packet.Path{Dst: netip.IPv6Loopback()}, udMTU, nil),
		RemoteQPN: bth.QPN(16 + to), RemoteQKey: msg.qkey}
	if err := n.qp.SQ.Push(&wr); err != nil {
		t.Fatal(err)
	}
	n.ud.Posted()
	n.posted = append(n.posted, wr.ID)
	m.sent[m.next] = msg
	m.next++
}

func (m *udModel) receive(t *rapid.T) {
	n := m.nodes[rapid.IntRange(0, 2).Draw(t, "at")]
	slot := rapid.IntRange(0, udSlots-1).Draw(t, "slot")
	if n.room[slot] >= 0 {
		t.Skip("receive is posted")
	}
	n.room[slot] = rapid.SampledFrom([]int{0, 39, 40, 41, 44, 295, 296, 700}).Draw(t, "room")
	clear(n.mem[slot*udSlot : (slot+1)*udSlot])
	cut := rapid.IntRange(0, n.room[slot]).Draw(t, "cut")
	at := uint64(slot * udSlot)
	wr := qp.RecvWR{ID: 1<<32 | uint64(slot), SGList: []qp.SGE{
		{Addr: at, Length: uint32(cut), LKey: n.region.LKey()},
		{Addr: at + uint64(cut), Length: uint32(n.room[slot] - cut), LKey: n.region.LKey()},
	}}
	if err := n.qp.Recv.(*qp.RecvQueue).Push(&wr); err != nil {
		t.Fatal(err)
	}
}

func (m *udModel) transmit(t *rapid.T) {
	n := m.nodes[rapid.IntRange(0, 2).Draw(t, "who")]
	n.ud.Transmit(1, nil, m.batch, rapid.IntRange(0, 4).Draw(t, "limit"))
	for i := range m.batch.Len() {
		m.wire = append(m.wire, append(m.batch.At(i).AppendTo(nil), 0, 0, 0, 0))
	}
	m.batch.Reset()
	n.ud.Sent(1)
}

// deliver delivers one of the packets on the wire, and may keep it there to be delivered again.
func (m *udModel) deliver(t *rapid.T) {
	if len(m.wire) == 0 {
		t.Skip("nothing on the wire")
	}
	i := rapid.IntRange(0, len(m.wire)-1).Draw(t, "which")
	raw := m.wire[i]
	if !rapid.Bool().Draw(t, "again") {
		m.wire = append(m.wire[:i], m.wire[i+1:]...)
	}
	if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
		return
	}
	var p bth.Packet
	if err := p.Decode(raw); err != nil {
		t.Fatal(err)
	}
	m.sent[p.Imm].carried++
	var grh GRH
	grh[0], grh[39] = byte(p.Imm), byte(p.Imm>>8)
	m.nodes[p.DestQP-16].ud.ReceiveFrom(1, &p, &grh)
}

// check polls all completions and compares them with what was sent.
func (m *udModel) check(t *rapid.T) {
	var wc [1]qp.WC
	for i, n := range m.nodes {
		for n.cq.Poll(wc[:]) == 1 {
			if wc[0].Status != qp.WCSuccess {
				t.Fatalf("QP %d: %+v", i, wc[0])
			}
			if wc[0].Opcode.IsRecv() {
				m.arrived(t, i, &wc[0])
				continue
			}
			if len(n.posted) == 0 || n.posted[0] != wc[0].WRID {
				t.Fatalf("QP %d: completion %+v, outstanding are %v", i, wc[0], n.posted)
			}
			n.posted = n.posted[1:]
		}
	}
}

func (m *udModel) arrived(t *rapid.T, at int, wc *qp.WC) {
	n, slot := m.nodes[at], int(wc.WRID&0xff)
	mem := n.mem[slot*udSlot : (slot+1)*udSlot]
	msg := m.sent[wc.Imm]
	room := n.room[slot]
	n.room[slot] = -1
	switch {
	case wc.Flags != qp.GRH|qp.WithImm || msg == nil || room < 0:
		t.Fatalf("QP %d: completion of nothing: %+v", at, wc)
	case wc.SL != (&GRH{0: byte(wc.Imm)}).sl():
		t.Fatalf("QP %d: the service level is not that of the network header: %+v", at, wc)
	case msg.to != at || wc.SrcQP != m.nodes[msg.from].qp.Num || msg.qkey != n.qp.Attr.QKey:
		t.Fatalf("QP %d got what it must not: %+v of %+v", at, wc, msg)
	case len(msg.data) > udMTU || int(wc.ByteLen) != GRHLen+len(msg.data) || int(wc.ByteLen) > room:
		t.Fatalf("QP %d: %d bytes arrived in %d, %d were sent", at, wc.ByteLen, room, len(msg.data))
	case mem[0] != byte(wc.Imm) || mem[39] != byte(wc.Imm>>8):
		t.Fatalf("QP %d: message %d has the header %x", at, wc.Imm, mem[:GRHLen])
	case !bytes.Equal(mem[GRHLen:wc.ByteLen], msg.data):
		t.Fatalf("QP %d: message %d has other bytes", at, wc.Imm)
	case bytes.Count(mem[wc.ByteLen:], []byte{0}) != len(mem)-int(wc.ByteLen):
		t.Fatalf("QP %d: message %d reaches behind its end", at, wc.Imm)
	}
	if msg.carried--; msg.carried < 0 {
		t.Fatalf("QP %d: message %d arrived more often than it was carried", at, wc.Imm)
	}
}

func TestDatagramModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newUDModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"post": m.post, "receive": m.receive, "transmit": m.transmit, "deliver": m.deliver, "": m.check,
		})
		for i, n := range m.nodes {
			for range 2 * n.qp.SQ.Depth() {
				n.ud.Transmit(1, nil, m.batch, 8)
				m.batch.Reset()
				n.ud.Sent(1)
			}
			m.check(t)
			if len(n.posted) != 0 {
				t.Fatalf("QP %d: %v never completed", i, n.posted)
			}
		}
	})
}

func TestDatagramsAllocateNothing(t *testing.T) {
	keys, pd := mr.NewTable([32]byte{1}, 4), &mr.PD{}
	mem := make([]byte, 8192)
	region, err := keys.Register(pd, mr.Bytes(mem), 0, 8192, mr.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	cq := qp.NewCQ(16)
	q := &qp.QP{Num: 16, Type: qp.UD, PD: pd, SQ: qp.NewSendQueue(4, 1, true), Recv: qp.NewRecvQueue(pd, 4, 1),
		SendCQ: cq, RecvCQ: cq, SigAll: true}
	ud := NewUD(q, keys)
	for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
		q.Attr.State = st
		ud.Modified(1)
	}
	batch, raw, wcs := packet.NewBatch(4), make([]byte, 0, 4096), make([]qp.WC, 2)
	wr := qp.SendWR{Opcode: qp.WRSend, AH: NewAH(pd, qp.AddressVector{}, 0, packet.Path{}, 1024, nil), RemoteQPN: 16,
		SGList: []qp.SGE{{Length: 1024, LKey: region.LKey()}}}
	rr := qp.RecvWR{SGList: []qp.SGE{{Addr: 4096, Length: 2000, LKey: region.LKey()}}}
	var p bth.Packet
	var grh GRH
	one := func() {
		if q.SQ.Push(&wr) != nil || q.Recv.(*qp.RecvQueue).Push(&rr) != nil {
			t.Fatal("a queue is full")
		}
		ud.Transmit(1, nil, batch, 4)
		raw = append(batch.At(0).AppendTo(raw[:0]), 0, 0, 0, 0)
		batch.Reset()
		ud.Sent(1)
		if p.Decode(raw) != nil || ud.ReceiveFrom(1, &p, &grh) != Accepted || cq.Poll(wcs) != 2 {
			t.Fatal("the datagram did not arrive")
		}
	}
	for range 20 {
		one()
	}
	if n := testing.AllocsPerRun(100, one); n != 0 {
		t.Errorf("%v allocations a datagram, want 0", n)
	}
}
