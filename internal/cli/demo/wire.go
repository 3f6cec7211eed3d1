package demo

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
)

// wire observes every packet between the two devices.
//
// Each device's link has these layers, from the top: the lock; the recording, if any; a tap for
// what the device sends; the fault, when it is on; a tap for what the fault lets pass; the link.
// Both devices share the lock, so a response is never seen before its request.
type wire struct {
	mu      sync.Mutex
	through map[string]int // packets that passed the fault and were not yet seen by the upper tap
	events  []event
	highest [2]psnMark  // last new request of each device
	bad     atomic.Bool // the fault is on
	total   count
	refused chan struct{} // closed at the next RNR NAK; nil: nothing waits for it

	// Used by burstLink, by device.
	arrived sync.Cond
	waiting [2]int // number of frames that passed the fault and were not received
	closed  [2]bool
}

func newWire() *wire {
	w := &wire{through: make(map[string]int)}
	w.arrived.L = &w.mu
	return w
}

// event is one packet that a device sent.
type event struct {
	from  int // 0: A, 1: B
	p     bth.Packet
	size  int  // payload size in bytes
	lost  bool // did not arrive
	again bool // retransmitted request
}

// count contains numbers of packets.
type count struct{ sent, lost, again int }

func (c *count) add(e *event) {
	c.sent++
	if e.lost {
		c.lost++
	}
	if e.again {
		c.again++
	}
}

// psnMark is a PSN, valid if set.
type psnMark struct {
	psn bth.PSN
	set bool
}

// lockedLink sends under a lock that several links share.
type lockedLink struct {
	packet.Link
	mu *sync.Mutex
}

func (l lockedLink) Send(b *packet.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Link.Send(b)
}

// burstLink delivers frames only while no device is sending (it takes the lock), so that a burst is
// received in one batch. The batches that a receiver sees decide how many acknowledgements it
// sends: without burstLink, two runs would differ.
type burstLink struct {
	packet.Link
	wire *wire
	i    int // index of the device
}

func (l burstLink) Recv(rb *packet.RecvBatch) error {
	w := l.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.waiting[l.i] == 0 && !w.closed[l.i] {
		w.arrived.Wait()
	}
	if w.closed[l.i] {
		return net.ErrClosed
	}
	err := l.Link.Recv(rb)
	w.waiting[l.i] -= len(rb.Frames)
	return err
}

func (l burstLink) Close() error {
	l.wire.mu.Lock()
	l.wire.closed[l.i] = true
	l.wire.arrived.Broadcast()
	l.wire.mu.Unlock()
	return l.Link.Close()
}

// switchedLink is a link with a fault that can be switched on.
type switchedLink struct {
	packet.Link
	faulty packet.Link
	bad    *atomic.Bool
}

// now returns the link to use: the one with the fault, if it is on.
func (l switchedLink) now() packet.Link {
	if l.bad.Load() {
		return l.faulty
	}
	return l.Link
}

func (l switchedLink) Prepare(b *packet.Batch)    { l.now().Prepare(b) }
func (l switchedLink) Send(b *packet.Batch) error { return l.now().Send(b) }

// tap wraps the link l of device i in the layers of wire; cfg configures the fault, and record
// wraps a link with the recording. The lock is around the recording, so that the time of a packet
// is not after the time at which the other device receives it.
func (w *wire) tap(i int, l packet.Link, cfg fault.Config, record func(packet.Link) packet.Link) packet.Link {
	below := packet.Tap(l, func(dir packet.Direction, f packet.TapFrame) {
		if dir == packet.Outgoing {
			w.passed(i, f.Data)
		}
	})
	middle := switchedLink{below, fault.New(below, cfg), &w.bad}
	above := packet.Tap(middle, func(dir packet.Direction, f packet.TapFrame) {
		if dir == packet.Outgoing {
			w.offered(i, f.Data)
		}
	})
	return lockedLink{record(above), &w.mu}
}

// passed records a packet of device i that the fault did not drop. The caller holds w.mu.
func (w *wire) passed(i int, data []byte) {
	w.through[string(data)]++
	w.waiting[1-i]++
	w.arrived.Broadcast()
}

// offered records a packet of device i. The caller holds w.mu.
func (w *wire) offered(i int, data []byte) {
	e := event{from: i, lost: w.through[string(data)] == 0}
	if !e.lost {
		w.through[string(data)]--
	}
	if err := e.p.Decode(data); err != nil {
		return // the devices drop it too
	}
	e.size, e.p.Payload = len(e.p.Payload), nil
	if e.p.Opcode.Info().Request() {
		m := &w.highest[i]
		e.again = m.set && e.p.PSN.Diff(m.psn) <= 0
		if !e.again {
			*m = psnMark{e.p.PSN, true}
		}
	}
	if e.p.Opcode == bth.RCAck && e.p.AETH.Syndrome.IsRNR() && w.refused != nil {
		close(w.refused)
		w.refused = nil
	}
	w.total.add(&e)
	w.events = append(w.events, e)
}

// refusal returns a channel that is closed when the next RNR NAK is sent.
func (w *wire) refusal() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = make(chan struct{})
	return w.refused
}

// take returns the events since the last call.
func (w *wire) take() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	ev := w.events
	w.events = nil
	return ev
}

// count returns the numbers of packets sent, lost and retransmitted so far.
func (w *wire) count() count {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}
