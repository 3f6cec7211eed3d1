package nic

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

func TestPortEventsTellOfChangesOnly(t *testing.T) {
	e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 64)
	defer closeAll(t, e)
	d := e.dev
	if !d.PortActive() {
		t.Error("the port of an open device is not active")
	}
	d.PortChanged(true)
	noEvent(t, d)
	for range 2 {
		d.PortChanged(false)
	}
	if d.PortActive() {
		t.Error("the port is active")
	}
	mustEvent(t, d, AsyncEvent{Type: qp.EventPortErr, Port: 1})
	noEvent(t, d)
	d.PortChanged(true)
	mustEvent(t, d, AsyncEvent{Type: qp.EventPortActive, Port: 1})
}

func TestLinkClosedByAnotherIsFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLink(t, pipe.NewNet(), addrA)
		e := newEnd(t, 1, l, 64)
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if ev, err := e.dev.Event(t.Context()); err != nil || ev != (AsyncEvent{Type: qp.EventDeviceFatal}) {
			t.Errorf("Event = %+v, %v", ev, err)
		}
		closeAll(t, e)
	})
}

func TestClosingTheDeviceIsNotFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 64)
		synctest.Wait()
		closeAll(t, e)
		if ev, err := e.dev.Event(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Event = %+v, %v, want ErrClosed", ev, err)
		}
	})
}

// deafLink fails to receive the given number of times, and then works.
type deafLink struct {
	packet.Link
	failures int
}

func (l *deafLink) Recv(rb *packet.RecvBatch) error {
	if l.failures > 0 {
		l.failures--
		return errors.New("deaf")
	}
	return l.Link.Recv(rb)
}

func TestReceivingThatFailsForGoodIsFatal(t *testing.T) {
	for _, c := range []struct {
		failures int
		fatal    bool
	}{{fatalFailures - 1, false}, {fatalFailures, true}, {2 * fatalFailures, true}} {
		synctest.Test(t, func(t *testing.T) {
			n := pipe.NewNet()
			a := newEnd(t, 1, &deafLink{Link: openLink(t, n, addrA), failures: c.failures}, 1<<12)
			b := newEnd(t, 2, openLink(t, n, addrB), 1<<12)
			defer closeAll(t, a, b)
			a.connect(a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
			b.connect(b.qp, addrA, a.qp.Num(), a.psn, usualRetry)
			time.Sleep(time.Minute)
			if c.fatal {
				mustEvent(t, a.dev, AsyncEvent{Type: qp.EventDeviceFatal})
			}
			noEvent(t, a.dev)
			// The receiver kept trying, and works again.
			a.post(a.write(b, 1, 0, 8))
			a.succeed(1)
		})
	}
}
