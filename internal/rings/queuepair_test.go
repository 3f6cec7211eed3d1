package rings_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

func TestAQueuePairFetchesFromASendRing(t *testing.T) {
	r, p := newSendRing(t, 7, rings.SendConfig{MaxSGE: 2, MaxInline: 16})
	q := &qp.QP{Type: qp.RC, PD: &mr.PD{}, SQ: qp.NewSendQueue(4, 2, false), Attr: qp.Attr{State: qp.RTS}}
	q.SQ.SetMaxInline(16)
	q.SQ.SetSource(r)
	fills := []func([]byte){
		send(0, qp.SGE{Length: 10}),
		element(99, 0, nil, nil),
		send(2, qp.SGE{Length: 1 << 31}, qp.SGE{Length: 1}),
		element(7, 0, map[int]uint32{20: 5}, nil),
		element(15, 0, nil, nil),
		element(5, 8, map[int]uint32{184: 8}, nil), // an atomic has no inline data
	}
	statuses := []qp.WCStatus{qp.WCSuccess, qp.WCLocQPOpErr, qp.WCLocLenErr, qp.WCSuccess, qp.WCSuccess,
		qp.WCLocQPOpErr}
	for i, fill := range fills {
		if !p.post(func(e []byte) { fill(e); host.PutUint64(e, uint64(i)) }) {
			t.Fatal("no room")
		}
	}
	if n, local := q.Fetch(); n != 4 || !local {
		t.Fatalf("%d are fetched, keys change: %v", n, local)
	}
	for i, want := range statuses {
		if w := q.SQ.At(q.SQ.Head()); w.ID != uint64(i) || w.FailStatus != want {
			t.Errorf("request %d is %d with status %v, want %v", i, w.ID, w.FailStatus, want)
		}
		q.SQ.Retire()
		q.SQ.Pop()
		if p.consumer() != uint32(i+1) {
			t.Errorf("consumer %d after request %d", p.consumer(), i)
		}
		q.Fetch()
	}
	p.post(fills[0])
	if q.SQ.Reset(); p.consumer() != p.producer() {
		t.Error("a reset leaves requests")
	}
}

// peer is a transport with its queues in rings, and its program.
type peer struct {
	t                 *testing.T
	keys              *mr.Table
	region            *mr.Region
	mem               []byte
	q                 *qp.QP
	rc                *transport.RC
	sends, recvs, cqs program
}

// completer makes a store the completion queue of a transport, as internal/nic does.
type completer struct{ qp.CompletionStore }

func (c completer) Complete(wc *qp.WC) { c.Push(wc) }

func newPeer(t *testing.T, num, dest bth.QPN) *peer {
	p := &peer{t: t, keys: mr.NewTable([32]byte{byte(num)}, 10), mem: make([]byte, 1<<16)}
	pd := &mr.PD{}
	access := mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic | mr.MWBind
	var err error
	if p.region, err = p.keys.Register(pd, mr.Bytes(p.mem), 0x10000, uint64(len(p.mem)), access); err != nil {
		t.Fatal(err)
	}
	sends, sp := newSendRing(t, 3, rings.SendConfig{MaxSGE: 2, MaxInline: 32, SigAll: true})
	recvs, rp := newRecvRing(t, 3, rings.RecvConfig{PD: pd, MaxSGE: 2})
	cq, cp := newCompletionRing(t, 15, nil)
	p.sends, p.recvs, p.cqs = sp, rp, cp
	p.q = &qp.QP{Num: num, Type: qp.RC, PD: pd, SQ: qp.NewSendQueue(3, 2, true), Recv: recvs, SendCQ: completer{cq},
		RecvCQ: completer{cq}}
	p.q.SQ.SetMaxInline(32)
	p.q.SQ.SetSource(sends)
	p.rc = transport.NewRC(p.q, p.keys, nil)
	p.q.Attr = qp.Attr{
		PathMTU: 1024, DestQPN: dest, Access: access, MaxRdAtomic: 4, MaxDestRdAtomic: 4,
		Timeout: 14, RetryCnt: 7, RNRRetry: 7, MinRNRTimer: 1,
	}
	for _, p.q.Attr.State = range []qp.State{qp.RTR, qp.RTS} {
		p.rc.Modified(0)
	}
	return p
}

