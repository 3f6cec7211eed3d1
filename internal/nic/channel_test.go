package nic

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/qp"
)

func testChannel(t *testing.T, cqs int) (*CompChannel, []*CQ) {
	t.Helper()
	ch := testDevice().CreateCompChannel()
	var out []*CQ
	for range cqs {
		c, err := ch.CreateCQ(1 << 12)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return ch, out
}

func arm(t *testing.T, c *CQ, solicitedOnly bool) {
	t.Helper()
	if err := c.ReqNotify(solicitedOnly); err != nil {
		t.Fatal(err)
	}
}

// told takes all events that have occurred.
func told(t *testing.T, ch *CompChannel) (out []*CQ) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.ErrUnsupported)
	for {
		c, err := ch.Wait(ctx)
		if err != nil {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Fatal(err)
			}
			return out
		}
		out = append(out, c)
	}
}

// The rules of ibv_req_notify_cq: what is armed, what completes, how many events.
func TestRequestedNotificationIsOneEvent(t *testing.T) {
	const next, solicited, poll = "next", "solicited", "poll"
	var (
		plain  = qp.WC{Opcode: qp.WCRecv}
		se     = qp.WC{Opcode: qp.WCRecv, Solicited: true}
		failed = qp.WC{Status: qp.WCWRFlushErr}
	)
	for _, c := range []struct {
		rule  string
		steps []any // an arming, or a completion
		want  int
	}{
		{"nothing is told unasked", []any{plain, se, failed}, 0},
		{"the next completion, once", []any{next, plain, plain, se, failed}, 1},
		{"asked again, told again", []any{next, plain, next, plain}, 2},
		{"asking twice is asking once", []any{next, next, plain, plain}, 1},
		{"what is in the queue already does not count", []any{plain, se, next}, 0},
		{"solicited waits for a solicited receive", []any{solicited, plain, plain, se, se}, 1},
		{"a completion in error is always solicited", []any{solicited, plain, failed, failed}, 1},
		{"solicited only does not lessen a request for any", []any{next, solicited, plain}, 1},
		{"a request for any widens one for solicited", []any{solicited, next, plain}, 1},
		{"polling changes nothing", []any{next, poll, plain, poll, plain}, 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			ch, cqs := testChannel(t, 1)
			for _, s := range c.steps {
				switch s := s.(type) {
				case string:
					if s == poll {
						cqs[0].Poll(make([]qp.WC, 8))
					} else {
						arm(t, cqs[0], s == solicited)
					}
				case qp.WC:
					cqs[0].Complete(&s)
				}
			}
			if got := told(t, ch); len(got) != c.want {
				t.Errorf("%d events, want %d", len(got), c.want)
			}
		})
	}
}

func TestChannelNamesTheQueues(t *testing.T) {
	ch, cqs := testChannel(t, 3)
	for _, i := range []int{2, 0, 1, 2} {
		arm(t, cqs[i], false)
		cqs[i].Complete(&qp.WC{})
	}
	got := told(t, ch)
	want := []*CQ{cqs[2], cqs[0], cqs[1], cqs[2]}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d is of another queue", i)
		}
	}
}

func TestClosedQueueTakesItsEventsAlong(t *testing.T) {
	for gone := range 3 {
		ch, cqs := testChannel(t, 3)
		for _, c := range cqs {
			arm(t, c, false)
			c.Complete(&qp.WC{})
		}
		for range 2 {
			if err := cqs[gone].Close(); err != nil {
				t.Fatal(err)
			}
		}
		// The list is consistent: it accepts another event behind the remaining ones.
		c, err := ch.CreateCQ(1)
		if err != nil {
			t.Fatal(err)
		}
		arm(t, c, false)
		c.Complete(&qp.WC{})
		rest := told(t, ch)
		if len(rest) != 3 || slices.Contains(rest, cqs[gone]) || rest[2] != c {
			t.Errorf("without queue %d there are %d events, want 3", gone, len(rest))
		}
		if err := cqs[gone].ReqNotify(false); !errors.Is(err, ErrClosed) {
			t.Errorf("request on the closed queue: %v", err)
		}
	}
}

// Two events are added before a waiter wakes, and there is one token: the waiter that takes it
// passes it on.
func TestEveryReaderOfAChannelWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, cqs := testChannel(t, 2)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := ch.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ch.mu.Lock()
		for _, c := range cqs {
			c.events++
			ch.push(c)
		}
		ch.mu.Unlock()
		ch.token.Wake()
		wg.Wait()
	})
}

func TestChannelInUseStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, cqs := testChannel(t, 1)
		if err := ch.Close(); err == nil {
			t.Error("Close with a queue on it succeeded")
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := ch.Wait(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("Wait = %v, want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		for _, close := range []func() error{cqs[0].Close, ch.Close, ch.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		if _, err := ch.CreateCQ(1); !errors.Is(err, ErrClosed) {
			t.Errorf("queue on the closed channel: %v", err)
		}
	})
}

func TestQueueWithoutChannelSaysSo(t *testing.T) {
	if err := testCQ(1).ReqNotify(false); !errors.Is(err, errNoChannel) {
		t.Errorf("ReqNotify = %v", err)
	}
}

// The loop of every verbs program (wait, ask again, poll until empty) with several queues,
// readers and senders: in the bubble a lost wake-up is a deadlock.
func TestNoNotificationIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queues, readers, each = 5, 3, 1000
		ch, cqs := testChannel(t, queues)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i, c := range cqs {
			arm(t, c, i%2 == 0)
		}
		var mu sync.Mutex
		taken := 0
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				wc := make([]qp.WC, 7)
				for {
					c, err := ch.Wait(ctx)
					if err != nil {
						return
					}
					if err := c.ReqNotify(true); err != nil {
						t.Error(err)
					}
					for n := c.Poll(wc); n > 0; n = c.Poll(wc) {
						mu.Lock()
						if taken += n; taken == queues*each {
							cancel()
						}
						mu.Unlock()
					}
				}
			})
		}
		for _, c := range cqs {
			wg.Go(func() {
				for i := range each {
					c.Complete(&qp.WC{WRID: uint64(i), Solicited: true})
					if i%10 == 0 {
						time.Sleep(time.Microsecond)
					}
				}
			})
		}
		wg.Wait()
		if taken != queues*each {
			t.Errorf("%d completions taken, want %d", taken, queues*each)
		}
	})
}

func TestNotificationAllocatesNothing(t *testing.T) {
	ch, cqs := testChannel(t, 1)
	ctx, wc := t.Context(), make([]qp.WC, 1)
	one := qp.WC{}
	if n := testing.AllocsPerRun(1000, func() {
		arm(t, cqs[0], false)
		cqs[0].Complete(&one)
		if c, err := ch.Wait(ctx); err != nil || c.Poll(wc) != 1 {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
