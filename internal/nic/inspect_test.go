package nic

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

var byValue = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestLookTellsAllOfAQueuePair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a := newEnd(t, 1, openLink(t, n, addrA), 4096)
		defer closeAll(t, a)
		a.pd.ID = 3
		time.Sleep(time.Minute)
		// No host has the other address: packets stay unacknowledged.
		a.connect(a.qp, addrB, 0x77, 500, retry{timeout: 0, count: 5})
		wr := &qp.SendWR{ID: 1, Opcode: qp.WRSend, Flags: qp.Signaled, SGList: a.sge(0, 2500)}
		if _, err := a.qp.PostSend([]*qp.SendWR{wr}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.qp.PostRecv([]*qp.RecvWR{{ID: 2}}); err != nil {
			t.Fatal(err)
		}
		var got [2]QPInfo
		if n := a.dev.ListQPs(0, got[:]); n != 1 {
			t.Fatalf("%d queue pairs, want 1", n)
		}
		want := QPInfo{
			Number: 1, QPN: a.qp.Num(), Type: qp.RC, State: qp.RTS, PD: 3, Age: time.Minute,
			Local: addrA, Remote: addrB, RemoteQPN: 0x77, PathMTU: 1024,
			SendPSN: a.psn + 3, AckPSN: a.psn, RecvPSN: 500, Window: 128, RetriesLeft: 5, RNRLeft: 7,
			SendQueue: 1, SendDepth: 1024, RecvQueue: 1, RecvDepth: 1024, SendCQ: 1, RecvCQ: 1,
			Counters: transport.Counters{SentPackets: 3},
		}
		if diff := cmp.Diff(want, got[0], byValue); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLookTellsOfQueuesAndGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 4096)
		s, err := a.dev.CreateSRQ(nil, &mr.PD{ID: 9}, qp.SRQAttr{MaxWR: 8, MaxSGE: 1, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.PostRecv([]*qp.RecvWR{{ID: 1}, {ID: 2}, {ID: 3}}); err != nil {
			t.Fatal(err)
		}
		a.newSharedQP(s)
		d := a.newDatagramQP(testQKey)
		if err := d.AttachMulticast(qp.GIDFromAddr(group4)); err != nil {
			t.Fatal(err)
		}

		var qps [4]QPInfo
		if n := a.dev.ListQPs(1, qps[:]); n != 2 || qps[0].SRQ != 1 || qps[0].RecvQueue != 3 || qps[0].RecvDepth != 8 ||
			qps[0].GIDIndex != -1 {
			t.Errorf("%d queue pairs, the one with an SRQ: %+v", n, qps[0])
		}
		var srqs [2]SRQInfo
		if n := a.dev.ListSRQs(0, srqs[:]); n != 1 ||
			srqs[0] != (SRQInfo{Number: 1, PD: 9, Len: 3, Depth: 8, Limit: 2, Users: 1}) {
			t.Errorf("%d SRQs: %+v", n, srqs)
		}
		var cqs [2]CQInfo
		if n := a.dev.ListCQs(0, cqs[:]); n != 1 || cqs[0] != (CQInfo{Number: 1, Depth: 4096, Users: 6}) {
			t.Errorf("%d CQs: %+v", n, cqs)
		}
		var keys [2]mr.KeyInfo
		if n := a.dev.ListKeys(0, keys[:]); n != 1 || keys[0].Key != a.mem.RKey() {
			t.Errorf("%d keys: %+v", n, keys)
		}
		want := []GroupInfo{{group4, []bth.QPN{d.Num()}}}
		if diff := cmp.Diff(want, a.dev.ListGroups(), byValue); diff != "" {
			t.Error(diff)
		}

		closeAll(t, a)
		if n := a.dev.ListQPs(0, qps[:]) + a.dev.ListCQs(0, cqs[:]); n != 0 {
			t.Errorf("%d queue pairs and CQs of a closed device", n)
		}
	})
}

