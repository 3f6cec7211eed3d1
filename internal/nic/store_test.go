package nic

import (
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/qp"
)

// storeRing is a completion store independent of package qp: a fixed number of places, and a word
// by which the program requests an event. Its fields are read while the device is idle.
type storeRing struct {
	places []qp.WC
	n      int
	lost   bool
	asked  bool
	told   int
}

func (r *storeRing) Push(wc *qp.WC) bool {
	if r.n == len(r.places) {
		r.lost = true
		return false
	}
	r.places[r.n] = *wc
	r.n++
	asked := r.asked
	r.asked = false
	return asked
}

func (r *storeRing) Len() int         { return r.n }
func (r *storeRing) Depth() int       { return len(r.places) }
func (r *storeRing) Overflowed() bool { return r.lost }
func (r *storeRing) Resize(depth int) error {
	r.places = append(make([]qp.WC, 0, depth), r.places[:r.n]...)[:depth]
	return nil
}

// storedPair returns two connected queue pairs; that of a completes into a store with the given
// number of places.
func storedPair(t *testing.T, places int) (a, b *end, store *storeRing) {
	t.Helper()
	a, b = newPair(t, 4096, usualRetry, nil)
	store = &storeRing{places: make([]qp.WC, places)}
	cq, err := a.dev.CreateCQOver(store, func() { store.told++ })
	if err != nil {
		t.Fatal(err)
	}
	a.qp, err = a.dev.CreateQP(QPInit{
		Type: qp.RC, PD: a.pd, SendCQ: cq, RecvCQ: cq,
		Cap: qp.Cap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.qp = b.newQP()
	a.connect(a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
	b.connect(b.qp, addrA, a.qp.Num(), a.psn, usualRetry)
	return a, b, store
}

func TestCompletionsGoToAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, store := storedPair(t, 8)
		defer closeAll(t, a, b)
		for i := range 3 {
			store.asked = i == 1
			a.post(a.write(b, uint64(i), 0, 8))
			synctest.Wait()
		}
		if store.n != 3 || store.told != 1 || store.asked {
			t.Errorf("%d completions are in the store and its program was told %d times, want 3 and 1",
				store.n, store.told)
		}
		for i, wc := range store.places[:store.n] {
			if wc.Status != qp.WCSuccess || wc.WRID != uint64(i) {
				t.Errorf("completion %d is of request %d: %v", i, wc.WRID, wc.Status)
			}
		}
		var infos [4]CQInfo
		n := a.dev.ListCQs(0, infos[:])
		if last := infos[n-1]; last.Len != 3 || last.Depth != 8 || last.Overflowed {
			t.Errorf("a look shows %+v", last)
		}
	})
}

func TestAStoreWithoutRoomEndsItsQueuePairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, store := storedPair(t, 2)
		defer closeAll(t, a, b)
		for i := range 3 {
			a.post(a.write(b, uint64(i), 0, 8))
			synctest.Wait()
		}
		if state := a.qp.State(); !store.lost || state != qp.ERR {
			t.Errorf("after a completion was lost (%v) the queue pair is in %v", store.lost, state)
		}
	})
}

func TestThisProcessTakesNoCompletionsOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, store := storedPair(t, 8)
		defer closeAll(t, a, b)
		a.post(a.write(b, 1, 0, 8))
		synctest.Wait()
		var wcs [4]qp.WC
		if n := a.qp.sendCQ.Poll(wcs[:]); n != 0 || store.n != 1 {
			t.Errorf("Poll took %d", n)
		}
		if _, err := a.qp.sendCQ.Wait(t.Context(), wcs[:]); err == nil {
			t.Error("Wait waits for what it cannot take")
		}
		if a.qp.sendCQ.ReqNotify(false) == nil {
			t.Error("ReqNotify asks for what it cannot tell")
		}
	})
}
