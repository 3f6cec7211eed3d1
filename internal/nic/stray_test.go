package nic

import (
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// qpElsewhere returns a queue pair that is not in the first shard.
func (m *maker) qpElsewhere() *QP {
	m.t.Helper()
	for {
		if q, shard := m.qp(); shard != 0 {
			return q
		}
	}
}

func (m *maker) datagramQP() *QP {
	m.t.Helper()
	q, err := m.dev.CreateQP(QPInit{Type: qp.UD, PD: m.pd, SendCQ: m.cq, RecvCQ: m.cq,
		Cap: qp.Cap{MaxSendWR: 1, MaxRecvWR: 1}})
	if err != nil {
		m.t.Fatal(err)
	}
	return q
}

func arrivalFor(q bth.QPN, src netip.Addr) *arrival {
	return &arrival{packet: bth.Packet{DestQP: q, Payload: []byte("payload")}, src: src}
}

// A receiver waits for the lock of another shard: strangers must not cause that.
func TestPacketsThatNoQueuePairTakesLeadToNoOtherShard(t *testing.T) {
	m := newMaker(t, 1)
	home := m.dev.shard0()
	in := newInbox(home.out[0].gid, home)
	connected, fresh, gone := m.qpElsewhere(), m.qpElsewhere(), m.qpElsewhere()
	for _, q := range []*QP{connected, gone} {
		q.remote = addrB
		q.registerSender()
	}
	gone.Close()
	var unknown bth.QPN = 2
	for m.dev.shardOf(unknown) == home || m.dev.shardOf(unknown).qps.Has(unknown) {
		unknown++
	}
	for _, c := range []struct {
		name   string
		to     bth.QPN
		src    netip.Addr
		taken  bool
		drop   int
		strays uint64
	}{
		{"its peer's", connected.Num(), addrB, true, -1, 1 << connected.shard.index},
		{"a stranger's", connected.Num(), addrA, false, dropStranger, 0},
		{"for a queue pair without a peer", fresh.Num(), addrB, false, dropStranger, 0},
		{"for a queue pair that is closed", gone.Num(), addrB, false, dropUnknownQPN, 0},
		{"for an unknown number", unknown, addrB, false, dropUnknownQPN, 0},
	} {
		in.count, in.strays, in.datagrams = received{}, 0, 0
		if taken := in.admit(arrivalFor(c.to, c.src)); taken != c.taken || in.strays != c.strays || in.datagrams != 0 {
			t.Errorf("%s: taken %v, shards %b and %b", c.name, taken, in.strays, in.datagrams)
		}
		if c.drop >= 0 && in.count.drops[c.drop] != 1 {
			t.Errorf("%s: drops are %v", c.name, in.count.drops)
		}
	}
}

// Any host may send datagrams: a receiver does not wait for the lock of the shard that they are
// for.
func TestDatagramsAreHeldForAShardThatIsBusy(t *testing.T) {
	m := newMaker(t, 1)
	q := m.datagramQP()
	home, other := m.dev.shard0(), m.dev.shards[1]
	in := newInbox(other.out[0].gid, other)
	a := arrivalFor(q.Num(), addrB)
	if !in.admit(a) || in.strays != 0 || in.datagrams != 1 {
		t.Fatalf("shards %b and %b", in.strays, in.datagrams)
	}
	var good []arrival
	for range maxDeferred + 6 {
		good = append(good, *a)
	}
	taken := func() (n uint64) {
		home.lock()
		defer home.unlock()
		for _, v := range home.count.verdicts {
			n += v
		}
		return n
	}
	before := taken()
	home.lock()
	if home.tryLock() {
		t.Fatal("the lock is free")
	}
	if n := in.deferDatagrams(home, good); n != 6 {
		t.Errorf("%d datagrams found no room", n)
	}
	good[0].packet.Payload[0] = '?' // it is borrowed from the receiver
	for i := range home.deferred.list {
		if p := string(home.deferred.list[i].packet.Payload); p != "payload" {
			t.Errorf("datagram %d holds %q", i, p)
		}
	}
	home.unlock()
	for taken()-before < maxDeferred {
		runtime.Gosched()
	}
}

// blockingDatagrams is a machine that receives a datagram for as long as its memory stalls.
type blockingDatagrams struct{ entered, release chan struct{} }

func (*blockingDatagrams) Link() (int, bool) { return 0, false }

func (b *blockingDatagrams) ReceiveFrom(transport.Time, *bth.Packet, *transport.GRH) transport.Verdict {
	b.entered <- struct{}{}
	<-b.release
	return transport.Accepted
}

func TestAReceiverDoesNotWaitForDatagramsThatAnotherShardReceives(t *testing.T) {
	e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 64)
	defer closeAll(t, e)
	q, err := e.dev.CreateQP(QPInit{Type: qp.UD, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq,
		Cap: qp.Cap{MaxSendWR: 1, MaxRecvWR: 1}})
	if err != nil {
		t.Fatal(err)
	}
	b := &blockingDatagrams{make(chan struct{}, 3), make(chan struct{})}
	s := q.shard
	s.lock()
	q.dgram = b
	in := &inbox{gid: s.out[0].gid}
	s.unlock()
	one := []arrival{{packet: bth.Packet{DestQP: q.Num()}}}
	for range 3 {
		if n := in.deferDatagrams(s, one); n != 0 {
			t.Errorf("%d datagrams found no room", n)
		}
		if len(b.entered) == 0 {
			<-b.entered // the first is received now, and its memory stalls
			b.entered <- struct{}{}
		}
	}
	close(b.release)
	for range 3 {
		<-b.entered
	}
}

// Memory of a file may wait for a disk at each packet of a batch.
func TestAReceiverThatTakesLongGivesWay(t *testing.T) {
	m := newMaker(t, 1)
	s := m.dev.shard0()
	var had atomic.Bool
	s.lock()
	defer s.unlock()
	go func() {
		s.lock()
		had.Store(true)
		s.unlock()
	}()
	for !had.Load() {
		s.yieldLock(s.dev.now())
	}
}
