package nic

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Many goroutines post to an SRQ, resize it, arm its limit and query it while messages of several
// queue pairs take receives: each message takes one, messages of a connection arrive in order,
// and each posted receive is used once.
func TestSRQServesManyGoroutinesDuringTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const qps, rounds, posters, arms, small, large = 4, 150, 3, 100, 16, 64
		const total = qps * rounds
		ends, senders, receivers, s := sharing(t, qps, qp.SRQAttr{MaxWR: small, MaxSGE: 1})
		a, b := ends[0], ends[1]
		defer closeAll(t, a, b)
		number := func(e *end, i uint64) []byte { return e.buf[8*i : 8*i+8] }
		of := map[bth.QPN]uint64{} // next expected message of each receiver

		var wg sync.WaitGroup
		for i, q := range senders {
			first := uint64(i * rounds)
			of[receivers[i].Num()] = first
			for m := first; m < first+rounds; m++ {
				binary.LittleEndian.PutUint64(number(a, m), m)
			}
			wg.Go(func() {
				for m := first; m < first+rounds; m++ {
					if _, err := q.PostSend([]*qp.SendWR{{ID: m, Opcode: qp.WRSend, Flags: qp.Signaled,
						SGList: a.sge(int(8*m), 8)}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for p := range posters {
			wg.Go(func() {
				for id := p; id < total; {
					n, err := s.PostRecv([]*qp.RecvWR{{ID: uint64(id), SGList: b.sge(8*id, 8)}})
					id += n * posters
					if errors.Is(err, qp.ErrQueueFull) {
						time.Sleep(time.Microsecond)
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Go(func() {
			for range arms {
				if err := s.Modify(qp.SRQAttr{MaxWR: large}, qp.SRQMaxWR); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Microsecond)
				// Rejected, and then without effect, while more receives are queued.
				_ = s.Modify(qp.SRQAttr{MaxWR: small}, qp.SRQMaxWR)
			}
		})
		wg.Go(func() {
			for range arms {
				if err := s.Modify(qp.SRQAttr{Limit: small}, qp.SRQLimit); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Microsecond)
			}
		})
		wg.Go(func() {
			for range arms {
				if at := s.Query(); at.MaxWR != small && at.MaxWR != large || at.Limit != small && at.Limit != 0 ||
					at.MaxSGE != 1 {
					t.Errorf("attributes %+v", at)
				}
				time.Sleep(time.Microsecond)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		reached := 0
		readers.Go(func() {
			for {
				e, err := b.dev.Event(ctx)
				if err != nil {
					return
				}
				if e != (AsyncEvent{Type: qp.EventSRQLimitReached, SRQ: s}) {
					t.Errorf("event %+v", e)
				}
				reached++
			}
		})

		used := map[uint64]bool{}
		for range total {
			wc := b.succeed(1)[0]
			if used[wc.WRID] {
				t.Errorf("receive %d completed twice", wc.WRID)
			}
			used[wc.WRID] = true
			if m := binary.LittleEndian.Uint64(number(b, wc.WRID)); m != of[wc.QPN] {
				t.Errorf("message %d came to %v, want %d", m, wc.QPN, of[wc.QPN])
			}
			of[wc.QPN]++
		}
		a.succeed(total)
		wg.Wait()
		cancel()
		readers.Wait()
		if reached < 1 || reached > arms {
			t.Errorf("the limit was reached %d times, and armed %d times", reached, arms)
		}
	})
}
