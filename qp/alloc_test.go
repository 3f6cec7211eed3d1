package qp_test

import (
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

func TestQueuesAllocateNothingOnceGrown(t *testing.T) {
	sq, rq, cq := qp.NewSendQueue(64, 4, true), qp.NewRecvQueue(nil, 64, 4), qp.NewCQ(64)
	sq.SetMaxInline(64)
	sg := []qp.SGE{{Length: 1}, {Length: 2}, {Length: 3}}
	sends := []*qp.SendWR{{Opcode: qp.WRSend, SGList: sg},
		{Opcode: qp.WRSend, Flags: qp.Inline, InlineData: make([]byte, 20)}}
	recv := &qp.RecvWR{SGList: sg}
	var into qp.RecvWQE
	out := make([]qp.WC, 64)
	q := &qp.QP{Type: qp.RC, Recv: rq, Attr: qp.Attr{State: qp.RTS}}
	// In the first rounds, each slot holds each kind of request.
	round := func() {
		for i := range 65 {
			wr := sends[i%2]
			if q.CheckPost(wr) != nil || q.CheckPostRecv() != nil {
				t.Fatal("refused")
			}
			full := i == 64
			if (sq.Push(wr) != nil) != full || (rq.Push(recv) != nil) != full {
				t.Fatal("full too early or late")
			}
		}
		for rq.Take(&into) {
			w := sq.At(sq.Head())
			cq.Complete(&qp.WC{WRID: w.ID, Opcode: w.Opcode.WCOpcode()})
			sq.Pop()
		}
		if cq.Poll(out) != 64 {
			t.Fatal("lost a completion")
		}
		sends[0], sends[1] = sends[1], sends[0]
	}
	round()
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("a round of 64 requests allocates %v times", n)
	}
}

var idle *qp.QP // keeps the result of a benchmark on the heap

func newIdle() *qp.QP {
	const depth = 128
	return &qp.QP{Type: qp.RC, SQ: qp.NewSendQueue(depth, 16, true), Recv: qp.NewRecvQueue(nil, depth, 16)}
}

func TestIdleQueuePairIsSmall(t *testing.T) {
	const n = 1000
	keep := make([]*qp.QP, n)
	size := heapGrowth(func() {
		for i := range keep {
			keep[i] = newIdle()
		}
	}) / n
	t.Logf("an idle queue pair of depth 128 takes %d bytes", size)
	if size > 1024 {
		t.Errorf("an idle queue pair takes %d bytes, more than 1024", size)
	}

	cqs := make([]*qp.CQ, n)
	size = heapGrowth(func() {
		for i := range cqs {
			cqs[i] = qp.NewCQ(4096)
		}
	}) / n
	t.Logf("an idle completion queue of depth 4096 takes %d bytes", size)
	if size > 128 {
		t.Errorf("an idle completion queue takes %d bytes, more than 128", size)
	}
	runtime.KeepAlive(keep)
	runtime.KeepAlive(cqs)
}

func TestQueuePairWithOneRequestAtATimeStaysSmall(t *testing.T) {
	const n = 100
	keep := make([]*qp.QP, n)
	size := heapGrowth(func() {
		var into qp.RecvWQE
		for i := range keep {
			q := newIdle()
			for range 1000 {
				if err := q.SQ.Push(&qp.SendWR{SGList: make([]qp.SGE, 1)}); err != nil {
					t.Fatal(err)
				}
				if err := q.Recv.(*qp.RecvQueue).Push(&qp.RecvWR{SGList: make([]qp.SGE, 1)}); err != nil {
					t.Fatal(err)
				}
				q.SQ.Pop()
				q.Recv.Take(&into)
			}
			keep[i] = q
		}
	}) / n
	t.Logf("a queue pair with one request at a time takes %d bytes", size)
	if size > 2048 {
		t.Errorf("a queue pair with one request at a time takes %d bytes, more than 2048", size)
	}
	runtime.KeepAlive(keep)
}

