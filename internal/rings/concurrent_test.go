package rings_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

// A concurrent program sees each element after it was stored, and each slot free after it was
// read: the race detector checks the elements, which are not atomic.
func TestProgramAndRingsRunAtTheSameTime(t *testing.T) {
	const n = 5000
	var wg sync.WaitGroup
	defer wg.Wait()
	sends, sp := newSendRing(t, 5, rings.SendConfig{MaxSGE: 1})
	recvs, rp := newRecvRing(t, 5, rings.RecvConfig{MaxSGE: 1})
	completions, cp := newCompletionRing(t, 7, nil)
	wg.Go(func() {
		for id := uint64(0); id < n; {
			if sp.post(send(id, qp.SGE{Addr: id})) {
				id++
			}
			runtime.Gosched()
		}
	})
	wg.Go(func() {
		for id := uint64(0); id < n; {
			if rp.post(recv(id, qp.SGE{Addr: id})) {
				id++
			}
			runtime.Gosched()
		}
	})
	wg.Go(func() {
		for id := uint64(0); id < n; runtime.Gosched() {
			wc, ok := cp.poll()
			if ok && host.Uint64(wc) != id {
				t.Errorf("polled %d, want %d", host.Uint64(wc), id)
				return
			}
			if ok {
				id++
			}
			completions.Arm(true)
		}
	})
	var wr qp.SendWR
	var w qp.RecvWQE
	for sent, received, pushed := uint64(0), uint64(0),
		uint64(0); sent < n || received < n || pushed < n; runtime.Gosched() {
		if sends.Fetch(&wr) == qp.FetchGot {
			if wr.ID != sent || wr.SGList[0].Addr != sent {
				t.Errorf("fetched %+v, want %d", wr, sent)
			}
			sent++
			sends.Retire(1)
		}
		if recvs.Take(&w) {
			if w.ID != received || w.SG[0].Addr != received {
				t.Errorf("taken %+v, want %d", w, received)
			}
			received++
		}
		if pushed < n && completions.Len() < completions.Depth() {
			completions.Push(&qp.WC{WRID: pushed})
			pushed++
		}
	}
}

// A program that arms and then polls misses no completion: it gets the notification, or the
// poll finds the completion.
func TestArmAndPushDoNotMissEachOther(t *testing.T) {
	const n = 3000
	completions, p := newCompletionRing(t, 1, nil)
	bell, polled := make(chan struct{}, n), make(chan struct{})
	go func() {
		defer close(polled)
		for got := 0; got < n; {
			completions.Arm(false)
			if _, ok := p.poll(); ok {
				got++
				continue
			}
			<-bell
		}
	}()
	for pushed := 0; pushed < n; runtime.Gosched() {
		if completions.Len() == 0 {
			pushed++
			if completions.Push(&qp.WC{}) {
				bell <- struct{}{}
			}
		}
	}
	close(bell)
	<-polled
}
