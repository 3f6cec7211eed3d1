package nic

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// witness records the calls of an Observer.
type witness struct{ told []string }

func (w *witness) say(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

func (w *witness) Sending(_ bth.QPN, f *packet.Frame, wr *qp.SendWQE) {
	w.say("sends %v for %d", bth.Opcode(f.Header[0]), wr.ID)
}
func (w *witness) Receiving(_ bth.QPN, p *bth.Packet)   { w.say("takes %v", p.Opcode) }
func (w *witness) Received(bth.QPN)                     { w.say("took it") }
func (w *witness) Changed(_ bth.QPN, from, to qp.State) { w.say("%v to %v", from, to) }
func (w *witness) Completed(_ bth.QPN, wc *qp.WC, wr *qp.SendWQE) {
	w.say("%v %d is complete: %v, %v", wc.Opcode, wc.WRID, wc.Status, wr != nil)
}

// observedPair is a pair with an observer of the first end's queue pair.
func observedPair(t *testing.T, r retry) (a, b *end, w *witness) {
	n := pipe.NewNet()
	w = &witness{}
	a, b = newEnd(t, 1, openLink(t, n, addrA), 8192), newEnd(t, 2, openLink(t, n, addrB), 8192)
	a.dev.observer = w
	a.qp = a.newQP()
	a.connect(a.qp, addrB, b.qp.Num(), b.psn, r)
	b.connect(b.qp, addrA, a.qp.Num(), a.psn, r)
	return a, b, w
}

func TestAnObserverIsToldWhatComesOfWhat(t *testing.T) {
	a, b, w := observedPair(t, usualRetry)
	a.post(a.write(b, 5, 0, 2000))
	a.succeed(1)
	a.post(a.read(b, 6, 0, 10))
	a.succeed(1)
	a.postRecv(&qp.RecvWR{ID: 7, SGList: a.sge(0, 10)})
	b.post(&qp.SendWR{ID: 8, Opcode: qp.WRSend, Flags: qp.Signaled, SGList: b.sge(0, 4)})
	b.succeed(1)
	a.succeed(1)
	closeAll(t, a, b)
	want := []string{
		"RESET to INIT", "INIT to RTR", "RTR to RTS",
		"sends RC_RDMA_WRITE_FIRST for 5", "sends RC_RDMA_WRITE_LAST for 5",
		"takes RC_ACKNOWLEDGE", "RDMA_WRITE 5 is complete: success, true", "took it",
		"sends RC_RDMA_READ_REQUEST for 6",
		"takes RC_RDMA_READ_RESPONSE_ONLY", "RDMA_READ 6 is complete: success, true", "took it",
		"takes RC_SEND_ONLY", "RECV 7 is complete: success, false", "took it",
		"RTS to ERR",
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Error(diff)
	}
}

func TestAnObserverIsToldOfDatagrams(t *testing.T) {
	n := pipe.NewNet()
	w := &witness{}
	a, b := newEnd(t, 1, openLink(t, n, addrA), 8192), newEnd(t, 2, openLink(t, n, addrB), 8192)
	a.dev.observer = w
	a.qp, b.qp = a.newDatagramQP(testQKey), b.newDatagramQP(testQKey)
	a.post(a.datagram(5, a.ah(0, addrB), b.qp.Num(), 0, 10), a.datagram(6, a.ah(0, addrB), b.qp.Num(), 0, 10))
	a.succeed(2)
	a.postRecv(&qp.RecvWR{ID: 7, SGList: a.sge(0, 100)})
	b.post(b.datagram(8, b.ah(0, addrA), a.qp.Num(), 0, 10))
	b.succeed(1)
	a.succeed(1)
	closeAll(t, a, b)
	want := []string{
		"RESET to INIT", "INIT to RTR", "RTR to RTS",
		"sends UD_SEND_ONLY_WITH_IMMEDIATE for 5", "sends UD_SEND_ONLY_WITH_IMMEDIATE for 6",
		"SEND 5 is complete: success, true", "SEND 6 is complete: success, true",
		"takes UD_SEND_ONLY_WITH_IMMEDIATE", "RECV 7 is complete: success, false", "took it",
		"RTS to ERR",
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Error(diff)
	}
}

// What the machine does by itself is observed too.
func TestAnObserverIsToldOfTheEnd(t *testing.T) {
	a, b, w := observedPair(t, retry{timeout: 1, count: 0})
	if err := b.dev.Close(); err != nil {
		t.Fatal(err)
	}
	a.post(a.write(b, 5, 0, 10))
	if wc := a.wait(1); wc[0].Status != qp.WCRetryExcErr {
		t.Errorf("%+v", wc)
	}
	closeAll(t, a)
	want := []string{
		"RESET to INIT", "INIT to RTR", "RTR to RTS", "sends RC_RDMA_WRITE_ONLY for 5",
		"RDMA_WRITE 5 is complete: transport retry counter exceeded, true", "RTS to ERR",
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Error(diff)
	}
}

// A receive has no send work request, whether the send queue is empty or not.
func TestACompletionHasTheWorkRequestOfItsOwnQueue(t *testing.T) {
	a, b, w := observedPair(t, usualRetry)
	defer closeAll(t, a, b)
	w.told = nil
	complete := func(c qp.CompletionSink, op qp.WCOpcode) {
		a.qp.shard.mu.Lock()
		defer a.qp.shard.mu.Unlock()
		c.Complete(&qp.WC{WRID: 5, Opcode: op})
	}
	complete(a.qp.attr.SendCQ, qp.WCSend)
	a.qp.shard.mu.Lock()
	err := a.qp.attr.SQ.Push(a.write(b, 5, 0, 10))
	a.qp.shard.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	complete(a.qp.attr.RecvCQ, qp.WCRecv)
	complete(a.qp.attr.SendCQ, qp.WCSend)
	want := []string{"SEND 5 is complete: success, false", "RECV 5 is complete: success, false",
		"SEND 5 is complete: success, true"}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Error(diff)
	}
}
