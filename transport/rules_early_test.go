package transport

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Early requests are kept until they can be executed. That is a choice of this package: the
// IBA permits a responder to drop them.
func TestResponderKeepsEarlyRequests(t *testing.T) {
	runScenarios(t, []scenario{
		{"when the missing packet comes, all is executed in PSN order and one ACK covers it", nil, `
			recv id=1 len=512
			recv id=2 len=4
			< SEND_ONLY psn=103 len=4
			verdict out_of_sequence
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< SEND_LAST psn=102 len=4 ack
			< SEND_FIRST psn=101 len=256
			< RDMA_WRITE_ONLY psn=100 len=0
			verdict accepted
			wc 1 SUCCESS RECV len=260
			wc 2 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=103 syn=ack msn=3
			counts sent_seq_err=1 out_of_seq_request=3 early_kept=3`},
		{"the next gap is asked for at once, and each only once", nil, `
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0
			< RDMA_WRITE_ONLY psn=105 len=0
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			> ACKNOWLEDGE psn=102 syn=seq msn=2
			< RDMA_WRITE_ONLY psn=106 len=0 ack
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			> ACKNOWLEDGE psn=104 syn=seq msn=4
			< RDMA_WRITE_ONLY psn=104 len=0 ack
			> ACKNOWLEDGE psn=106 syn=ack msn=7
			counts sent_seq_err=3 out_of_seq_request=4 early_kept=4`},
		{"of two packets with one PSN the first is kept", nil, `
			recv id=1 len=4
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=102 len=0
			< SEND_ONLY psn=101 len=4
			< SEND_ONLY psn=102 len=4
			< RDMA_WRITE_ONLY psn=100 len=0
			> ACKNOWLEDGE psn=102 syn=ack msn=3
			counts sent_seq_err=1 out_of_seq_request=4 early_kept=2 early_dropped=2`},
		{"what is kept is a duplicate once it was executed", nil, `
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=100 len=0
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			> ACKNOWLEDGE psn=102 syn=ack msn=3`},
		{"READs and atomics are answered in their turn, atomics once", nil, `
			< FETCH_ADD psn=103 va=0x10008 add=5 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=300 rkey=rw ack
			< RDMA_WRITE_ONLY psn=104 len=0
			< FETCH_ADD psn=103 va=0x10008 add=5 rkey=rw ack
			< RDMA_WRITE_ONLY psn=100 len=0
			> RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=102 len=44 syn=ack msn=2
			> ATOMIC_ACKNOWLEDGE psn=103 syn=ack msn=3 value=0
			> ACKNOWLEDGE psn=104 syn=ack msn=4
			< FETCH_ADD psn=105 va=0x10008 add=0 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=105 syn=ack msn=5 value=5`},
		{"what lies in the PSNs of a READ's responses is dropped when the READ is executed", nil, `
			recv id=1 len=4
			< SEND_ONLY psn=102 len=4
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=300 rkey=rw ack
			< RDMA_WRITE_ONLY psn=100 len=0
			> RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=102 len=44 syn=ack msn=2
			> ACKNOWLEDGE psn=103 syn=ack msn=3`},
		{"a SEND among them that finds no receive is answered with RNR NAK, and what follows has to come again", nil, `
			< SEND_ONLY psn=101 len=4 ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			verdict accepted
			> ACKNOWLEDGE psn=101 syn=rnr12 msn=1
			recv id=1 len=4
			< RDMA_WRITE_ONLY psn=103 len=0 ack
			< SEND_ONLY psn=101 len=4 ack
			wc 1 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			< RDMA_WRITE_ONLY psn=103 len=0 ack
			> ACKNOWLEDGE psn=102 syn=seq msn=2
			counts sent_seq_err=2 send_rnr_err=1 out_of_seq_request=4 early_kept=3`},
		{"the missing packet itself may find no receive", nil, `
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< SEND_ONLY psn=100 len=4 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			recv id=1 len=4
			< SEND_ONLY psn=100 len=4 ack
			wc 1 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"one that is refused ends the connection as if it had arrived then", nil, `
			< RDMA_WRITE_ONLY psn=101 len=4 va=0x10000 dma=4 rkey=0x77 ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=1
			state ERR`},
		{"one that does not go with what came before is an invalid request", nil, `
			< RDMA_WRITE_LAST psn=101 len=4 ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=1
			state ERR`},
		{"as far ahead is kept as two windows reach, and no farther", nil, `
			< RDMA_WRITE_ONLY psn=132 len=0 ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=8388707 len=0 ack
			counts sent_seq_err=1 out_of_seq_request=2 early_dropped=2
			< RDMA_WRITE_ONLY psn=131 len=0 ack
			counts sent_seq_err=1 out_of_seq_request=3 early_kept=1 early_dropped=2`},
		{"a packet longer than the path MTU is not kept, and refused when its turn has come", nil, `
			< RDMA_WRITE_ONLY psn=101 len=256 va=0x10000 dma=256 rkey=rw
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=102 len=257 va=0x10000 dma=257 rkey=rw
			counts sent_seq_err=1 out_of_seq_request=2 early_kept=1 early_dropped=1`},
		{"in SQD requests are kept and executed as ever", nil, `
			modify SQD
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=100 len=0
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
	})
}

// The number of FLUSHes with pending responses is limited, whether they were kept or not.
func TestKeptFlushWithoutRoomIsAskedForAgain(t *testing.T) {
	var flushes, answers strings.Builder
	for i := range flushSlots {
		fmt.Fprintf(&flushes, "<+ FLUSH psn=%d va=0x300000 dma=8 rkey=bindable type=1 ack\n", 101+i)
		fmt.Fprintf(&answers, "> RDMA_READ_RESPONSE_ONLY psn=%d len=0 syn=ack msn=%d\n", 101+i, 2+i)
	}
	s := newScript(t, func(a *qp.Attr, c *Config) { a.Access |= mr.FlushGlobal; c.Window = 64 })
	s.run(flushes.String() + `
			<+ RDMA_WRITE_ONLY psn=118 len=0
			< FLUSH psn=117 va=0x300000 dma=8 rkey=bindable type=1 ack
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=100 len=0
			` + answers.String() + `
			> ACKNOWLEDGE psn=117 syn=seq msn=17
			< FLUSH psn=117 va=0x300000 dma=8 rkey=bindable type=1 ack
			> RDMA_READ_RESPONSE_ONLY psn=117 len=0 syn=ack msn=18
			> ACKNOWLEDGE psn=118 syn=ack msn=19
			counts sent_seq_err=2 out_of_seq_request=19 early_kept=18`)
}

// forgets delivers a packet that is kept, calls end, and expects the memory to be back in the
// pool.
func forgets(t *testing.T, pool *EarlyPool, end func(s *script)) {
	t.Helper()
	s := newScript(t, nil)
	s.rc.(*RC).ShareEarly(pool)
	s.run(`
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0`)
	if pool.lent != 2 {
		t.Errorf("%d packets are lent, want 2", pool.lent)
	}
	end(s)
	if pool.lent != 0 {
		t.Errorf("%d packets are lent at the end, want 0", pool.lent)
	}
}

func TestKeptPacketsAreGivenBack(t *testing.T) {
	pool := new(EarlyPool)
	for name, end := range map[string]func(*script){
		"when they were executed": func(s *script) {
			s.run(`
			< RDMA_WRITE_ONLY psn=100 len=0
			> ACKNOWLEDGE psn=102 syn=seq msn=2
			< RDMA_WRITE_ONLY psn=102 len=0
			> ACKNOWLEDGE psn=103 syn=ack msn=4`)
		},
		"with ERR":            func(s *script) { s.run("modify ERR") },
		"with the queue pair": func(s *script) { s.rc.(*RC).Close() },
		"with RESET":          func(s *script) { s.run("modify RESET") },
		"with an error NAK": func(s *script) {
			s.run(`
			< RDMA_WRITE_LAST psn=100 len=4
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=100 syn=inv msn=0`)
		},
	} {
		t.Run(name, func(t *testing.T) { forgets(t, pool, end) })
	}
	if pool.spare != 2 {
		t.Errorf("%d packets are spare, want 2: the memory is used again", pool.spare)
	}
}

// An exhausted pool costs its users only retransmissions.
func TestEarlyPoolIsBounded(t *testing.T) {
	pool := new(EarlyPool)
	var lent []*earlyPacket
	for e := pool.take(); e != nil; e = pool.take() {
		lent = append(lent, e)
	}
	if len(lent) != earlyLimit {
		t.Fatalf("%d packets are lent, want %d", len(lent), earlyLimit)
	}
	s := newScript(t, nil)
	s.rc.(*RC).ShareEarly(pool)
	s.run(`
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			counts sent_seq_err=1 out_of_seq_request=1 early_dropped=1
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1`)
	for _, e := range lent {
		pool.give(e)
	}
	if pool.lent != 0 || pool.spare != earlySpare {
		t.Errorf("%d are lent and %d spare, want 0 and %d", pool.lent, pool.spare, earlySpare)
	}
	for n := 0; n < earlySpare; n++ {
		pool.take()
	}
	if pool.spare != 0 || pool.free != nil {
		t.Errorf("%d are spare, want 0", pool.spare)
	}
}

// The pool retains some unused rings for the next gaps, but not all.
func TestEarlyPoolHoldsOnToAFewRings(t *testing.T) {
	pool := new(EarlyPool)
	for n := range earlyRings + 2 {
		if want := min(n, earlyRings); len(pool.rings) != want {
			t.Errorf("of %d rings that were given back %d are held on to, want %d", n, len(pool.rings), want)
		}
		pool.giveRing(make([]*earlyPacket, 64), make([]uint64, 1))
	}
}

// Once half of a pool is lent, a queue pair with its share gets no more.
func TestHalfOfAnEarlyPoolIsForThoseWithLessThanTheirShare(t *testing.T) {
	for _, c := range []struct {
		lent, kept int // packets lent to all, and kept by this queue pair
		keeps      bool
	}{
		{earlyLimit/2 - 1, earlyShare, true},
		{earlyLimit / 2, earlyShare, false},
		{earlyLimit / 2, earlyShare - 1, true},
		{earlyLimit - 1, earlyShare - 1, true},
		{earlyLimit, earlyShare - 1, false},
	} {
		e := early{pool: new(EarlyPool)}
		for psn := range bth.PSN(c.kept) {
			e.keep(&bth.Packet{PSN: psn}, earlySpan)
		}
		e.pool.lent = c.lent
		if got := e.keep(&bth.Packet{PSN: bth.PSN(c.kept)}, earlySpan); got != c.keeps {
			t.Errorf("with %d lent, %d of them to this queue pair, one more is kept: %v, want %v", c.lent, c.kept,
				got, c.keeps)
		}
	}
}

// The count of kept SENDs with invalidate avoids a search for them.
func TestSendsWithInvalidateAreCountedWhileTheyAreKept(t *testing.T) {
	e := early{pool: new(EarlyPool)}
	counts := func(want int) {
		t.Helper()
		if e.invalidating != want {
			t.Errorf("%d are counted, want %d", e.invalidating, want)
		}
	}
	for psn, op := range []bth.Opcode{bth.RCWriteOnly, bth.RCSendOnlyInv, bth.RCSendLastInv, bth.RCSendOnlyInv} {
		e.keep(&bth.Packet{Opcode: op, PSN: bth.PSN(psn)}, 64)
	}
	counts(3)
	e.remove(e.next(0))
	counts(3)
	e.remove(e.next(1))
	counts(2)
	e.clear()
	counts(0)
}

// Packets are kept by PSN in whatever order they arrive, also across the wrap to 0.
func TestKeptPacketsAreInOrderOfTheirPSNs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var e early
		const n = 6
		first := bth.PSN(0xfffffd)
		for i, at := range rng.Perm(n) {
			p := &bth.Packet{PSN: first.Add(uint32(at)), Payload: []byte{byte(at)}}
			if !e.keep(p, 64) || e.keep(p, 64) {
				t.Fatalf("packet %d was not kept once", i)
			}
		}
		for at := range n {
			k := e.next(first)
			if k == nil || k.packet.PSN != first.Add(uint32(at)) || !bytes.Equal(k.packet.Payload, []byte{byte(at)}) {
				t.Fatalf("at place %d stands %+v", at, k)
			}
			e.remove(k)
		}
		if e.next(first) != nil || e.ring != nil || e.pool.lent != 0 {
			t.Fatalf("at the end %+v is left", e)
		}
	}
}