// Queue pairs, regions and queues that exist all the time are listed once each, while others are
// created and closed and traffic runs.
func TestLookMeetsOnceWhatStays(t *testing.T) {
	a, b := newPair(t, 4096, usualRetry, nil)
	defer closeAll(t, a, b)
	var stay []bth.QPN
	for range 300 {
		stay = append(stay, a.newQP().Num())
		a.newQP().Close()
	}
	over := make(chan struct{})
	var churn sync.WaitGroup
	churn.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			q, p := a.newQP(), a.newQP()
			if m, err := a.dev.Register(a.pd, mr.Bytes(make([]byte, 8)), 0, 8, 0); err != nil {
				t.Error(err)
			} else if err := a.dev.Deregister(m); err != nil {
				t.Error(err)
			}
			q.Close()
			p.Close()
		}
	})
	churn.Go(func() {
		wc := make([]qp.WC, 1)
		for {
			select {
			case <-over:
				return
			default:
			}
			if _, err := a.qp.PostSend(a.send(1, 64)); err != nil {
				t.Error(err)
				return
			}
			if _, err := b.qp.PostRecv([]*qp.RecvWR{{ID: 1, SGList: b.sge(0, 64)}}); err != nil {
				t.Error(err)
				return
			}
			for _, c := range []*CQ{a.cq, b.cq} {
				if _, err := c.Wait(t.Context(), wc); err != nil || wc[0].Status != qp.WCSuccess {
					t.Errorf("%+v, %v", wc[0], err)
					return
				}
			}
		}
	})
	for range 50 {
		met := map[bth.QPN]int{}
		last := uint64(0)
		var some [16]QPInfo
		for n := len(some); n == len(some); {
			n = a.dev.ListQPs(last, some[:])
			for i := range some[:n] {
				if some[i].Number <= last {
					t.Fatalf("number %d after %d", some[i].Number, last)
				}
				last = some[i].Number
				met[some[i].QPN]++
			}
		}
		if i := slices.IndexFunc(stay, func(n bth.QPN) bool { return met[n] != 1 }); i >= 0 {
			t.Fatalf("queue pair %#x was met %d times", stay[i], met[stay[i]])
		}
		if met[a.qp.Num()] != 1 {
			t.Fatal("the queue pair with the traffic was not met once")
		}
	}
	close(over)
	churn.Wait()
}

// While queue pairs with non-zero counters are created and closed, no counter of the device
// decreases, and none is counted twice.
func TestCountersNeverGoBack(t *testing.T) {
	a, b := newPair(t, 4096, usualRetry, nil)
	defer closeAll(t, a, b)
	const rounds, others = 300, 200
	for range others {
		a.newQP()
	}
	over := make(chan struct{})
	var churn sync.WaitGroup
	churn.Go(func() {
		defer close(over)
		wc := make([]qp.WC, 1)
		for range rounds {
			q, p := a.newQP(), b.newQP()
			a.connect(q, addrB, p.Num(), b.psn, retry{timeout: 0, count: 7})
			b.connect(p, addrA, q.Num(), a.psn, retry{timeout: 0, count: 7})
			if _, err := q.PostSend([]*qp.SendWR{{Opcode: qp.WRWrite, Flags: qp.Signaled, SGList: a.sge(0, 8),
				RemoteAddr: b.mem.IOVA(), RKey: b.mem.RKey()}}); err != nil {
				t.Error(err)
				return
			}
			if _, err := a.cq.Wait(t.Context(), wc); err != nil || wc[0].Status != qp.WCSuccess {
				t.Errorf("%+v, %v", wc[0], err)
				return
			}
			q.Close()
			p.Close()
		}
	})
	count := func() (sent uint64) {
		a.dev.Counters(func(name string, value uint64) {
			if name == "sent_pkts" {
				sent = value
			}
		})
		return sent
	}
	last := uint64(0)
	for running := true; running; {
		select {
		case <-over:
			running = false
		default:
		}
		now := count()
		if now < last {
			t.Fatalf("%d packets after %d", now, last)
		}
		if last = now; now > rounds {
			t.Fatalf("%d packets counted, %d were sent at most", now, rounds)
		}
	}
	churn.Wait()
	if last := count(); last != rounds {
		t.Errorf("%d packets, want %d", last, rounds)
	}
}

// A queue pair that was added up, and closes before addUp is done, is counted once in that sum
// and in the next.
func TestAQueuePairThatClosesWhileCountersAreAddedUpCountsOnce(t *testing.T) {
	a := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 64)
	defer closeAll(t, a)
	a.qp.machine.Counters().SentPackets = 5
	c := &a.qp.shard.count
	c.addedUpTo = a.qp.number
	a.qp.Close()
	for i, want := range []uint64{0, 5, 5} { // the first part, added already, is not counted again
		if _, rest := a.dev.addUp(); rest.SentPackets != want {
			t.Errorf("sum %d has %d packets, want %d", i, rest.SentPackets, want)
		}
	}
}

func TestALookAllocatesNothingUnderTheLock(t *testing.T) {
	oneShard(t) // with several shards it allocates before it takes a lock
	a := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 4096)
	defer closeAll(t, a)
	for range 100 {
		a.newQP()
	}
	qps, keys, cqs := make([]QPInfo, 64), make([]mr.KeyInfo, 64), make([]CQInfo, 64)
	for name, f := range map[string]func(){
		"LookQPs":  func() { a.dev.ListQPs(10, qps) },
		"LookKeys": func() { a.dev.ListKeys(0, keys) },
		"LookCQs":  func() { a.dev.ListCQs(0, cqs) },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkLookQPs(b *testing.B) {
	a := newEnd(b, 1, openLink(b, pipe.NewNet(), addrA), 4096)
	defer closeAll(b, a)
	for range 10_000 {
		a.newQP()
	}
	some := make([]QPInfo, 64)
	b.ReportAllocs()
	b.ResetTimer()
	after := uint64(0)
	for range b.N {
		if a.dev.ListQPs(after, some) < len(some) {
			after = 0
			continue
		}
		after = some[63].Number
	}
}
