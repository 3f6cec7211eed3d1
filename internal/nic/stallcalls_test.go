package nic

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

func TestCallsThatConcernNoQueuePairDoNotWaitForMemoryThatStalls(t *testing.T) {
	s := newStall(t, 0)
	s.begin()
	defer s.end()
	d := s.dev.dev
	var grh transport.GRH
	grh.Set(&packet.Received{Src: addrB, Dst: addrA, Data: make([]byte, 64)})
	for name, f := range map[string]func(){
		"GIDs": func() {
			if g := d.GIDs(); len(g) != 1 || g[0].Addr != addrA {
				t.Errorf("GIDs = %+v", g)
			}
		},
		"GIDTableLen": func() { d.GIDTableLen() },
		"PortActive":  func() { d.PortActive() },
		"CreateAH": func() {
			if _, err := d.CreateAH(s.dev.pd, qp.AddressVector{DGID: qp.GIDFromAddr(addrB)}); err != nil {
				t.Error(err)
			}
		},
		"ReplyVector": func() {
			if _, err := d.ReplyVector(&grh); err != nil {
				t.Error(err)
			}
		},
		"CreateCQ": func() {
			if _, err := d.CreateCQ(1); err != nil {
				t.Error(err)
			}
		},
		"Register": func() {
			if _, err := d.Register(s.dev.pd, mr.Bytes(make([]byte, 8)), 0, 8, 0); err != nil {
				t.Error(err)
			}
		},
		"NewUser":        func() { d.NewUser() },
		"NewEventReader": func() { d.NewEventReader().Close() },
		"LookKeys":       func() { d.ListKeys(0, make([]mr.KeyInfo, 8)) },
		"LookCQs":        func() { d.ListCQs(0, make([]CQInfo, 8)) },
		"LookGroups":     func() { d.ListGroups() },
	} {
		s.returns(name, f)
	}
}

// lastShard is the highest index, the last that calls lock which need all shards.
const lastShard = makerShards - 1

func TestALookTellsOfTheShardsWhoseMemoryDoesNotStall(t *testing.T) {
	s := newStall(t, lastShard)
	d := s.dev.dev
	for _, shard := range []*shard{d.shards[lastShard], d.shard0()} {
		if _, err := d.CreateSRQ(&User{shard}, s.dev.pd, qp.SRQAttr{MaxWR: 4, MaxSGE: 1}); err != nil {
			t.Fatal(err)
		}
	}
	s.begin()
	defer s.end()
	s.returns("LookQPs", func() {
		some := make([]QPInfo, 8)
		n := d.ListQPs(0, some)
		met := func(q *QP) bool {
			return slices.ContainsFunc(some[:n], func(i QPInfo) bool { return i.QPN == q.Num() })
		}
		if !met(s.dev.qp) || met(s.q) {
			t.Errorf("met: %+v", some[:n])
		}
	})
	s.returns("LookSRQs", func() {
		some := make([]SRQInfo, 8)
		if n := d.ListSRQs(0, some); n != 2 || some[0].Depth != 0 || some[1].Depth != 4 {
			t.Errorf("%d shared receive queues were met: %+v", n, some[:n])
		}
	})
	s.returns("SendError", func() { _ = d.SendError() })
}

func TestNoCounterGoesBackWhileMemoryStalls(t *testing.T) {
	s := newStall(t, lastShard)
	s.dev.post(s.dev.write(s.peer, 1, 0, 64))
	s.dev.succeed(1)
	sum := s.dev.counter("tx_packets")
	s.begin()
	defer s.end()
	for range 3 {
		s.returns("a WRITE in another shard", s.exchange)
		s.returns("Counters", func() {
			n := s.dev.counter("tx_packets")
			if n <= sum {
				t.Errorf("%d packets were sent, %d before", n, sum)
			}
			sum = n
		})
	}
}

