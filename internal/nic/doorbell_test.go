package nic

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// sharedRing is a source of sends or receives: a ring of fixed length shared by a program and the
// device.
type sharedRing[WR any] struct {
	mu                          sync.Mutex
	places                      []WR
	producer, fetched, consumer int
}

// put is the program's side. It returns false if there is no free place.
func (r *sharedRing[WR]) put(wr WR) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.producer-r.consumer == len(r.places) {
		return false
	}
	r.places[r.producer%len(r.places)] = wr
	r.producer++
	return true
}

func (r *sharedRing[WR]) freed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.consumer
}

func (r *sharedRing[WR]) next() (wr WR, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetched == r.producer {
		return wr, false
	}
	r.fetched++
	return r.places[(r.fetched-1)%len(r.places)], true
}

func (r *sharedRing[WR]) free(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consumer += n
}

type sendRing struct{ sharedRing[qp.SendWR] }

func newSendRing(places int) *sendRing {
	return &sendRing{sharedRing[qp.SendWR]{places: make([]qp.SendWR, places)}}
}

func (r *sendRing) Fetch(wr *qp.SendWR) qp.FetchStatus {
	next, ok := r.next()
	if !ok {
		return qp.FetchNone
	}
	*wr = next
	return qp.FetchGot
}

func (r *sendRing) Retire(n int) { r.free(n) }

func (r *sendRing) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetched, r.consumer = r.producer, r.producer
}

type recvRing struct {
	sharedRing[qp.RecvWR]
	pd *mr.PD
}

func (r *recvRing) Take(dst *qp.RecvWQE) bool {
	wr, ok := r.next()
	if !ok {
		return false
	}
	r.free(1)
	dst.ID, dst.SG, dst.Length = wr.ID, dst.SG[:0], 0
	for _, s := range wr.SGList {
		dst.SG = append(dst.SG, qp.Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey})
		dst.Length += uint64(s.Length)
	}
	return true
}

func (r *recvRing) PD() *mr.PD   { return r.pd }
func (r *recvRing) Shared() bool { return false }
func (r *recvRing) Len() int     { return r.producer - r.fetched }
func (r *recvRing) Depth() int   { return len(r.places) }
func (r *recvRing) Reset()       { r.fetched, r.consumer = r.producer, r.producer }

// newSourcedPair returns two connected queue pairs. That of a takes its sends and that of b its
// receives from a ring with the given number of places; depth is the size of the send queue.
func newSourcedPair(t *testing.T, places, depth int) (a, b *end, sends *sendRing, receives *recvRing) {
	t.Helper()
	a, b = newPair(t, 1<<16, usualRetry, nil)
	sends, receives = newSendRing(places), &recvRing{sharedRing[qp.RecvWR]{places: make([]qp.RecvWR, places)}, b.pd}
	size := qp.Cap{MaxSendWR: depth, MaxRecvWR: depth, MaxSendSGE: 4, MaxRecvSGE: 4}
	for e, init := range map[*end]QPInit{a: {Sends: sends}, b: {Receives: receives}} {
		init.Type, init.PD, init.SendCQ, init.RecvCQ, init.Cap = qp.RC, e.pd, e.cq, e.cq, size
		var err error
		if e.qp, err = e.dev.CreateQP(init); err != nil {
			t.Fatal(err)
		}
	}
	a.connect(a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
	b.connect(b.qp, addrA, a.qp.Num(), a.psn, usualRetry)
	return a, b, sends, receives
}

func TestWorkRequestsComeFromSources(t *testing.T) {
	for name, c := range map[string]struct{ places, depth int }{
		"as many as the send queue holds": {16, 16},
		"more than the send queue holds":  {64, 4},
		"fewer":                           {2, 16},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, sends, receives := newSourcedPair(t, c.places, c.depth)
				defer closeAll(t, a, b)
				const messages = 300
				sent, done, received := 0, 0, 0
				fill := func() {
					for receives.put(qp.RecvWR{ID: uint64(received), SGList: b.sge(0, 4096)}) {
					}
					rung := false
					for ; sent < messages; sent++ {
						wr := *a.write(b, uint64(sent), 0, 2000)
						if wr.Opcode = qp.WRSend; !sends.put(wr) {
							break
						}
						rung = true
					}
					if rung {
						if err := errors.Join(b.qp.Doorbell(), a.qp.Doorbell()); err != nil {
							t.Fatal(err)
						}
					}
				}
				copy(a.buf, bytes.Repeat([]byte{7}, 2000))
				for fill(); done < messages; fill() {
					wc := a.wait(1)[0]
					if wc.Status != qp.WCSuccess || wc.WRID != uint64(done) {
						t.Fatalf("completion %d is of request %d: %v", done, wc.WRID, wc.Status)
					}
					if done++; sends.freed() < done {
						t.Fatalf("request %d is complete, and its place is not free", wc.WRID)
					}
					for _, wc := range b.completions() {
						if wc.Status != qp.WCSuccess || wc.ByteLen != 2000 {
							t.Fatalf("a receive of %d bytes: %v", wc.ByteLen, wc.Status)
						}
						received++
					}
				}
				if !bytes.Equal(b.buf[:2000], a.buf[:2000]) {
					t.Error("the message is another one")
				}
			})
		})
	}
}