// Kept packets that the responder has passed are replaced by new ones.
func TestKeptPacketsThatAreBehindGiveWay(t *testing.T) {
	const span = 64
	e := early{pool: new(EarlyPool)}
	at := func(psn uint32) *bth.Packet { return &bth.Packet{PSN: bth.PSN(psn)} }
	for _, psn := range []uint32{10, 11, 40} {
		e.keep(at(psn), span)
	}
	// A READ at 5 used the PSNs up to 38.
	if k := e.next(39); k.packet.PSN != 40 {
		t.Fatalf("behind 39 comes %d, want 40", k.packet.PSN)
	}
	if !e.keep(at(10+span), span) || e.kept != 3 {
		t.Fatalf("%d packets are kept, want 3: one in the place of another that is behind", e.kept)
	}
	var order []uint32
	for k := e.next(39); k != nil; k = e.next(39) {
		order = append(order, uint32(k.packet.PSN))
		e.remove(k)
		e.remove(k) // a second call changes nothing
	}
	if want := []uint32{40, 10 + span, 11}; !slices.Equal(order, want) {
		t.Errorf("the order is %d, want %d", order, want)
	}
	if e.pool.lent != 0 || e.ring != nil {
		t.Errorf("%d packets are lent at the end", e.pool.lent)
	}
}

// The cost of an early packet does not depend on its position among the kept ones.
func BenchmarkEarlyKeep(b *testing.B) {
	const span = 2048
	for name, psn := range map[string]bth.PSN{"first": 1, "last but one": span - 2} {
		b.Run(name, func(b *testing.B) {
			e := early{pool: new(EarlyPool)}
			for i := range uint32(span - 1) {
				e.keep(&bth.Packet{PSN: bth.PSN(i + 1)}, span)
			}
			p := &bth.Packet{PSN: psn}
			for b.Loop() {
				e.keep(p, span)
			}
		})
	}
}

// A connection without a gap holds no memory of the pool.
func TestNothingIsLentWithoutAGap(t *testing.T) {
	s := newScript(t, nil)
	s.run(`
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1`)
	if p := s.rc.(*RC).rsp.early.pool; p != nil {
		t.Errorf("a pool was made: %+v", p)
	}
}
