package nic

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// newQPOf is newQP for a user, connected to a queue pair at addrB that does not answer.
func (e *end) newQPOf(user *User) *QP {
	e.t.Helper()
	q, err := e.dev.CreateQP(QPInit{
		Type: qp.RC, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq, User: user,
		Cap: qp.Cap{MaxSendWR: 64, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.connect(q, addrB, 77, 0, retry{timeout: 18, count: 0})
	return q
}

// flood posts WRITEs of 256 packets each on q.
func (e *end) flood(q *QP, n int) {
	e.t.Helper()
	for i := range n {
		wr := e.write(e, uint64(i), 0, 256<<10)
		if _, err := q.PostSend([]*qp.SendWR{wr}); err != nil {
			e.t.Fatal(err)
		}
	}
}

// The connections of a program towards one address share a limit, and those of other programs are
// not affected.
func TestConnectionsOfAUserTowardsOneAddressShare(t *testing.T) {
	oneShard(t)
	synctest.Test(t, func(t *testing.T) {
		e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 256<<10)
		defer closeAll(t, e)
		x, y := e.dev.NewUser(), e.dev.NewUser()
		var ofX []*QP
		for range 20 {
			q := e.newQPOf(x)
			e.flood(q, 1)
			ofX = append(ofX, q)
		}
		synctest.Wait()
		sent := func(qs ...*QP) (n int) {
			e.qp.shard.mu.Lock()
			defer e.qp.shard.mu.Unlock()
			for _, q := range qs {
				p := q.machine.Progress()
				n += int(p.SendPSN.Diff(p.AckPSN))
			}
			return n
		}
		if got := sent(ofX...); got != shareWindow {
			t.Errorf("%d PSNs of the first user are outstanding, want %d", got, shareWindow)
		}
		last := ofX[len(ofX)-1]
		if got := sent(last); got != 0 {
			t.Errorf("the last queue pair has sent %d packets, want none", got)
		}
		other := e.newQPOf(y)
		e.flood(other, 1)
		synctest.Wait()
		if got := sent(other); got != 128 {
			t.Errorf("the queue pair of the other user has sent %d packets, want a window of 128", got)
		}
		// A closed connection makes space for those that wait.
		ofX[0].Close()
		synctest.Wait()
		if got := sent(ofX[1:]...); got != shareWindow {
			t.Errorf("after one was closed %d PSNs are outstanding, want %d", got, shareWindow)
		}
		// The share of the others is released when their timers have expired, and until then a
		// packet is sent now and then.
		if before := sent(last); before == 0 {
			time.Sleep(300 * time.Millisecond)
			synctest.Wait()
			if got := sent(last); got != 1 {
				t.Errorf("a queue pair that waits has sent %d packets, want 1", got)
			}
		}
		for _, q := range append(ofX[1:], other) {
			q.Close()
		}
		if n := len(e.qp.shard.shares); n != 0 {
			t.Errorf("%d shares are left without a member", n)
		}
	})
}

// However many shards a device has, the part of each has room for several connections' turns:
// resume waits for a whole one.
func TestTheShareOfEachOfManyShardsHasRoomForTurns(t *testing.T) {
	for _, n := range []int{1, 2, 8, 16, 33, MaxShards} {
		d, err := Open(Config{
			Links: []packet.Link{openLink(t, pipe.NewNet(), addrA)}, Shards: n, MaxQP: 8, MaxMR: 8, MaxCQ: 8, MaxSRQ: 8,
		})
		if err != nil {
			t.Fatal(err)
		}
		e := newEndOn(t, d, 0, 64)
		e.connect(e.qp, addrB, 77, 0, usualRetry)
		if got, want := e.qp.share.Left(), max(shareWindow/n, 4*shareTurn); got != want {
			t.Errorf("%d shards: %d PSNs each, want %d", n, got, want)
		}
		closeAll(t, e)
	}
}

// blockable is a machine whose Blocked result the test sets.
type blockable struct{ blocked bool }

func (b *blockable) Join(*transport.Share) {}
func (b *blockable) Blocked() bool         { return b.blocked }

// Queue pairs that wait for space become ready in the order in which they started to wait, as
// many as there is space for.
func TestWaitersForAShareAreServedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := &outbox{}
		s := &shard{}
		w := &windowShare{Share: transport.NewShare(5*shareTurn, shareTurn)}
		var qs []*QP
		for range 6 {
			q := &QP{shard: s, out: out, shares: &blockable{}, share: w, slot: noSlot}
			q.attr.SQ = qp.NewSendQueue(1, 1, false)
			qs = append(qs, q)
		}
		var want []*QP // queue pairs that wait
		granted := map[*QP]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"sent": func(t *rapid.T) {
				q := rapid.SampledFrom(qs).Draw(t, "queue pair")
				blocked := rapid.Bool().Draw(t, "blocked")
				q.shares.(*blockable).blocked = blocked
				if q.list != nil {
					out.remove(q)
				}
				w.update(q)
				delete(granted, q)
				i := slices.Index(want, q)
				switch {
				case blocked && i < 0:
					want = append(want, q)
				case !blocked && i >= 0:
					want = slices.Delete(want, i, i+1)
				}
			},
			"resume": func(t *rapid.T) {
				w.resume()
				for len(want) > 0 && len(granted) < 5 {
					granted[want[0]] = true
					want = want[1:]
				}
			},
			"remove": func(t *rapid.T) {
				q := rapid.SampledFrom(qs).Draw(t, "queue pair")
				w.remove(q)
				if i := slices.Index(want, q); i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				var got []*QP
				var before *QP
				for q := w.first; q != nil; before, q = q, q.after {
					if q.before != before {
						t.Fatal("the list is not linked back")
					}
					got = append(got, q)
				}
				if w.last != before || !slices.Equal(got, want) {
					t.Fatalf("%d wait, want %d", len(got), len(want))
				}
				for _, q := range qs {
					if q.granted != granted[q] {
						t.Fatalf("granted: %v, want %v", q.granted, granted[q])
					}
				}
				if w.granted != shareTurn*len(granted) {
					t.Fatalf("%d PSNs are expected to be used, want %d", w.granted, shareTurn*len(granted))
				}
			},
		})
	})
}
