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

// eventDevice returns the parts of a device that events need.
func eventDevice() *Device { return &Device{events: newEvents()} }

func mustEvent(t *testing.T, d *Device, want AsyncEvent) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := d.Event(ctx); err != nil || got != want {
		t.Fatalf("Event = %+v, %v, want %+v", got, err, want)
	}
}

// mustEvents takes as many events as want has, in any order: each shard raises those of its own
// queue pairs.
func mustEvents(t *testing.T, d *Device, want ...AsyncEvent) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for left := want; len(left) > 0; {
		got, err := d.Event(ctx)
		i := slices.Index(left, got)
		if err != nil || i < 0 {
			t.Fatalf("Event = %+v, %v, want one of %+v", got, err, left)
		}
		left = slices.Delete(slices.Clone(left), i, i+1)
	}
}

func noEvent(t *testing.T, d *Device) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.ErrUnsupported)
	if got, err := d.Event(ctx); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("Event = %+v, %v, want none", got, err)
	}
}

func TestEventsComeInTheirOrder(t *testing.T) {
	d, q, s := eventDevice(), &QP{}, &SRQ{}
	all := []AsyncEvent{
		{Type: qp.EventCommEst, QP: q}, {Type: qp.EventSRQLimitReached, SRQ: s},
		{Type: qp.EventQPFatal, QP: q}, {Type: qp.EventDeviceFatal}, {Type: qp.EventPortErr, Port: 1},
	}
	for _, e := range all {
		d.events.raise(e)
	}
	for _, e := range all {
		mustEvent(t, d, e)
	}
	noEvent(t, d)
}

func TestUnreadEventStandsForAllOfItsKind(t *testing.T) {
	d, q, other := eventDevice(), &QP{}, &QP{}
	for range 1000 {
		d.events.raise(AsyncEvent{Type: qp.EventPortErr, Port: 1})
		d.events.raise(AsyncEvent{Type: qp.EventCommEst, QP: q})
		d.events.raise(AsyncEvent{Type: qp.EventCommEst, QP: other})
		d.events.raise(AsyncEvent{Type: qp.EventPortActive, Port: 1})
	}
	d.events.raise(AsyncEvent{Type: qp.EventPortErr, Port: 1})
	if n := d.events.queue.Len(); n != 4 {
		t.Errorf("%d events wait, want 4", n)
	}
	mustEvent(t, d, AsyncEvent{Type: qp.EventCommEst, QP: q})
	mustEvent(t, d, AsyncEvent{Type: qp.EventCommEst, QP: other})
	mustEvent(t, d, AsyncEvent{Type: qp.EventPortActive, Port: 1})
	mustEvent(t, d, AsyncEvent{Type: qp.EventPortErr, Port: 1}) // the last state of the port
	noEvent(t, d)
}

func TestEventsOfAClosedObjectAreDropped(t *testing.T) {
	d, q, s := eventDevice(), &QP{}, &SRQ{}
	d.events.raise(AsyncEvent{Type: qp.EventCommEst, QP: q})
	d.events.raise(AsyncEvent{Type: qp.EventSRQLimitReached, SRQ: s})
	d.events.raise(AsyncEvent{Type: qp.EventQPFatal, QP: q})
	d.events.forget(q)
	mustEvent(t, d, AsyncEvent{Type: qp.EventSRQLimitReached, SRQ: s})
	noEvent(t, d)
	if len(d.events.at) != 0 {
		t.Errorf("%d keys are left", len(d.events.at))
	}
}

func TestEventSleepsUntilOneComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := eventDevice()
		go func() {
			time.Sleep(time.Hour)
			d.events.raise(AsyncEvent{Type: qp.EventDeviceFatal})
		}()
		start := time.Now()
		if e, err := d.Event(t.Context()); err != nil || e.Type != qp.EventDeviceFatal {
			t.Fatalf("Event = %+v, %v", e, err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("woken after %v", took)
		}
	})
}

// Two events are added before a waiter wakes, and there is one token: the waiter that takes it
// passes it on.
func TestEveryReaderOfEventsWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := eventDevice()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := d.Event(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		d.events.mu.Lock()
		for _, e := range []AsyncEvent{{Type: qp.EventDeviceFatal}, {Type: qp.EventPortErr, Port: 1}} {
			d.events.at[e.key()] = d.events.queue.PushBack(e)
		}
		d.events.mu.Unlock()
		d.events.token.Wake()
		wg.Wait()
	})
}

func TestEventsEndWithTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := eventDevice()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := d.Event(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("Event = %v, want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		d.events.close()
		wg.Wait()
		d.events.raise(AsyncEvent{Type: qp.EventDeviceFatal})
		if _, err := d.Event(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("after that, Event = %v, want ErrClosed", err)
		}
	})
}

// Some readers give up, and many objects have events at once: no reader sleeps while there is an
// event. In the bubble a lost wake-up is a deadlock.
func TestNoEventIsSleptOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, total = 6, 2000
		d := eventDevice()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		seen := map[*QP]int{}
		var wg sync.WaitGroup
		for i := range readers {
			wg.Go(func() {
				for ctx.Err() == nil {
					wait, stop := ctx, func() {}
					if i%2 == 0 {
						wait, stop = context.WithTimeout(ctx, time.Duration(i+1)*time.Microsecond)
					}
					e, err := d.Event(wait)
					stop()
					if err != nil {
						continue
					}
					mu.Lock()
					if seen[e.QP]++; len(seen) == total {
						cancel()
					}
					mu.Unlock()
				}
			})
		}
		wg.Go(func() {
			for i := range total {
				d.events.raise(AsyncEvent{Type: qp.EventCommEst, QP: &QP{slot: int16(i)}})
				if i%8 == 0 {
					time.Sleep(time.Microsecond)
				}
			}
		})
		wg.Wait()
		for q, n := range seen {
			if n != 1 {
				t.Errorf("event %d was read %d times", q.slot, n)
			}
		}
	})
}

func TestAReaderGetsAllEventsFromItsBeginOn(t *testing.T) {
	d, q := eventDevice(), &QP{}
	d.events.raise(AsyncEvent{Type: qp.EventPortErr, Port: 1})
	one, two := d.NewEventReader(), d.NewEventReader()
	d.events.raise(AsyncEvent{Type: qp.EventCommEst, QP: q})
	d.events.raise(AsyncEvent{Type: qp.EventPortActive, Port: 1})
	d.events.forget(q)
	for i, r := range []*EventReader{one, two} {
		if e, err := r.Event(t.Context()); err != nil || e != (AsyncEvent{Type: qp.EventPortActive, Port: 1}) {
			t.Errorf("reader %d: Event = %+v, %v", i, e, err)
		}
	}
	mustEvent(t, d, AsyncEvent{Type: qp.EventPortErr, Port: 1})
	mustEvent(t, d, AsyncEvent{Type: qp.EventPortActive, Port: 1})
	noEvent(t, d)
}

func TestAReaderEndsByItselfAndWithTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := eventDevice()
		one, two := d.NewEventReader(), d.NewEventReader()
		var wg sync.WaitGroup
		for _, r := range []*EventReader{one, two} {
			wg.Go(func() {
				if e, err := r.Event(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("Event = %+v, %v, want ErrClosed", e, err)
				}
			})
		}
		synctest.Wait()
		one.Close()
		one.Close()
		if len(d.events.readers) != 1 {
			t.Errorf("the device has %d readers", len(d.events.readers))
		}
		d.events.close()
		wg.Wait()
		two.Close()
		if _, err := d.NewEventReader().Event(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("a reader of a closed device: %v, want ErrClosed", err)
		}
	})
}