// bind posts the bind of a type 2 window on q.
func (s *stall) bind(q *QP) {
	s.t.Helper()
	e := s.dev
	mem, err := e.dev.Register(e.pd, mr.Bytes(e.buf), 0x90000, uint64(len(e.buf)), allAccess|mr.MWBind)
	if err != nil {
		s.t.Fatal(err)
	}
	w, err := e.dev.AllocWindow(e.pd, mr.WindowType2)
	if err != nil {
		s.t.Fatal(err)
	}
	wr := &qp.SendWR{ID: 9, Opcode: qp.WRBindMW, Flags: qp.Signaled, Bind: &mr.Bind{
		Key: w.RKey(), NewKey: mr.IncRKey(w.RKey()), LKey: mem.LKey(), Addr: mem.IOVA(), Length: mem.Length(),
		Access: mr.RemoteWrite,
	}}
	if _, err := q.PostSend([]*qp.SendWR{wr}); err != nil {
		s.t.Fatal(err)
	}
}

func TestOtherShardsGoOnWhileACallWaitsForMemoryThatStalls(t *testing.T) {
	for name, call := range map[string]func(s *stall) (call func() error){
		"Deregister": func(s *stall) func() error {
			m, err := s.dev.dev.Register(s.dev.pd, mr.Bytes(make([]byte, 8)), 0, 8, 0)
			if err != nil {
				t.Fatal(err)
			}
			return func() error { return s.dev.dev.Deregister(m) }
		},
		"UpdateLink": func(s *stall) func() error {
			return func() error { return s.dev.dev.UpdateLink(0) }
		},
		"Close of a queue pair with a bound window": func(s *stall) func() error {
			q := s.queuePair(s.dev, 0)
			s.connect(q, s.queuePair(s.peer, 0))
			s.bind(q)
			s.dev.succeed(1)
			return func() error { q.Close(); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStall(t, lastShard)
			call := call(s)
			s.begin()
			result := make(chan error, 1)
			go func() { result <- call() }()
			s.awaitStuck(&s.dev.dev.shards[lastShard].mu)
			s.returns("a WRITE in another shard", s.exchange)
			close(s.mem.release)
			if err := <-result; err != nil {
				t.Error(err)
			}
			<-s.posted
			closeAll(t, s.dev, s.peer)
		})
	}
}

func TestARequestThatChangesKeysWaitsForMemoryThatStallsAndItsShardDoesNot(t *testing.T) {
	s := newStall(t, lastShard)
	q := s.queuePair(s.dev, 0)
	s.connect(q, s.queuePair(s.peer, 0))
	s.begin()
	s.bind(q)
	s.awaitStuck(&s.dev.dev.shards[lastShard].keying)
	s.returns("a WRITE in the same shard", s.exchange)
	close(s.mem.release)
	if wc := s.dev.succeed(1)[0]; wc.WRID != 9 {
		t.Errorf("work request %d is complete, want that of the window", wc.WRID)
	}
	<-s.posted
	closeAll(t, s.dev, s.peer)
}

// The link has one receive queue, so the receiver passes on packets for the shard that stalls.
func TestAReceiverDropsPacketsForAShardWhoseMemoryStalls(t *testing.T) {
	s := newStall(t, lastShard)
	s.begin()
	wr := s.peer.write(s.dev, 5, 64, 64)
	if _, err := s.to.PostSend([]*qp.SendWR{wr}); err != nil {
		t.Fatal(err)
	}
	s.awaitStuck(&s.dev.dev.shards[lastShard].mu)
	s.returns("a WRITE in another shard", s.exchange)
	if s.dev.drops()["shard_busy"] == 0 {
		t.Errorf("packets dropped: %v, want some for a shard that is busy", s.dev.drops())
	}
	close(s.mem.release)
	<-s.posted
	if wc := s.peer.succeed(1)[0]; wc.WRID != 5 { // it was retransmitted
		t.Errorf("work request %d is complete, want that to the shard", wc.WRID)
	}
	closeAll(t, s.dev, s.peer)
}
