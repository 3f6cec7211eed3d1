package nic

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/qp"
)

func testCQ(depth int) *CQ {
	c, err := testDevice().CreateCQ(depth)
	if err != nil {
		panic(err)
	}
	return c
}

// testDevice returns the parts of a device that CQs need.
func testDevice() *Device {
	return &Device{maxCQ: 1000, shards: []*shard{{}}, events: newEvents(), done: make(chan struct{})}
}

func TestWaitSleepsUntilACompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testCQ(8)
		start := time.Now()
		go func() {
			time.Sleep(time.Hour)
			c.Complete(&qp.WC{WRID: 7})
		}()
		var wc [4]qp.WC
		n, err := c.Wait(t.Context(), wc[:])
		if n != 1 || err != nil || wc[0].WRID != 7 {
			t.Fatalf("Wait = %d, %v, %+v", n, err, wc[0])
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("woken after %v, want 1h", d)
		}
	})
}

func TestWaitTakesWhatIsThereFirst(t *testing.T) {
	c := testCQ(8)
	c.Complete(&qp.WC{WRID: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wc [1]qp.WC
	if n, err := c.Wait(ctx, wc[:]); n != 1 || err != nil {
		t.Errorf("Wait = %d, %v: completions go before a context that is over", n, err)
	}
	if n, err := c.Wait(ctx, wc[:]); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %d, %v, want the context's error", n, err)
	}
	if n, err := c.Wait(t.Context(), nil); n != 0 || err == nil {
		t.Errorf("Wait without room = %d, %v, want an error", n, err)
	}
}

func TestWaitEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(c *CQ, cancel context.CancelCauseFunc)
		want error
	}{
		{"with the context's cause", func(_ *CQ, cancel context.CancelCauseFunc) { cancel(errors.ErrUnsupported) },
			errors.ErrUnsupported},
		{"with the queue", func(c *CQ, _ context.CancelCauseFunc) {
			if err := c.Close(); err != nil {
				panic(err)
			}
		}, ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := testCQ(8)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				got := make(chan error)
				go func() {
					var wc [1]qp.WC
					_, err := q.Wait(ctx, wc[:])
					got <- err
				}()
				synctest.Wait()
				c.end(q, cancel)
				if err := <-got; !errors.Is(err, c.want) {
					t.Errorf("Wait = %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestOverflowIsToldAfterTheRest(t *testing.T) {
	c := testCQ(2)
	for i := range 3 {
		c.Complete(&qp.WC{WRID: uint64(i)})
	}
	var wc [4]qp.WC
	if n, err := c.Wait(t.Context(), wc[:]); n != 2 || err != nil {
		t.Errorf("Wait = %d, %v, want the 2 that fitted", n, err)
	}
	if n, err := c.Wait(t.Context(), wc[:]); n != 0 || !errors.Is(err, ErrCQOverflow) {
		t.Errorf("Wait = %d, %v, want ErrCQOverflow", n, err)
	}
}

func TestEveryWaiterGetsItsCompletion(t *testing.T) {
	for _, c := range []struct {
		name     string
		complete func(*CQ)
	}{
		{"one at a time", func(c *CQ) {
			c.Complete(&qp.WC{})
			synctest.Wait()
			c.Complete(&qp.WC{})
		}},
		{"both before anybody wakes", func(c *CQ) {
			c.mu.Lock()
			c.queue.Complete(&qp.WC{})
			c.queue.Complete(&qp.WC{})
			c.mu.Unlock()
			c.token.Wake()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := testCQ(8)
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() {
						var wc [1]qp.WC
						if n, err := q.Wait(t.Context(), wc[:]); n != 1 || err != nil {
							t.Errorf("Wait = %d, %v", n, err)
						}
					})
				}
				synctest.Wait()
				c.complete(q)
				wg.Wait()
			})
		})
	}
}

// Many waiters take one completion at a time, and some give up: none sleeps while there is a
// completion. In the bubble a lost wake-up is a deadlock.
func TestNoWakeUpIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters, total = 8, 4000
		c := testCQ(total)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		taken := 0
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				var wc [1]qp.WC
				for {
					wait, stop := ctx, func() {}
					if i%2 == 0 {
						wait, stop = context.WithTimeout(ctx, time.Duration(i+1)*time.Microsecond)
					}
					n, err := c.Wait(wait, wc[:])
					stop()
					mu.Lock()
					taken += n
					over := taken == total
					mu.Unlock()
					if over {
						cancel()
					}
					if err != nil && ctx.Err() != nil {
						return
					}
				}
			})
		}
		wg.Go(func() {
			for i := range total {
				c.Complete(&qp.WC{WRID: uint64(i)})
				if i%16 == 0 {
					time.Sleep(time.Microsecond)
				}
			}
		})
		wg.Wait()
		if taken != total {
			t.Errorf("%d completions taken, want %d", taken, total)
		}
	})
}

func TestCQInUseStaysOpen(t *testing.T) {
	c := testCQ(1)
	if err := c.hold(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err == nil {
		t.Error("Close of a queue in use succeeded")
	}
	c.release()
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := c.hold(); !errors.Is(err, ErrClosed) {
		t.Errorf("use after Close = %v, want ErrClosed", err)
	}
}

func TestCompleteAndWaitAllocateNothing(t *testing.T) {
	c := testCQ(64)
	var wc [8]qp.WC
	one := qp.WC{WRID: 1}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		c.Complete(&one)
		if n, err := c.Wait(ctx, wc[:]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per completion, want 0", n)
	}
}

// hostileContext is a context whose methods panic or call the queue.
type hostileContext struct {
	context.Context
	err  func() error
	done func() <-chan struct{}
}

func (c hostileContext) Err() error            { return c.err() }
func (c hostileContext) Done() <-chan struct{} { return c.done() }

func TestWaitCallsItsContextWithoutTheLockAndCountsNoWaiterThatPanicked(t *testing.T) {
	for _, test := range []struct {
		name   string
		ctx    func(c *CQ) context.Context
		panics bool
	}{
		{"nil", func(*CQ) context.Context { return nil }, true},
		{"Err panics", func(*CQ) context.Context {
			return hostileContext{t.Context(), func() error { panic("Err") }, t.Context().Done}
		}, true},
		{"Done panics", func(*CQ) context.Context {
			return hostileContext{t.Context(), t.Context().Err, func() <-chan struct{} { panic("Done") }}
		}, true},
		{"Err uses the queue", func(c *CQ) context.Context {
			return hostileContext{t.Context(), func() error { c.Depth(); return context.Canceled }, t.Context().Done}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := testCQ(8)
			ended := make(chan bool)
			go func() {
				defer func() { ended <- recover() != nil }()
				_, _ = c.Wait(test.ctx(c), make([]qp.WC, 1))
			}()
			select {
			case panicked := <-ended:
				if panicked != test.panics {
					t.Errorf("panicked: %v", panicked)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Wait hangs")
			}
			if !c.mu.TryLock() {
				t.Fatal("Wait left the queue locked")
			}
			if c.waiting != 0 {
				t.Errorf("%d waiters are left", c.waiting)
			}
			c.mu.Unlock()
		})
	}
}
