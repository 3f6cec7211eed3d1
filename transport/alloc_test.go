package transport

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// pump is two connected machines; function calls carry the packets between them.
type pump struct {
	rc    [2]*RC
	qp    [2]*qp.QP
	cq    [2]*qp.CQ
	reg   [2]*mr.Region
	batch *packet.Batch
	raw   []byte
	p     bth.Packet
	now   Time
	lose  func(to int, p *bth.Packet) bool // nil for no loss

	storeBatch [2]*StoreBatch // nil: payloads are not held back
}

func newPump(mtu qp.MTU) *pump {
	return newPumpOver(mtu, mr.Bytes(make([]byte, 1<<20)), mr.Bytes(make([]byte, 1<<20)))
}

// newPumpOver returns a pump with regions over 1 MiB of each memory.
func newPumpOver(mtu qp.MTU, mem ...mr.Memory) *pump {
	w := &pump{batch: packet.NewBatch(64), raw: make([]byte, 0, 8192), now: 1}
	for i := range w.rc {
		pd := &mr.PD{}
		keys := mr.NewTable([32]byte{1}, 4)
		all := mr.LocalWrite | mr.RemoteRead | mr.RemoteWrite | mr.RemoteAtomic | mr.FlushGlobal
		w.reg[i], _ = keys.Register(pd, mem[i], 0, 1<<20, all)
		w.cq[i] = qp.NewCQ(256)
		w.qp[i] = &qp.QP{Num: bth.QPN(16 + i), Type: qp.RC, PD: pd, SQ: qp.NewSendQueue(64, 2, true),
			Recv: qp.NewRecvQueue(pd, 64, 2), SendCQ: w.cq[i], RecvCQ: w.cq[i], SigAll: true}
		w.rc[i] = NewRC(w.qp[i], keys, nil)
		for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
			w.qp[i].Attr = qp.Attr{State: st, PathMTU: mtu, DestQPN: bth.QPN(17 - i), Access: all,
				MaxRdAtomic: 16, MaxDestRdAtomic: 16, MinRNRTimer: 12, Timeout: 14, RetryCnt: 7, RNRRetry: 7}
			w.rc[i].Modified(w.now)
		}
	}
	return w
}

// run carries packets back and forth until neither end has more to send.
func (w *pump) run() {
	for busy := true; busy; {
		busy = false
		for i := range w.rc {
			more := w.rc[i].Transmit(w.now, nil, w.batch, 64)
			busy = busy || more || w.batch.Len() > 0
			for k := range w.batch.Len() {
				if w.storeBatch[1-i] != nil {
					w.raw = nil // the StoreBatch borrows the received payload
				}
				w.raw = append(w.batch.At(k).AppendTo(w.raw[:0]), 0, 0, 0, 0)
				if w.p.Decode(w.raw) == nil && (w.lose == nil || !w.lose(1-i, &w.p)) {
					w.rc[1-i].Receive(w.now, &w.p)
				}
			}
			w.storeBatch[1-i].Settle()
			w.batch.Reset()
		}
	}
}

// message sends one message of n bytes from end 0 to end 1 and polls all completions.
func (w *pump) message(op qp.WROpcode, n int, wr *qp.SendWR, rr *qp.RecvWR, wcs []qp.WC) int {
	wr.Opcode, wr.RKey = op, w.reg[1].RKey()
	wr.SGList = append(wr.SGList[:0], qp.SGE{Length: uint32(n), LKey: w.reg[0].LKey()})
	if op == qp.WRSend {
		rr.SGList = append(rr.SGList[:0], qp.SGE{Length: uint32(n), LKey: w.reg[1].LKey()})
		if w.qp[1].Recv.(*qp.RecvQueue).Push(rr) != nil {
			return 0
		}
	}
	if w.qp[0].SQ.Push(wr) != nil {
		return 0
	}
	w.run()
	return w.cq[0].Poll(wcs) + w.cq[1].Poll(wcs)
}

var messageOps = []struct {
	name string
	op   qp.WROpcode
	wcs  int
}{{"SEND", qp.WRSend, 2}, {"WRITE", qp.WRWrite, 1}, {"READ", qp.WRRead, 1}}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, o := range messageOps {
		for _, n := range []int{0, 64, 65536} {
			w := newPump(1024)
			wr, rr, wcs := &qp.SendWR{}, &qp.RecvWR{}, make([]qp.WC, 8)
			one := func() {
				if got := w.message(o.op, n, wr, rr, wcs); got != o.wcs {
					t.Fatalf("%s of %d bytes: %d completions, want %d", o.name, n, got, o.wcs)
				}
			}
			for range 200 {
				one()
			}
			if a := testing.AllocsPerRun(200, one); a != 0 {
				t.Errorf("%s of %d bytes: %v allocations a message, want 0", o.name, n, a)
			}
		}
	}
}

// Packet loss on the way to end 1 costs no allocation after the first gaps.
func TestGapsAllocateNothingInSteadyState(t *testing.T) {
	w := newPump(1024)
	const size, gaps = 64, 2 // of a message, in packets
	var lost [size]bth.PSN
	w.lose = func(to int, p *bth.Packet) bool {
		i := p.PSN % size
		first := to == 1 && i%30 == 5 && lost[i] != p.PSN
		if first {
			lost[i] = p.PSN
		}
		return first
	}
	wr, rr, wcs := &qp.SendWR{}, &qp.RecvWR{}, make([]qp.WC, 8)
	one := func() {
		if got := w.message(qp.WRWrite, 65536, wr, rr, wcs); got != 1 {
			t.Fatalf("%d completions, want 1", got)
		}
	}
	for range 200 {
		one()
	}
	if a := testing.AllocsPerRun(200, one); a != 0 {
		t.Errorf("%v allocations a message, want 0", a)
	}
	if c := w.rc[1].Counters(); c.SequenceNAKsSent != gaps*401 || c.EarlyKept != (size-6-1)*401 ||
		c.DuplicateRequests != 0 {
		t.Errorf("401 messages with %d gaps each: %+v", gaps, *c)
	}
}

// BenchmarkMessage measures both machines and the packet codec, without link and ICRC.
func BenchmarkMessage(b *testing.B) {
	for _, o := range messageOps {
		for _, n := range []int{64, 65536} {
			b.Run(o.name+map[int]string{64: "-64B", 65536: "-64KiB"}[n], func(b *testing.B) {
				w := newPump(4096)
				wr, rr, wcs := &qp.SendWR{}, &qp.RecvWR{}, make([]qp.WC, 8)
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					if w.message(o.op, n, wr, rr, wcs) != o.wcs {
						b.Fatal("message did not complete")
					}
				}
			})
		}
	}
}
