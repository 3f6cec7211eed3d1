package nic

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// A callsLink records the opcodes that each call of Send sends. Only pollers receive from it.
type callsLink struct {
	*unheardLink
	mu    sync.Mutex
	calls [][]string // guarded by mu
}

func (l *callsLink) Send(b *packet.Batch) error {
	var ops []string
	for i := b.Sent; i < b.Len(); i++ {
		ops = append(ops, bth.Opcode(b.At(i).Header[0]).String())
	}
	l.mu.Lock()
	l.calls = append(l.calls, ops)
	l.mu.Unlock()
	return l.unheardLink.Send(b)
}

// take returns the calls since the previous take.
func (l *callsLink) take() [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.calls
	l.calls = nil
	return out
}

// newHolders returns a connected pair of ends whose programs poll, with receives posted at b, and
// b's link.
func newHolders(t *testing.T) (a, b *end, link *callsLink) {
	a, b = newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link {
		link = &callsLink{unheardLink: unheard(l)}
		return link
	})
	for i := range 200 {
		b.postRecv(&qp.RecvWR{ID: uint64(1000 + i), SGList: b.sge(64, 64)})
		if i < 8 {
			a.postRecv(&qp.RecvWR{ID: uint64(1000 + i), SGList: a.sge(64, 64)})
		}
	}
	link.take()
	return a, b, link
}

const (
	sendOnly = "RC_SEND_ONLY"
	ackOnly  = "RC_ACKNOWLEDGE"
)

func wantCalls(t *testing.T, link *callsLink, when string, want ...[]string) {
	t.Helper()
	if got := link.take(); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%s: calls of Send %v, want %v", when, got, want)
	}
}

func TestTheAcknowledgementOfAMessageLeavesBehindItsAnswer(t *testing.T) {
	oneShard(t)
	synctest.Test(t, func(t *testing.T) {
		a, b, link := newHolders(t)
		defer closeAll(t, a, b)
		for range 3 {
			a.post(a.send(1, 8)...)
			if !b.polled(1) {
				t.Fatal("no message")
			}
			wantCalls(t, link, "a message came")
			b.post(b.send(1, 8)...)
			wantCalls(t, link, "it was answered", []string{sendOnly, ackOnly})
			for _, what := range []string{"the message is not complete", "it has no answer"} {
				if !a.polled(2) {
					t.Fatal(what)
				}
			}
			a.cq.Poll(make([]qp.WC, 1)) // receives an acknowledgement for b
			if !b.polled(1) {
				t.Fatal("the answer is not complete")
			}
		}
	})
}

func TestAHeldAcknowledgementLeaves(t *testing.T) {
	oneShard(t)
	alone := []string{ackOnly}
	for when, release := range map[string]func(b *end){
		"when the program polls an empty queue": func(b *end) { b.cq.Poll(make([]qp.WC, 1)) },
		"when the queue pair is closed":         func(b *end) { b.qp.Close() },
		"when the queue pair fails":             func(b *end) { b.qp.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState) },
		"when the device is closed":             func(b *end) { b.dev.sendHeldACKs() },
		"by a timer":                            func(b *end) { time.Sleep(2 * holdTimer); synctest.Wait() },
	} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, link := newHolders(t)
				defer closeAll(t, a, b)
				a.post(a.send(1, 8)...)
				b.polled(1)
				wantCalls(t, link, "a message came")
				held := b.dev.shard0().heldACKs
				if !held.waiting() {
					t.Error("no acknowledgement waits")
				}
				release(b)
				wantCalls(t, link, when, alone)
				if held.waiting() {
					t.Error("an acknowledgement waits after it was sent")
				}
				if !a.polled(1) {
					t.Error("the message is not complete")
				}
			})
		})
	}
}

func TestNoAcknowledgementIsHeld(t *testing.T) {
	oneShard(t)
	for of, c := range map[string]struct {
		timeout uint8
		posts   func(a, b *end)
		want    []string
	}{
		"long messages":            {14, func(a, b *end) { a.post(a.send(1, 1025)...) }, []string{ackOnly}},
		"short local ACK timeouts": {shortestHeld - 1, func(a, b *end) { a.post(a.send(1, 8)...) }, []string{ackOnly}},
		"messages in a row": {14, func(a, b *end) { a.post(slices.Concat(a.send(1, 8), a.send(2, 8))...) },
			[]string{ackOnly}},
		"WRITEs":         {14, func(a, b *end) { a.post(a.write(b, 1, 0, 8)) }, []string{ackOnly}},
		"other messages": {14, func(a, b *end) { a.post(a.send(1, 8)...) }, nil},
	} {
		t.Run(of, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var link *callsLink
				a, b := newPair(t, 4096, retry{c.timeout, 7}, func(l packet.Link) packet.Link {
					link = &callsLink{unheardLink: unheard(l)}
					return link
				})
				defer closeAll(t, a, b)
				for range 2 {
					b.postRecv(&qp.RecvWR{ID: 9, SGList: b.sge(0, 2048)})
				}
				c.posts(a, b)
				b.polled(1)
				var got []string
				for _, call := range link.take() {
					got = append(got, call...)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("sent: %v, want %v", got, c.want)
				}
			})
		})
	}
}

// A program that computes after each message, and meanwhile neither posts nor polls, delays one
// acknowledgement in holdPause.
func TestAProgramThatDoesNotAnswerDelaysFewAcknowledgements(t *testing.T) {
	oneShard(t)
	synctest.Test(t, func(t *testing.T) {
		a, b, link := newHolders(t)
		defer closeAll(t, a, b)
		late := 0
		for range 2*holdPause + 2 {
			a.post(a.send(1, 8)...)
			b.polled(1)
			if len(link.take()) == 0 {
				late++
				time.Sleep(2 * holdTimer)
				synctest.Wait()
				wantCalls(t, link, "after the timer", []string{ackOnly})
			}
			if !a.polled(1) {
				t.Fatal("a message is not complete")
			}
		}
		if late != 2 {
			t.Errorf("%d acknowledgements were late, want 2", late)
		}
	})
}

// A message received by CQ.Wait is acknowledged at once.
func TestAWaitingProgramThatDoesNotAnswerDelaysNoAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 4096, usualRetry, nil)
		defer closeAll(t, a, b)
		b.postRecv(&qp.RecvWR{ID: 1, SGList: b.sge(0, 64)})
		began := time.Now()
		a.post(a.send(1, 8)...)
		b.succeed(1)
		a.succeed(1)
		if d := time.Since(began); d != 0 {
			t.Errorf("the message was complete after %v", d)
		}
	})
}

func TestHoldingAcknowledgementsAllocatesNothing(t *testing.T) {
	a, b := newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link { return unheard(l) })
	defer closeAll(t, a, b)
	recvs, sends := []*qp.RecvWR{{ID: 1, SGList: b.sge(64, 64)}}, a.send(1, 8)
	if n := testing.AllocsPerRun(1000, func() {
		b.qp.PostRecv(recvs)
		a.qp.PostSend(sends)
		if !b.polled(1) {
			t.Fatal("no message")
		}
		b.polled(1)
		if !a.polled(1) {
			t.Fatal("the message is not complete")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
