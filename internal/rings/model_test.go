package rings_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

// With a well-behaved program, each ring is a FIFO queue.

func TestSendRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 9).Draw(t, "depth")
		maxSGE := rapid.IntRange(0, 4).Draw(t, "SGEs")
		r, p := newSendRing(t, depth, rings.SendConfig{MaxSGE: maxSGE})
		type request struct {
			id     uint64
			pieces []qp.SGE
			bad    bool
		}
		var waiting, fetched []request
		next := uint64(0)
		var wr qp.SendWR
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				w := request{id: next, bad: rapid.IntRange(0, 9).Draw(t, "bad") == 0}
				for range rapid.IntRange(0, maxSGE).Draw(t, "pieces") {
					w.pieces = append(w.pieces, qp.SGE{Addr: rapid.Uint64().Draw(t, "addr"),
						Length: uint32(len(w.pieces)), LKey: rapid.Uint32().Draw(t, "key")})
				}
				ok := p.post(func(e []byte) {
					send(w.id, w.pieces...)(e)
					if w.bad {
						host.PutUint32(e[12:], 99)
					}
				})
				if ok != (len(waiting)+len(fetched) < r.Depth()) {
					t.Fatalf("post: %v with %d waiting and %d fetched of %d", ok, len(waiting), len(fetched), r.Depth())
				}
				if ok {
					waiting = append(waiting, w)
					next++
				}
			},
			"fetch": func(t *rapid.T) {
				status := r.Fetch(&wr)
				if len(waiting) == 0 {
					if status != qp.FetchNone {
						t.Fatalf("status %d of nothing", status)
					}
					return
				}
				want := waiting[0]
				waiting, fetched = waiting[1:], append(fetched, want)
				if wr.ID != want.id || (status == qp.FetchBad) != want.bad || status == qp.FetchNone {
					t.Fatalf("fetched %d with status %d, want %+v", wr.ID, status, want)
				}
				if want.bad {
					return
				}
				if len(wr.SGList) != len(want.pieces) {
					t.Fatalf("%d pieces, want %d", len(wr.SGList), len(want.pieces))
				}
				for i, s := range want.pieces {
					if wr.SGList[i] != s {
						t.Fatalf("piece %d is %+v, want %+v", i, wr.SGList[i], s)
					}
				}
			},
			"retire": func(t *rapid.T) {
				n := rapid.IntRange(0, len(fetched)).Draw(t, "n")
				r.Retire(n)
				fetched = fetched[n:]
			},
			"reset": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "now") == 0 {
					r.Reset()
					waiting, fetched = nil, nil
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != len(waiting) {
					t.Fatalf("%d wait, want %d", r.Len(), len(waiting))
				}
			},
		})
	})
}

func TestSRQRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p program
		var raised events
		r, p0 := newRecvRing(t, rapid.IntRange(1, 9).Draw(t, "depth"),
			rings.RecvConfig{MaxSGE: 1, Shared: true, NewBuffer: buffers(&p), Events: &raised})
		p = p0
		var queue []uint64
		next, limit, want := uint64(0), 0, events(0)
		var w qp.RecvWQE
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				if ok := p.post(recv(next, qp.SGE{Addr: next})); ok != (len(queue) < r.Depth()) {
					t.Fatalf("post: %v with %d of %d", ok, len(queue), r.Depth())
				} else if ok {
					queue = append(queue, next)
					next++
				}
			},
			"take": func(t *rapid.T) {
				if ok := r.Take(&w); ok != (len(queue) > 0) {
					t.Fatalf("taken %v of %d", ok, len(queue))
				} else if !ok {
					return
				}
				if w.ID != queue[0] || w.SG[0].Addr != queue[0] {
					t.Fatalf("taken %+v, want %d", w, queue[0])
				}
				if queue = queue[1:]; len(queue) < limit {
					limit, want = 0, want+1
				}
			},
			"arm": func(t *rapid.T) {
				limit = rapid.IntRange(0, r.Depth()).Draw(t, "limit")
				if err := r.Modify(qp.SRQAttr{Limit: limit}, qp.SRQLimit); err != nil {
					t.Fatal(err)
				}
			},
			"resize": func(t *rapid.T) {
				least := max(len(queue), limit, 1)
				n := rapid.IntRange(least, max(least, 20)).Draw(t, "MaxWR")
				if err := r.Modify(qp.SRQAttr{MaxWR: n}, qp.SRQMaxWR); err != nil || r.Depth() < n {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != len(queue) || raised != want {
					t.Fatalf("%d receives, want %d; %d events, want %d", r.Len(), len(queue), raised, want)
				}
			},
		})
	})
}

func TestCompletionRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p program
		depth := rapid.IntRange(1, 9).Draw(t, "depth")
		r, p0 := newCompletionRing(t, depth, buffers(&p))
		p = p0
		model := qp.NewCQ(r.Depth())
		id := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				wc := qp.WC{WRID: id, Solicited: rapid.Bool().Draw(t, "solicited"),
					Status: qp.WCStatus(rapid.IntRange(0, 1).Draw(t, "status"))}
				id++
				if got, want := r.Push(&wc), model.Push(&wc); got != want {
					t.Fatalf("notify %v, want %v", got, want)
				}
			},
			"poll": func(t *rapid.T) {
				var want [1]qp.WC
				n := model.Poll(want[:])
				if wc, ok := p.poll(); ok != (n == 1) || ok && host.Uint64(wc) != want[0].WRID {
					t.Fatalf("polled % x, want %d of %+v", wc, n, want)
				}
			},
			"arm": func(t *rapid.T) {
				solicitedOnly := rapid.Bool().Draw(t, "solicited")
				r.Arm(solicitedOnly)
				model.Arm(solicitedOnly)
			},
			"resize": func(t *rapid.T) {
				least := max(1, model.Len())
				n := rapid.IntRange(least, max(least, 20)).Draw(t, "depth")
				if err := r.Resize(n); err != nil {
					t.Fatal(err)
				}
				if err := model.Resize(r.Depth()); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != model.Len() || r.Overflowed() != model.Overflowed() || r.Depth() != model.Depth() {
					t.Fatalf("%d of %d, overflowed %v", r.Len(), r.Depth(), r.Overflowed())
				}
			},
		})
	})
}
