package nic

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/qp"
)

// newQPOn creates a queue pair of e that completes into the given CQs and moves it to INIT.
func (e *end) newQPOn(send, recv *CQ) *QP {
	e.t.Helper()
	q, err := e.dev.CreateQP(QPInit{
		Type: qp.RC, PD: e.pd, SendCQ: send, RecvCQ: recv,
		Cap: qp.Cap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return q
}

func (e *end) newCQ(depth int) *CQ {
	e.t.Helper()
	c, err := e.dev.CreateCQ(depth)
	if err != nil {
		e.t.Fatal(err)
	}
	return c
}

func initQP(t *testing.T, q *QP) {
	t.Helper()
	if err := q.Modify(&qp.Attr{State: qp.INIT, Port: 1},
		qp.AttrState|qp.AttrPKeyIndex|qp.AttrPort|qp.AttrAccess); err != nil {
		t.Fatal(err)
	}
}

// A CQ that loses a completion makes all queue pairs that complete into it fail, and no others.
func TestOverflowFailsTheUsersOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<12, usualRetry, nil)
		defer closeAll(t, a, b)
		small := b.newCQ(1)
		receiver := b.newQPOn(b.cq, small)
		sender := a.newQP()
		a.connect(sender, addrB, receiver.Num(), b.psn, usualRetry)
		b.connect(receiver, addrA, sender.Num(), a.psn, usualRetry)
		bystander, idle, other := b.newQPOn(small, b.cq), b.newQPOn(small, small), b.newQPOn(b.cq, b.cq)
		initQP(t, bystander)
		initQP(t, other)

		for id := range uint64(2) {
			if _, err := receiver.PostRecv([]*qp.RecvWR{{ID: id}}); err != nil {
				t.Fatal(err)
			}
			if _, err := sender.PostSend(a.send(id, 0)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, c := range []struct {
			name string
			q    *QP
			want qp.State
		}{
			{"the receiver", receiver, qp.ERR}, {"one that only sends into it", bystander, qp.ERR},
			{"one in RESET", idle, qp.RESET}, {"one of another queue", other, qp.INIT}, {"the end's own", b.qp, qp.RTS},
		} {
			if got := c.q.State(); got != c.want {
				t.Errorf("%s is in %v, want %v", c.name, got, c.want)
			}
		}
		mustEvent(t, b.dev, AsyncEvent{Type: qp.EventCQErr, CQ: small})
		mustEvents(t, b.dev,
			AsyncEvent{Type: qp.EventQPFatal, QP: receiver}, AsyncEvent{Type: qp.EventQPFatal, QP: bystander})
		noEvent(t, b.dev)

		wc := make([]qp.WC, 4)
		if n, err := small.Wait(t.Context(), wc); n != 1 || err != nil || wc[0].WRID != 0 {
			t.Errorf("Wait = %d, %v, %+v: what it holds can be polled", n, err, wc[0])
		}
		if _, err := small.Wait(t.Context(), wc); !errors.Is(err, ErrCQOverflow) {
			t.Errorf("Wait = %v, want ErrCQOverflow", err)
		}
		if err := small.Resize(100); !errors.Is(err, ErrCQOverflow) {
			t.Errorf("Resize = %v, want ErrCQOverflow", err)
		}
		_, err := b.dev.CreateQP(QPInit{Type: qp.RC, PD: b.pd, SendCQ: b.cq, RecvCQ: small})
		if !errors.Is(err, ErrCQOverflow) {
			t.Errorf("a queue pair on it = %v, want ErrCQOverflow", err)
		}

		// Queue pairs that use the queue later fail too, without a second CQ_ERR.
		initQP(t, idle)
		if _, err := idle.PostRecv([]*qp.RecvWR{{}}); err != nil {
			t.Fatal(err)
		}
		if err := idle.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
			t.Fatal(err)
		}
		noEvent(t, b.dev)
	})
}

// The requester's side: a completion of the send queue is lost.
func TestOverflowOfTheSendQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<12, usualRetry, nil)
		defer closeAll(t, a, b)
		small := a.newCQ(2)
		q, p := a.newQPOn(small, a.cq), b.newQP()
		a.connect(q, addrB, p.Num(), b.psn, usualRetry)
		b.connect(p, addrA, q.Num(), a.psn, usualRetry)
		for id := range uint64(3) {
			if _, err := q.PostSend([]*qp.SendWR{a.write(b, id, 0, 8)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if q.State() != qp.ERR || a.qp.State() != qp.RTS {
			t.Errorf("the queue pair is in %v, another in %v", q.State(), a.qp.State())
		}
		mustEvent(t, a.dev, AsyncEvent{Type: qp.EventCQErr, CQ: small})
		mustEvent(t, a.dev, AsyncEvent{Type: qp.EventQPFatal, QP: q})
		noEvent(t, a.dev)
	})
}

func TestResizeUnderTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<12, usualRetry, nil)
		defer closeAll(t, a, b)
		for id := range uint64(8) {
			a.post(a.write(b, id, 0, 8))
		}
		synctest.Wait()
		if err := a.cq.Resize(7); err == nil {
			t.Error("resized to fewer than the completions in it")
		}
		if err := a.cq.Resize(8); err != nil || a.cq.Depth() != 8 {
			t.Errorf("Resize = %v, depth %d", err, a.cq.Depth())
		}
		for i, wc := range a.succeed(8) {
			if wc.WRID != uint64(i) {
				t.Errorf("completion %d is of request %d", i, wc.WRID)
			}
		}
		for id := range uint64(8) {
			a.post(a.write(b, id, 0, 8))
		}
		a.succeed(8)
		a.qp.Close()
		if err := a.cq.Close(); err != nil {
			t.Error(err)
		}
		if err := a.cq.Resize(9); !errors.Is(err, ErrClosed) {
			t.Errorf("Resize after Close = %v", err)
		}
	})
}