// exchange fetches requests and carries packets between two peers until both are idle.
func exchange(t *testing.T, peers ...*peer) {
	t.Helper()
	batch := packet.NewBatch(64)
	for busy := true; busy; {
		busy = false
		for i, p := range peers {
			if n, _ := p.q.Fetch(); n > 0 {
				p.rc.Posted()
				busy = true
			}
			batch.Reset()
			p.rc.Transmit(0, &packet.Path{}, batch, 64)
			for n := range batch.Len() {
				busy = true
				var in bth.Packet
				if err := in.Decode(append(batch.At(n).AppendTo(nil), 0, 0, 0, 0)); err != nil {
					t.Fatal(err)
				}
				peers[1-i].rc.Receive(0, &in)
			}
		}
	}
}

// done fails unless exactly these completions are in the queue.
func (p *peer) done(want ...qp.WC) {
	p.t.Helper()
	for _, w := range want {
		e, ok := p.cqs.poll()
		if !ok {
			p.t.Fatalf("no completion of %d", w.WRID)
		}
		got := qp.WC{
			WRID: host.Uint64(e), Status: qp.WCStatus(host.Uint32(e[8:])), Opcode: qp.WCOpcode(host.Uint32(e[12:])),
			ByteLen: host.Uint32(e[20:]), Imm: big.Uint32(e[24:]), Flags: qp.WCFlags(host.Uint32(e[36:])),
		}
		if w.Status != qp.WCSuccess {
			w.Opcode, got.Opcode = 0, 0
		}
		if got != w {
			p.t.Fatalf("completion %+v, want %+v", got, w)
		}
	}
	if e, ok := p.cqs.poll(); ok {
		p.t.Fatalf("one more completion: % x", e)
	}
}

func (p *peer) post(fill func([]byte)) {
	p.t.Helper()
	if !p.sends.post(fill) {
		p.t.Fatal("no room in the send ring")
	}
}

// sge is a part of the peer's region.
func (p *peer) sge(off, n int) qp.SGE {
	return qp.SGE{Addr: 0x10000 + uint64(off), Length: uint32(n), LKey: p.region.LKey()}
}

