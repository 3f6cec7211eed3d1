package nic

import (
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/transport"
)

// A program that is sent a short message mostly answers with another one. The acknowledgement of the message then leaves
// behind the answer, in the same system call and where the link has segmentation offload in the same datagram of the
// host: both ends have half of the calls. So an acknowledgement that is all a queue pair has to send is held for a moment.
// It leaves
//
//   - with the next request that is posted on the queue pair, behind it,
//   - when a program polls an empty CQ: it has not answered what it got,
//   - in the goroutine that receives: after others have run once, before it waits for packets, and while it looks for
//     packets without waiting, after holdSpinning,
//   - when another message comes before it has left, which a peer that waits for an answer does not send,
//   - when the queue pair is modified or closed, or the device is, and
//   - where a poller has received the message and does neither, by a timer that all queue pairs of the shard share, after
//     holdPolled at most. The next holdPause messages of that queue pair are acknowledged at once then.
const (
	// holdSpinning is longer than a program takes to be woken and to answer.
	holdSpinning = 20 * transport.Time(time.Microsecond)
	// holdTimer is how often the timer fires; it releases what was held for half of that.
	holdTimer = 2 * time.Millisecond
	holdPause = 64
	// fewFrames is how many frames a batch has at most whose messages may be held: one, with the acknowledgement behind
	// it, from two peers.
	fewFrames = 4
	// shortMessage is the longest payload, in bytes, of a message whose acknowledgement is held.
	shortMessage = 1024
	// shortestHeld is the code of the shortest local ACK timeout of a connection whose acknowledgements are held, 16.8 ms:
	// that of the peer is mostly the same.
	shortestHeld = 12
	// maxHeldACKs is for how many queue pairs of a shard.
	maxHeldACKs = 16
)

// heldACKs are the queue pairs of a shard whose acknowledgement is held. The shard's lock guards it.
type heldACKs struct {
	list   []*QP
	any    atomic.Bool // list is not empty; read without the lock
	few    bool        // the batch in hand has few frames
	polled bool        // a poller deals with it
	timer  *time.Timer // its channel is read by the shard's pump
	armed  bool
}

// ackHold is the part of a QP that belongs to heldACKs.
type ackHold struct {
	held      bool           // in the list
	heldSince transport.Time // holds while held is set
	holdPause int            // messages that are acknowledged at once
}

func newHeldACKs() *heldACKs {
	h := &heldACKs{list: make([]*QP, 0, maxHeldACKs), timer: time.NewTimer(time.Hour)}
	h.timer.Stop()
	return h
}

// waiting reports whether an acknowledgement is held. No lock is needed.
func (h *heldACKs) waiting() bool { return h.any.Load() }

// holdACK holds the acknowledgement of the message that a ends, and reports whether it does: q need not be made ready then.
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
	if q.acks == nil || !h.few || info.Op != bth.OpSend || info.Pos != bth.Only || len(a.packet.Payload) > shortMessage {
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

// remove takes q off the list, if it is on it.
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
	s.ready(q)
	s.flush(s.dev.now())
}

// sendHeldACKs sends what is held. No lock is held.
func (s *shard) sendHeldACKs() { s.sendACKsHeldFor(0) }

// sendACKsHeldFor sends what has been held for at least a time. No lock is held.
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

// sendOverdueACKs releases what was held when the timer fired, and sets it anew for what is held since. The lock is held, and
// the caller flushes.
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

// releaseACKs makes the queue pairs ready whose acknowledgement has been held for at least a time, and reports whether there
// are any. late says that their programs do not answer soon.
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
		s.ready(q)
		any = true
	}
	return any
}

// sendHeldACKs sends what all shards hold, before the device's links are closed, but of a shard that somebody uses who may
// wait for room in a link.
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
