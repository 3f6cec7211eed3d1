package rings_test

import (
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

func TestRingsAllocateNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	sends, sp := newSendRing(t, 15, rings.SendConfig{MaxSGE: 2, MaxInline: 32, Datagram: true,
		AH: func(uint32) (qp.AH, bool) { return nil, true }})
	recvs, rp := newRecvRing(t, 15, rings.RecvConfig{MaxSGE: 2, Shared: true})
	completions, cp := newCompletionRing(t, 15, nil)
	fills := []func([]byte){
		send(1, qp.SGE{Length: 1}, qp.SGE{Length: 2}),
		func(e []byte) { sendHead(e, 2, 2, 8); host.PutUint32(e[184:], 32) },
		func(e []byte) { sendHead(e, 3, 8, 0) },
		func(e []byte) { sendHead(e, 4, 15, 0) },
		func(e []byte) { sendHead(e, 5, 99, 0) },
	}
	receive := recv(9, qp.SGE{Length: 3}, qp.SGE{Length: 4})
	var wr qp.SendWR
	var w qp.RecvWQE
	wc := qp.WC{WRID: 1}
	round := func() {
		for _, fill := range fills {
			sp.post(fill)
		}
		for sends.Fetch(&wr) != qp.FetchNone {
			sends.Retire(1)
		}
		rp.post(receive)
		if !recvs.Take(&w) || sends.Len()+recvs.Len() != 0 {
			t.Fatal("nothing is taken, or something is left")
		}
		completions.Arm(true)
		completions.Push(&wc)
		cp.index(256).Store(cp.producer())
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
}

func BenchmarkFetch(b *testing.B) {
	r, p := newSendRing(b, 15, rings.SendConfig{MaxSGE: 1})
	fill := send(1, qp.SGE{Length: 1})
	var wr qp.SendWR
	b.ReportAllocs()
	for b.Loop() {
		p.post(fill)
		r.Fetch(&wr)
		r.Retire(1)
	}
}

func BenchmarkTake(b *testing.B) {
	r, p := newRecvRing(b, 15, rings.RecvConfig{MaxSGE: 1})
	fill := recv(1, qp.SGE{Length: 1})
	var w qp.RecvWQE
	b.ReportAllocs()
	for b.Loop() {
		p.post(fill)
		r.Take(&w)
	}
}

func BenchmarkPush(b *testing.B) {
	r, p := newCompletionRing(b, 15, nil)
	wc := qp.WC{WRID: 1}
	b.ReportAllocs()
	for b.Loop() {
		r.Push(&wc)
		p.index(256).Store(p.producer())
	}
}