func TestTwoProgramsTalkOverRings(t *testing.T) {
	a, b := newPeer(t, 0x11, 0x22), newPeer(t, 0x22, 0x11)
	copy(a.mem, bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 1000))

	// One request of each kind, three at a time: the capacity of the ring.
	b.recvs.post(recv(100, b.sge(0, 2000), b.sge(8192, 3000)))
	b.recvs.post(recv(101))
	a.post(func(e []byte) { // SEND with two SGEs
		sendHead(e, 1, 2, 0)
		sge(e[184:], a.sge(0, 1000), a.sge(1000, 3000))
	})
	a.post(func(e []byte) { // WRITE with immediate, inline
		sendHead(e, 2, 1, 8)
		big.PutUint32(e[20:], 0xabcd)
		host.PutUint64(e[24:], 0x10000+20000)
		host.PutUint32(e[32:], b.region.RKey())
		host.PutUint32(e[184:], 5)
		copy(e[208:], "hello")
	})
	a.post(func(e []byte) { // READ of the written data
		sendHead(e, 3, 4, 0)
		host.PutUint64(e[24:], 0x10000+20000)
		host.PutUint32(e[32:], b.region.RKey())
		sge(e[184:], a.sge(30000, 5))
	})
	exchange(t, a, b)
	a.done(qp.WC{WRID: 1, Opcode: qp.WCSend, ByteLen: 4000}, qp.WC{WRID: 2, Opcode: qp.WCWrite, ByteLen: 5},
		qp.WC{WRID: 3, Opcode: qp.WCRead, ByteLen: 5})
	b.done(qp.WC{WRID: 100, Opcode: qp.WCRecv, ByteLen: 4000},
		qp.WC{WRID: 101, Opcode: qp.WCRecvWriteImm, ByteLen: 5, Imm: 0xabcd, Flags: qp.WithImm})
	if !bytes.Equal(b.mem[:2000], a.mem[:2000]) || !bytes.Equal(b.mem[8192:10192], a.mem[2000:4000]) ||
		string(a.mem[30000:30005]) != "hello" {
		t.Error("the data are others")
	}

	// Atomics, and a memory window that is bound and invalidated.
	w, err := b.keys.AllocWindow(b.q.PD, mr.WindowType2)
	if err != nil {
		t.Fatal(err)
	}
	key := mr.IncRKey(w.RKey())
	b.post(func(e []byte) {
		sendHead(e, 200, 8, 0)
		host.PutUint64(e[24:], 0x10000)
		host.PutUint64(e[32:], 64)
		host.PutUint32(e[40:], b.region.LKey())
		host.PutUint32(e[44:], w.RKey())
		host.PutUint32(e[48:], key)
		host.PutUint32(e[52:], uint32(mr.RemoteAtomic|mr.RemoteWrite))
	})
	exchange(t, a, b)
	b.done(qp.WC{WRID: 200, Opcode: qp.WCBindMW})
	host.PutUint64(b.mem, 40)
	for i, op := range []uint32{6, 5} { // 40 + 2; 42 becomes 7
		a.post(func(e []byte) {
			sendHead(e, uint64(4+i), op, 0)
			host.PutUint64(e[24:], 0x10000)
			host.PutUint64(e[32:], []uint64{2, 42}[i])
			host.PutUint64(e[40:], 7)
			host.PutUint32(e[48:], key)
			sge(e[184:], a.sge(40000+8*i, 8))
		})
	}
	exchange(t, a, b)
	a.done(qp.WC{WRID: 4, Opcode: qp.WCFetchAdd, ByteLen: 8}, qp.WC{WRID: 5, Opcode: qp.WCCmpSwap, ByteLen: 8})
	if old := host.Uint64(a.mem[40008:]); old != 42 || host.Uint64(b.mem) != 7 {
		t.Errorf("atomics: %d, then %d", old, host.Uint64(b.mem))
	}
	b.post(func(e []byte) { sendHead(e, 201, 7, 0); host.PutUint32(e[20:], key) })
	a.post(func(e []byte) { // ATOMIC_WRITE
		sendHead(e, 6, 15, 0)
		host.PutUint64(e[24:], 0x10000+64)
		host.PutUint32(e[32:], b.region.RKey())
		copy(e[208:], "8 bytes!")
	})
	exchange(t, a, b)
	b.done(qp.WC{WRID: 201, Opcode: qp.WCLocalInv})
	a.done(qp.WC{WRID: 6, Opcode: qp.WCAtomicWrite, ByteLen: 8})
	if w.Bound() || string(b.mem[64:72]) != "8 bytes!" {
		t.Errorf("bound %v, written %q", w.Bound(), b.mem[64:72])
	}

	// An invalid receive fails, and with it its queue pair; both programs see the rest flushed.
	b.recvs.post(func(e []byte) {
		recv(102)(e)
		host.PutUint32(e[28:], 1<<31)
	})
	b.recvs.post(recv(103))
	a.post(send(7, a.sge(0, 10)))
	a.post(send(8, a.sge(0, 10)))
	a.post(element(77, 0, nil, nil))
	exchange(t, a, b)
	b.done(qp.WC{WRID: 102, Status: qp.WCLocProtErr}, qp.WC{WRID: 103, Status: qp.WCWRFlushErr})
	a.done(qp.WC{WRID: 7, Status: qp.WCRemOpErr}, qp.WC{WRID: 8, Status: qp.WCWRFlushErr},
		qp.WC{WRID: 42, Status: qp.WCWRFlushErr})
	if a.sends.consumer() != a.sends.producer() || b.recvs.consumer() != b.recvs.producer() {
		t.Error("slots are not free again")
	}
}
