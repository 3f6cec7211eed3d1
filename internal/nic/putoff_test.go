package nic

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A short timeout and no retry: the first timeout that takes effect ends the work.
var quickRetry = retry{timeout: 8, count: 0}

const quickTimeout = 4096 << 8 * time.Nanosecond

// A heldLink's receiver does not run until the gate is open.
type heldLink struct {
	packet.Link
	gate  chan struct{}
	taken bool // the receiver is held after it took frames, not before
}

func (l *heldLink) Pending() bool { return l.Link.(packet.PendingReporter).Pending() }

func (l *heldLink) Recv(rb *packet.RecvBatch) error {
	if l.taken {
		defer func() { <-l.gate }()
	} else {
		<-l.gate
	}
	return l.Link.Recv(rb)
}

func TestTimeoutWaitsForWhatWasNotReceivedYet(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken bool
		// Posting also asks for the timeout, and must not use up the number of delays.
		posts int
	}{
		{"in the link", false, 1},
		{"in the link, and posting goes on", false, 900},
		{"in the hands of a receiver that does not run", true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				link := &heldLink{gate: make(chan struct{}), taken: c.taken}
				a, b := newPair(t, 4096, quickRetry, func(l packet.Link) packet.Link {
					if l.Local() != addrA {
						return l
					}
					link.Link = l
					return link
				})
				defer closeAll(t, a, b)
				for i := range c.posts {
					a.post(a.write(b, uint64(i), 0, 64))
					time.Sleep(900 * time.Millisecond / time.Duration(c.posts))
				}
				if n := b.qp.Counters().ReceivedPackets; n == 0 {
					t.Error("nothing to acknowledge")
				}
				if n := a.qp.Counters().Timeouts; n != 0 {
					t.Errorf("%d timeouts counted while the ACK was there", n)
				}
				if n := a.counter("timeouts_put_off"); n != 1 {
					t.Errorf("timeouts_put_off = %d, want 1", n)
				}
				close(link.gate)
				a.succeed(c.posts)
				if n := a.qp.Counters(); n.Timeouts != 0 || n.Retransmitted != 0 {
					t.Errorf("%d timeouts and %d packets sent again, want none", n.Timeouts, n.Retransmitted)
				}
				// It was put off to a distant time. The next one is on time.
				closeAll(t, b)
				start := time.Now()
				a.post(a.write(b, 0, 0, 64))
				wc := a.wait(1)[0]
				if d := time.Since(start) - quickTimeout; wc.Status != qp.WCRetryExcErr || d < 0 || d > ticks(1) {
					t.Errorf("with the peer gone: %s %v after its time, want RETRY_EXC_ERR", wc.Status.Name(), d)
				}
			})
		})
	}
}

// ticks is the maximum lateness of the given number of successive deadlines.
func ticks(n int) time.Duration { return time.Duration(n << tickBits) }

// A busyLink has a receiver that is behind for a while.
type busyLink struct {
	packet.Link
	opened  time.Time
	behind  time.Duration
	every   time.Duration // interval at which a frame of a stranger arrives; 0: none
	looks   atomic.Int32
	closing sync.Once
	closed  chan struct{}
}

func newBusyLink(l packet.Link, behind, every time.Duration) *busyLink {
	return &busyLink{Link: l, opened: time.Now(), behind: behind, every: every, closed: make(chan struct{})}
}

func (l *busyLink) Pending() bool {
	l.looks.Add(1)
	return time.Since(l.opened) < l.behind
}

func (l *busyLink) Recv(rb *packet.RecvBatch) error {
	var comes <-chan time.Time
	if l.every > 0 {
		comes = time.After(l.every)
	}
	select {
	case <-comes:
		rb.Frames = append(rb.Frames[:0], packet.Received{Data: []byte("no packet"), Src: addrC, Dst: addrA})
		return nil
	case <-l.closed:
		return net.ErrClosed
	}
}

func (l *busyLink) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Link.Close()
}