// completions returns the completions that are in the CQ.
func (e *end) completions() []qp.WC {
	var wcs [64]qp.WC
	return append([]qp.WC(nil), wcs[:e.cq.Poll(wcs[:])]...)
}

func TestWhatIsInASourceIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, sends, receives := newSourcedPair(t, 64, 4)
		defer closeAll(t, a, b)
		for i := range 10 {
			sends.put(*a.write(b, uint64(i), 0, 8))
			receives.put(qp.RecvWR{ID: uint64(i)})
		}
		for _, e := range []*end{a, b} {
			if err := e.qp.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
				t.Fatal(err)
			}
			for i, wc := range e.wait(10) {
				if wc.Status != qp.WCWRFlushErr || wc.WRID != uint64(i) {
					t.Errorf("completion %d is of request %d: %v", i, wc.WRID, wc.Status)
				}
			}
		}
		sends.put(*a.write(b, 77, 0, 8))
		receives.put(qp.RecvWR{ID: 78})
		if err := errors.Join(a.qp.Doorbell(), b.qp.Doorbell()); err != nil {
			t.Fatal(err)
		}
		if s, r := a.wait(1)[0], b.wait(1)[0]; s.Status != qp.WCWRFlushErr || s.WRID != 77 ||
			r.Status != qp.WCWRFlushErr || r.WRID != 78 {
			t.Errorf("what comes in ERR completes as %+v and %+v", s, r)
		}
	})
}

func TestDatagramsComeFromASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
		defer closeAll(t, a, b)
		sends := newSendRing(64)
		q, err := a.dev.CreateQP(QPInit{
			Type: qp.UD, PD: a.pd, SendCQ: a.cq, RecvCQ: a.cq, Sends: sends, Cap: qp.Cap{MaxSendWR: 2, MaxSendSGE: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		a.startDatagrams(q, testQKey)
		ah := a.ah(0, addrB)
		for i := range 10 {
			sends.put(qp.SendWR{
				ID: uint64(i), Opcode: qp.WRSend, Flags: qp.Signaled, SGList: a.sge(0, 8),
				AH: ah, RemoteQPN: b.qp.Num(), RemoteQKey: testQKey,
			})
		}
		if err := q.Doorbell(); err != nil {
			t.Fatal(err)
		}
		for i, wc := range a.wait(10) {
			if wc.Status != qp.WCSuccess || wc.WRID != uint64(i) {
				t.Errorf("completion %d is of request %d: %v", i, wc.WRID, wc.Status)
			}
		}
	})
}

func TestAQueuePairWithSourcesTakesNoPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _, _ := newSourcedPair(t, 4, 4)
		defer closeAll(t, a, b)
		if n, err := a.qp.PostSend([]*qp.SendWR{a.write(b, 1, 0, 8)}); n != 0 || err == nil {
			t.Errorf("PostSend = %d, %v", n, err)
		}
		if n, err := b.qp.PostRecv([]*qp.RecvWR{{ID: 1}}); n != 0 || err == nil {
			t.Errorf("PostRecv = %d, %v", n, err)
		}
	})
}
