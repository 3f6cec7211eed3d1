package nic

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// sharing makes n queue pairs of b use one SRQ, each connected to one of a.
func sharing(t *testing.T, n int, a qp.SRQAttr) (ends [2]*end, senders, receivers []*QP, s *SRQ) {
	t.Helper()
	net := pipe.NewNet()
	ends = [2]*end{newEnd(t, 1, openLink(t, net, addrA), 1<<16), newEnd(t, 2, openLink(t, net, addrB), 1<<16)}
	s, err := ends[1].dev.CreateSRQ(ends[1].dev.NewUser(), ends[1].pd, a)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		q, p := ends[0].newQP(), ends[1].newSharedQP(s)
		ends[0].connect(q, addrB, p.Num(), ends[1].psn, usualRetry)
		ends[1].connect(p, addrA, q.Num(), ends[0].psn, usualRetry)
		senders, receivers = append(senders, q), append(receivers, p)
	}
	return ends, senders, receivers, s
}

func (e *end) newSharedQP(s *SRQ) *QP {
	e.t.Helper()
	q, err := e.dev.CreateQP(QPInit{
		Type: qp.RC, PD: &mr.PD{}, SendCQ: e.cq, RecvCQ: e.cq, SRQ: s, Cap: qp.Cap{MaxSendWR: 16, MaxSendSGE: 1},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return q
}

func (e *end) send(id uint64, n int) []*qp.SendWR {
	return []*qp.SendWR{{ID: id, Opcode: qp.WRSend, Flags: qp.Signaled, SGList: e.sge(0, n)}}
}

func TestManyQueuePairsShareReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const qps, rounds = 10, 20
		ends, senders, receivers, s := sharing(t, qps, qp.SRQAttr{MaxWR: 8, MaxSGE: 1, Limit: 2})
		a, b := ends[0], ends[1]
		defer closeAll(t, a, b)
		for i, q := range senders {
			for r := range rounds {
				if _, err := q.PostSend(a.send(uint64(r), 10+i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := map[uint32]int{}
		for id := uint64(0); id < qps*rounds; id++ {
			// One receive at a time: the other queue pairs find the SRQ empty.
			if _, err := s.PostRecv([]*qp.RecvWR{{ID: id, SGList: b.sge(0, 100)}}); err != nil {
				t.Fatal(err)
			}
			wc := b.succeed(1)[0]
			if wc.WRID != id {
				t.Fatalf("receive %d completed, want %d", wc.WRID, id)
			}
			if want := receivers[wc.ByteLen-10].Num(); wc.QPN != want {
				t.Fatalf("%d bytes came to %v, want %v", wc.ByteLen, wc.QPN, want)
			}
			got[wc.ByteLen]++
			if id == 0 {
				if e, err := b.dev.Event(t.Context()); err != nil ||
					e != (AsyncEvent{Type: qp.EventSRQLimitReached, SRQ: s}) {
					t.Fatalf("Event = %+v, %v", e, err)
				}
			}
		}
		a.succeed(qps * rounds)
		for n, count := range got {
			if count != rounds {
				t.Errorf("%d messages of %d bytes came, want %d", count, n, rounds)
			}
		}
		if s.Query() != (qp.SRQAttr{MaxWR: 8, MaxSGE: 1}) {
			t.Errorf("attributes %+v", s.Query())
		}
	})
}

func TestSRQInUseStaysOpen(t *testing.T) {
	ends, _, receivers, s := sharing(t, 2, qp.SRQAttr{MaxWR: 4, MaxSGE: 1})
	defer closeAll(t, ends[:]...)
	for left := 2; left > 0; left-- {
		err := s.Close()
		if err == nil || !strings.Contains(err.Error(), "close its queue pairs first") {
			t.Fatalf("Close with %d queue pairs = %v", left, err)
		}
		receivers[left-1].Close()
		receivers[left-1].Close()
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if _, err := s.PostRecv([]*qp.RecvWR{{}}); !errors.Is(err, ErrClosed) {
		t.Errorf("post after Close = %v", err)
	}
	if err := s.Modify(qp.SRQAttr{Limit: 1}, qp.SRQLimit); !errors.Is(err, ErrClosed) {
		t.Errorf("modify after Close = %v", err)
	}
	e := ends[1]
	_, err := e.dev.CreateQP(QPInit{Type: qp.RC, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq, SRQ: s})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("queue pair on it after Close = %v", err)
	}
	// The failed creation left no trace in the CQ: only the end's own queue pair is counted.
	e.qp.Close()
	if err := e.cq.Close(); err != nil {
		t.Error(err)
	}
}

func TestDeviceHasSoManySRQs(t *testing.T) {
	e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 64)
	defer closeAll(t, e)
	var all []*SRQ
	for {
		s, err := e.dev.CreateSRQ(nil, e.pd, qp.SRQAttr{MaxWR: 1})
		if err != nil {
			if !strings.Contains(err.Error(), "all 256 shared receive queues") {
				t.Error(err)
			}
			break
		}
		all = append(all, s)
	}
	if len(all) != 256 {
		t.Errorf("%d SRQs, want 256", len(all))
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.dev.CreateSRQ(nil, e.pd, qp.SRQAttr{MaxWR: 1, Limit: 2}); err == nil {
		t.Error("a limit above the size was taken")
	}
	if _, err := e.dev.CreateSRQ(nil, e.pd, qp.SRQAttr{MaxWR: 1, Limit: 1}); err != nil {
		t.Error(err)
	}
}

func TestQueuePairThatFailsLeavesTheSRQToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends, senders, receivers, s := sharing(t, 2, qp.SRQAttr{MaxWR: 4, MaxSGE: 1})
		a, b := ends[0], ends[1]
		defer closeAll(t, a, b)
		for id := range uint64(2) {
			if _, err := s.PostRecv([]*qp.RecvWR{{ID: id, SGList: b.sge(0, 100)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := receivers[0].Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
			t.Fatal(err)
		}
		if e, err := b.dev.Event(t.Context()); err != nil ||
			e != (AsyncEvent{Type: qp.EventQPLastWQEReached, QP: receivers[0]}) {
			t.Fatalf("Event = %+v, %v", e, err)
		}
		if _, err := senders[1].PostSend(a.send(1, 5)); err != nil {
			t.Fatal(err)
		}
		if wc := b.succeed(1)[0]; wc.WRID != 0 || wc.QPN != receivers[1].Num() {
			t.Errorf("completion %+v", wc)
		}
		if n, err := receivers[1].PostRecv([]*qp.RecvWR{{}}); n != 0 || !errors.Is(err, qp.ErrBadWR) {
			t.Errorf("post to a queue pair with an SRQ = %d, %v", n, err)
		}
	})
}