// The peer is silent: the time until that is an error.
func TestTimeoutIsNotPutOffForEver(t *testing.T) {
	const all = time.Duration(1<<maxPutOffs-1) * time.Duration(firstPutOff)
	busy := func(behind, every time.Duration) func(packet.Link) packet.Link {
		return func(l packet.Link) packet.Link { return newBusyLink(l, behind, every) }
	}
	mute := func(l packet.Link) packet.Link { return struct{ packet.Link }{l} }
	const slow, quick, always = time.Millisecond, 10 * time.Microsecond, time.Hour
	for _, c := range []struct {
		name     string
		link     func(packet.Link) packet.Link
		tries    uint8
		from, to time.Duration
		putOff   uint64
	}{
		{"a link that cannot tell", mute, 0, quickTimeout, quickTimeout, 0},
		{"a receiver that has caught up", busy(0, 0), 0, quickTimeout, quickTimeout, 0},
		{"one that has caught up and gets more", busy(0, quick), 0, quickTimeout, quickTimeout, 0},
		{"one that needs 5 ms more", busy(quickTimeout+5*time.Millisecond, slow), 0,
			quickTimeout + 5*time.Millisecond, quickTimeout + 10*time.Millisecond, 1},
		{"one that never catches up", busy(always, slow), 0,
			quickTimeout + putOffBatches*slow, quickTimeout + 2*putOffBatches*slow, 1},
		{"one that a flood comes to", busy(always, quick), 0, quickTimeout + time.Millisecond,
			quickTimeout + time.Millisecond, 1},
		{"one that does not run", busy(always, 0), 0, quickTimeout + all, quickTimeout + all, 1},
		{"one that does not run, and a second try", busy(always, 0), 1, 3*quickTimeout + 2*all,
			3*quickTimeout + 2*all, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnd(t, 1, c.link(openLink(t, pipe.NewNet(), addrA)), 4096)
				defer closeAll(t, e)
				e.connect(e.qp, addrB, peerQPN, peerPSN, retry{timeout: 8, count: c.tries})
				start := time.Now()
				e.post(e.write(e, 1, 0, 64))
				if wc := e.wait(1)[0]; wc.Status != qp.WCRetryExcErr {
					t.Errorf("ended with %s, want RETRY_EXC_ERR", wc.Status.Name())
				}
				if d := time.Since(start); d < c.from || d > c.to+ticks(2*maxPutOffs) {
					t.Errorf("it took %v, want %v to %v", d, c.from, c.to)
				}
				if n := e.counter("timeouts_put_off"); n != c.putOff {
					t.Errorf("timeouts_put_off = %d, want %d", n, c.putOff)
				}
			})
		})
	}
}

// However many queue pairs are due at once, a link is checked once.
func TestLinkIsLookedAtOnceForAllThatAreDue(t *testing.T) {
	oneShard(t)
	synctest.Test(t, func(t *testing.T) {
		const many = 50
		link := newBusyLink(openLink(t, pipe.NewNet(), addrA), time.Hour, 0)
		e := newEnd(t, 1, link, 4096)
		defer closeAll(t, e)
		for range many {
			q := e.newQP()
			e.connect(q, addrB, peerQPN, peerPSN, quickRetry)
			if _, err := q.PostSend([]*qp.SendWR{e.write(e, 1, 0, 64)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := link.looks.Load(); n != 0 {
			t.Errorf("looked %d times with nothing due", n)
		}
		e.wait(many)
		if n := link.looks.Load(); n != maxPutOffs+1 {
			t.Errorf("looked %d times, want %d", n, maxPutOffs+1)
		}
		if n := e.counter("timeouts_put_off"); n != many {
			t.Errorf("timeouts_put_off = %d, want %d", n, many)
		}
	})
}

// Only the link by which the response would arrive matters.
func TestTimeoutIsPutOffForItsOwnLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		second := addrC
		e := &end{t: t, dev: openDevice(t, 1, newBusyLink(openLink(t, n, addrA), time.Hour, 0), openLink(t, n, second)),
			psn: 10, pd: &mr.PD{}}
		defer closeAll(t, e)
		e.register(make([]byte, 4096))
		e.cq = e.newCQ(64)
		var took [2]transport.Time
		for i := range took {
			e.qp = e.newQP()
			e.connect(e.qp, addrB, peerQPN, peerPSN, quickRetry)
			modify(t, e.qp, qp.Attr{State: qp.SQD}, qp.AttrState)
			modify(t, e.qp, qp.Attr{AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrB), SGIDIndex: uint8(i)}}, qp.AttrAV)
			modify(t, e.qp, qp.Attr{State: qp.RTS}, qp.AttrState)
			e.post(e.write(e, uint64(i), 0, 64))
		}
		start := e.dev.now()
		for range took {
			wc := e.wait(1)[0]
			took[wc.WRID] = e.dev.now() - start
		}
		if took[0] <= firstPutOff<<maxPutOffs-firstPutOff || took[1] != transport.Time(quickTimeout) {
			t.Errorf("it took %v by the link with a busy receiver, %v by the other", time.Duration(took[0]),
				time.Duration(took[1]))
		}
	})
}