func TestAQueueThatBecomesSmallerGivesItsMemoryBack(t *testing.T) {
	const depth = 1 << 14
	c, s := qp.NewCQ(depth), qp.NewSRQ(&mr.PD{}, depth, 1)
	for range depth {
		c.Complete(&qp.WC{})
		if err := s.Push(&qp.RecvWR{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Poll(make([]qp.WC, depth))
	for range depth {
		s.Take(&qp.RecvWQE{})
	}
	if size := heapGrowth(func() {
		if err := c.Resize(1); err != nil {
			t.Fatal(err)
		}
	}); size > -depth {
		t.Errorf("the heap changes by %d bytes with a completion queue of %d that becomes one of 1", size, depth)
	}
	if size := heapGrowth(func() {
		if err := s.Modify(qp.SRQAttr{MaxWR: 1}, qp.SRQMaxWR); err != nil {
			t.Fatal(err)
		}
	}); size > -depth {
		t.Errorf("the heap changes by %d bytes with an SRQ of %d that becomes one of 1", size, depth)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(s)
}

// After a resize, the slots of a queue have preallocated space for one SGE as before.
func TestReceivesAllocateNothingInAResizedQueue(t *testing.T) {
	const full = 64
	for name, depth := range map[string]int{"smaller": full / 2, "larger": 2 * full} {
		t.Run(name, func(t *testing.T) {
			var queues [2]*qp.SRQ // AllocsPerRun makes one extra call
			wr := &qp.RecvWR{SGList: make([]qp.SGE, 1)}
			for i := range queues {
				s := qp.NewSRQ(&mr.PD{}, full, 4)
				for range full {
					if err := s.Push(wr); err != nil {
						t.Fatal(err)
					}
				}
				s.Reset()
				if err := s.Modify(qp.SRQAttr{MaxWR: depth}, qp.SRQMaxWR); err != nil {
					t.Fatal(err)
				}
				queues[i] = s
			}
			next := 0
			if n := testing.AllocsPerRun(1, func() {
				for range min(depth, full) {
					if err := queues[next].Push(wr); err != nil {
						t.Error(err)
					}
				}
				next++
			}); n != 0 {
				t.Errorf("the receives allocate %v times", n)
			}
		})
	}
}

func heapGrowth(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // releases pooled memory of the first run
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func BenchmarkSendQueue(b *testing.B) {
	q := qp.NewSendQueue(128, 4, true)
	wr := &qp.SendWR{Opcode: qp.WRWrite, SGList: []qp.SGE{{Addr: 1, Length: 65536, LKey: 3}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Push(wr); err != nil {
			b.Fatal(err)
		}
		q.At(q.Head()).SG[0].Region = (*mr.Region)(nil)
		q.Pop()
	}
}

func BenchmarkRecvQueue(b *testing.B) {
	q := qp.NewRecvQueue(nil, 128, 4)
	wr := &qp.RecvWR{SGList: []qp.SGE{{Addr: 1, Length: 65536, LKey: 3}}}
	var into qp.RecvWQE
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Push(wr); err != nil {
			b.Fatal(err)
		}
		q.Take(&into)
	}
}

func BenchmarkCQ(b *testing.B) {
	c := qp.NewCQ(128)
	wc, out := &qp.WC{WRID: 1}, make([]qp.WC, 16)
	b.ReportAllocs()
	for b.Loop() {
		c.Complete(wc)
		c.Poll(out)
	}
}

func BenchmarkCheckPost(b *testing.B) {
	q := &qp.QP{Type: qp.RC, Attr: qp.Attr{State: qp.RTS}}
	wr := &qp.SendWR{Opcode: qp.WRWrite, SGList: []qp.SGE{{Length: 1}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := q.CheckPost(wr); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIdleQueuePair(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		idle = newIdle()
	}
}
