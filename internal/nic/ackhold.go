package nic

import (
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/transport"
)

// A program usually answers a short message with another one. If the acknowledgement waits for
// that answer, both are sent in one system call, and with segmentation offload in one datagram of
// the host, which halves the calls at both ends. So an acknowledgement that is all a queue pair
// has to send is held for a moment. It is sent
//
//   - behind the next request that is posted on the queue pair,
//   - when a program polls an empty CQ: it has not answered yet,
//   - by the receiving goroutine before it waits for packets, after it has yielded once to other
//     goroutines; while it busy-polls, after holdSpinning,
//   - when the queue pair is modified or closed, or the device is closed,
//   - when another message arrives: the peer does not wait for an answer, or
//   - if a poller received the message and none of this happens, by a timer that all queue pairs of
//     the shard share, after at most 1.5 times holdTimer.
//
// In the last two cases, the next holdPause messages of the queue pair are acknowledged at once.
const (
	// holdSpinning is the time after which a receiver that busy-polls sends a held acknowledgement:
	// more than a program needs to wake up and answer.
	holdSpinning = 20 * transport.Time(time.Microsecond)
	// holdTimer is the interval of the timer. When it fires, it releases acknowledgements that have
	// been held for at least half of the interval.
	holdTimer = 2 * time.Millisecond
	// holdPause is the number of messages acknowledged at once after an acknowledgement was held in
	// vain.
	holdPause = 64
	// fewFrames is the maximum number of frames in a received batch whose acknowledgements may be
	// held: a message and an acknowledgement from each of two peers.
	fewFrames = 4
	// shortMessage is the maximum payload, in bytes, of a message whose acknowledgement is held.
	shortMessage = 1024
	// shortestHeld is the minimum local ACK timeout, as a code (12: 16.8 ms), of a connection whose
	// acknowledgements are held. It is compared with the timeout of this end; the timeout of the
	// peer is usually the same.
	shortestHeld = 12
	// maxHeldACKs is the maximum number of queue pairs of a shard with a held acknowledgement.
	maxHeldACKs = 16
)

// heldACKs is the list of queue pairs of a shard with a held acknowledgement. The shard's lock
// guards it.
type heldACKs struct {
	list   []*QP
	any    atomic.Bool // list is not empty; read without the lock
	few    bool        // the current batch has few frames
	polled bool        // a poller processes the current batch
	timer  *time.Timer // its channel is read by the shard's pump
	armed  bool        // timer runs
}

// ackHold is the part of a QP that belongs to heldACKs.
type ackHold struct {
	held      bool           // in heldACKs.list
	heldSince transport.Time // valid while held is set
	holdPause int            // number of messages to acknowledge at once
}

func newHeldACKs() *heldACKs {
	h := &heldACKs{list: make([]*QP, 0, maxHeldACKs), timer: time.NewTimer(time.Hour)}
	h.timer.Stop()
	return h
}

// waiting reports whether an acknowledgement is held. No lock is needed.
func (h *heldACKs) waiting() bool { return h.any.Load() }

// holdACK is called after q has processed packet a. It holds the acknowledgement if the conditions
// above permit, and reports whether the only packet that q has to send is a held acknowledgement: q
// then need not become ready.
func (s *shard) holdACK(q *QP, now transport.Time, a *arrival) bool {
	h := s.heldACKs
	if q.held {
		if a.packet.Opcode.Info().Response() {
			return q.acks.HoldACK()
		}
		h.remove(q)
		q.holdPause = holdPause
		return false
	}
	info := a.packet.Opcode.Info()
	if q.acks == nil || !h.few || info.Op != bth.OpSend || info.Pos != bth.Only ||
		len(a.packet.Payload) > shortMessage {
		return false
	}
	if q.holdPause > 0 {
		q.holdPause--
		return false
	}
	if t := q.attr.Attr.Timeout; t != 0 && t < shortestHeld {
		return false
	}
	if q.list != nil || len(h.list) == maxHeldACKs || !q.acks.HoldACK() {
		return false
	}
	q.held, q.heldSince = true, now
	h.list = append(h.list, q)
	h.any.Store(true)
	if h.polled && !h.armed {
		h.armed = true
		h.timer.Reset(holdTimer)
	}
	return true
}

// remove removes q from the list if q is held.
func (h *heldACKs) remove(q *QP) {
	if !q.held {
		return
	}
	q.held = false
	for i, o := range h.list {
		if o == q {
			last := len(h.list) - 1
			h.list[i], h.list[last] = h.list[last], nil
			h.list = h.list[:last]
			break
		}
	}
	h.any.Store(len(h.list) > 0)
}

// sendHeld sends the acknowledgement that is held for q. The lock is held.
func (s *shard) sendHeld(q *QP) {
	if !q.held {
		return
	}
	s.heldACKs.remove(q)
	s.markReady(q)
	s.flush(s.dev.now())
}

// sendHeldACKs sends all held acknowledgements. No lock is held.
func (s *shard) sendHeldACKs() { s.sendACKsHeldFor(0) }

// sendACKsHeldFor sends the acknowledgements held for at least the duration least. No lock is
// held.
func (s *shard) sendACKsHeldFor(least transport.Time) {
	if !s.heldACKs.waiting() {
		return
	}
	now := s.dev.now()
	s.lock()
	defer s.unlock()
	if s.releaseACKs(now, least, false) {
		s.flush(now)
	}
}

// sendOverdueACKs releases the acknowledgements that are overdue once the timer has fired, and
// restarts the timer for the others. The lock is held; the caller flushes.
func (s *shard) sendOverdueACKs() {
	h := s.heldACKs
	if !h.armed {
		return
	}
	h.armed = false
	s.releaseACKs(s.dev.now(), transport.Time(holdTimer/2), true)
	if len(h.list) > 0 {
		h.armed = true
		h.timer.Reset(holdTimer)
	}
}

// releaseACKs makes the queue pairs ready whose acknowledgement has been held for at least the
// duration least, and reports whether there are any. If late is set, it also makes their next
// holdPause messages be acknowledged at once.
func (s *shard) releaseACKs(now, least transport.Time, late bool) (any bool) {
	h := s.heldACKs
	for i := len(h.list) - 1; i >= 0; i-- {
		q := h.list[i]
		if now-q.heldSince < least {
			continue
		}
		if late {
			q.holdPause = holdPause
		}
		h.remove(q)
		s.markReady(q)
		any = true
	}
	return any
}

// sendHeldACKs sends the held acknowledgements of all shards before the device's links are closed.
// It leaves out a shard whose lock is taken, possibly by a goroutine that waits for buffer space in
// a link.
func (d *Device) sendHeldACKs() {
	for _, s := range d.shards {
		if s.heldACKs.waiting() && s.tryLock() {
			now := s.dev.now()
			s.releaseACKs(now, 0, false)
			s.flush(now)
			s.unlock()
		}
	}
}
