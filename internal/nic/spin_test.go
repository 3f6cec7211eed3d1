package nic

import (
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

func TestALookInVainIsFollowedByEverLongerPauses(t *testing.T) {
	s := spinner{maxSpin: time.Microsecond}
	// pauses counts the batches between looks that all are in vain.
	pauses := func(n int) (out []int) {
		for pause := 0; len(out) < n; pause++ {
			if s.due() {
				s.missed()
				out, pause = append(out, pause), -1
			}
		}
		return out
	}
	want := []int{0, 1, 2, 4, 8, 16, 32, 64, 64, 64}
	for _, after := range []string{"at first", "after success"} {
		got := pauses(len(want))
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: pauses of %v batches, want %v", after, got, want)
			}
		}
		for !s.due() {
		}
		s.found()
	}
	if off := (spinner{}); off.due() {
		t.Error("a look though there are to be none")
	}
}

// A lookLink reports each non-blocking receive. From the second on, blocking receives get
// nothing.
type lookLink struct {
	packet.Link
	packet.Shared
	look   func()
	lone   bool
	waits  int
	closed chan struct{}
}

func (l *lookLink) RecvLocked(rb *packet.RecvBatch, mu *sync.Mutex) error {
	if l.waits++; l.lone && l.waits > 1 {
		<-l.closed
		return net.ErrClosed
	}
	return l.Shared.RecvLocked(rb, mu)
}

func (l *lookLink) TryRecv(rb *packet.RecvBatch) error {
	l.look()
	return l.Shared.TryRecv(rb)
}

func (l *lookLink) Close() error {
	close(l.closed)
	return l.Link.Close()
}

// lookingPair is a pair whose second end busy-polls for most after a batch; look is called each
// time.
func lookingPair(t *testing.T, most time.Duration, lone bool, look func()) (a, b *end) {
	t.Helper()
	a, b = newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link {
		if l.Local() == addrA {
			return l
		}
		return &lookLink{Link: l, Shared: l.(packet.Shared), look: look, lone: lone, closed: make(chan struct{})}
	})
	in := b.dev.pollable.all()[0]
	in.mu.Lock()
	in.spinner.maxSpin = most
	in.mu.Unlock()
	return a, b
}

// writeOne writes and waits for the completion.
func (e *end) writeOne(peer *end) {
	e.t.Helper()
	if _, err := e.qp.PostSend([]*qp.SendWR{e.write(peer, 1, 0, 64)}); err != nil {
		e.t.Fatal(err)
	}
	e.awaitOne()
}

func (e *end) awaitOne() {
	e.t.Helper()
	var wc [1]qp.WC
	if _, err := e.cq.Wait(e.t.Context(), wc[:]); err != nil || wc[0].Status != qp.WCSuccess {
		e.t.Fatalf("Wait = %v, completion with %v", err, wc[0].Status)
	}
}

func TestWhatComesSoonIsReceivedWithoutSleeping(t *testing.T) {
	var a, b *end
	looks := 0
	a, b = lookingPair(t, time.Millisecond, true, func() {
		if looks++; looks == 3 {
			if _, err := a.qp.PostSend([]*qp.SendWR{a.write(b, 2, 0, 64)}); err != nil {
				t.Error(err)
			}
		}
	})
	defer closeAll(t, a, b)
	a.writeOne(b)
	a.awaitOne()
}

func TestLooksEndAndAreRareWhereTrafficIsSparse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 50 * time.Microsecond
		const each = int(most/leastTry) + 8
		looks := 0
		a, b := lookingPair(t, most, false, func() { looks++ })
		defer closeAll(t, a, b)
		a.writeOne(b)
		synctest.Wait() // the receiver sleeps; otherwise this does not return
		if least := int(most / leastTry); looks < least || looks > each {
			t.Errorf("%d looks after a batch, want %d to %d", looks, least, each)
		}
		looks = 0
		const batches = 1000
		for range batches {
			time.Sleep(time.Millisecond)
			a.writeOne(b)
		}
		synctest.Wait()
		if most := (8 + batches/maxPause) * each; looks > most {
			t.Errorf("%d looks for %d batches that are a millisecond apart, want %d at most", looks, batches, most)
		}
	})
}

// A garbageLink returns a packet that fails all checks from each non-blocking receive.
type garbageLink struct {
	packet.Link
	packet.Shared
	looks int
}

func (l *garbageLink) TryRecv(rb *packet.RecvBatch) error {
	if l.looks++; l.looks > 1<<16 {
		return l.Shared.TryRecv(rb)
	}
	rb.Frames = append(rb.Frames[:0], packet.Received{Src: addrA, Dst: addrB, Data: []byte("garbage")})
	return nil
}

func TestPacketsThatNobodyTakesDoNotKeepTheDeviceLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 50 * time.Microsecond
		var garbage *garbageLink
		a, b := newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link {
			if l.Local() == addrA {
				return l
			}
			garbage = &garbageLink{Link: l, Shared: l.(packet.Shared)}
			return garbage
		})
		defer closeAll(t, a, b)
		in := b.dev.pollable.all()[0]
		in.mu.Lock()
		in.spinner.maxSpin = most
		in.mu.Unlock()
		a.writeOne(b)
		synctest.Wait()
		if limit := int(most/leastTry) + 8; garbage.looks > limit {
			t.Errorf("%d looks, want %d at most", garbage.looks, limit)
		}
	})
}

// The runtime's timers are late if all goroutines sleep, so a receiver that busy-polls continues
// until a timeout that is near.
func TestATimeoutThatIsNearIsWaitedForAwake(t *testing.T) {
	const most = 50 * time.Microsecond
	_, b := lookingPair(t, most, false, func() {})
	defer closeAll(t, b)
	in := b.dev.pollable.all()[0]
	for _, c := range []struct {
		looked, timeout time.Duration
		enough          bool
	}{
		{most - 1, time.Hour, false},
		{most, time.Hour, true},
		{most, lateTimer, true},
		{most, lateTimer - 1, false},
		{most, -1, false}, // it is due, and is served between receives
		{most + lateTimer - 1, lateTimer - 1, false},
		{most + lateTimer, lateTimer - 1, true},
	} {
		s := in.shard
		s.mu.Lock()
		was := s.timers.armed
		s.timers.armed = transport.Time(time.Hour + c.timeout)
		s.mu.Unlock()
		if got := in.enough(transport.Time(time.Hour), c.looked); got != c.enough {
			t.Errorf("looked for %v, the next timeout is in %v: enough is %t, want %t",
				c.looked, c.timeout, got, c.enough)
		}
		s.mu.Lock()
		s.timers.armed = was
		s.mu.Unlock()
	}
}
