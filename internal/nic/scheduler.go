package nic

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/transport"
)

// turns decides which ready queue pair sends next, by deficit round robin: in a round each may
// send turnBytes, however long its packets are. A queue pair that has not yet sent that much goes
// before those that have, so an acknowledgement or a short message does not wait behind long READ
// responses, like the new and old flows of FQ-CoDel (RFC 8290, section 4.1.2). The zero value is
// ready for use.
//
// After packets were received, the receiving goroutine transmits for the queue pairs of the fresh
// list, and for a queue pair that is the only one ready and has no READ to answer
// (shard.continuesTurn). The pump transmits for all others, so requests of a peer keep the receiver
// from other packets for at most one turn of a queue pair.
type turns struct {
	fresh readyList // queue pairs with credit in this round
	begun readyList // queue pairs that have begun a turn; only the pump continues it
	spent readyList // queue pairs without credit, which wait for the next round
	round uint32
	left  int // queue pairs in spent that have their turn before the round ends
	repeats
}

const (
	// turnBytes is the credit of a queue pair per round: four of the longest datagrams that the
	// kernel segments, about a batch. With half of it, READ of 64 KiB messages over the UDP link
	// is 7 % slower, because batches are half full.
	turnBytes = 256 << 10
	// minCharge is the minimum charge for a frame, in bytes: sending a short frame takes the
	// host as long as sending that many bytes of a long one.
	minCharge = 1024
)

// turn is the part of a QP that belongs to turns.
type turn struct {
	list   *readyList // list that contains the queue pair, nil: none
	next   *QP        // next in list
	round  uint32     // round that credit belongs to
	credit int        // charge, in bytes, left for the round; negative if more was sent
}

// empty reports whether no queue pair is ready.
func (t *turns) empty() bool {
	return t.fresh.head == nil && t.begun.head == nil && t.spent.head == nil
}

// has reports whether pop(all) would return a queue pair.
func (t *turns) has(all bool) bool { return t.fresh.head != nil || all && !t.empty() }

// single reports whether only one queue pair is ready and it has only requests to send. Such a
// queue pair does not delay others, and its program limits what it posts, whereas a peer may
// request READ responses without end. A queue pair that may change keys does not qualify: it keeps
// all shards waiting.
func (t *turns) single() bool {
	q := t.spent.head
	if q == nil {
		q = t.begun.head
	}
	return t.fresh.head == nil && t.begun.len+t.spent.len == 1 && !q.mayChangeKeys &&
		(q.reads == nil || !q.reads.HasResponses())
}

// push makes q ready, unless it is ready already.
func (t *turns) push(q *QP) {
	if q.list != nil {
		return
	}
	if t.spent.head == nil && t.begun.head == nil {
		t.round++ // no queue pair waits for this round to end
	}
	if q.round != t.round {
		q.round, q.credit = t.round, turnBytes
	}
	if q.credit > 0 {
		t.fresh.push(q)
	} else {
		t.spent.push(q)
	}
}

// pop removes and returns the queue pair whose turn it is, of all lists or only of the fresh list;
// nil if there is none.
func (t *turns) pop(all bool) *QP {
	if q := t.fresh.pop(); q != nil || !all {
		return q
	}
	if q := t.begun.pop(); q != nil {
		return q
	}
	for t.spent.head != nil {
		if t.left == 0 {
			t.round++
			t.left = t.spent.len
		}
		t.left--
		q := t.spent.pop()
		q.round = t.round
		if q.credit += turnBytes; q.credit > 0 {
			return q
		}
		t.spent.push(q)
	}
	return nil
}

// requeue makes q, which was popped and has more to send, ready again: next if it has credit, after
// the others if it has none or is stuck, that is, has appended no frame.
func (t *turns) requeue(q *QP, stuck bool) {
	switch {
	case q.list != nil:
	case q.credit > 0 && !stuck:
		t.fresh.pushFront(q)
	default:
		t.spent.push(q)
	}
}

// leaveToPump is requeue for a queue pair that is not stuck and whose turn only the pump continues.
func (t *turns) leaveToPump(q *QP) {
	if q.list == nil && q.credit > 0 {
		t.begun.pushFront(q)
	} else {
		t.requeue(q, false)
	}
}

// remove removes q from its list.
func (t *turns) remove(q *QP) {
	if q.list != nil {
		q.list.remove(q)
	}
}

// frames returns the number of frames of at most longest bytes that the queue pair may send now,
// limited by budget, in bytes; at least 1.
func (t *turn) frames(longest, budget int) int {
	return max(1, min(t.credit, budget)/max(longest, minCharge))
}

// repeats limits repeated READ responses while other queue pairs have something to send: a
// duplicate request of about 60 bytes can have a response of 2 GiB, and a peer with many queue
// pairs has many turns.
//
// The limit, 31.25 MB/s (repeatRate), applies to all queue pairs of one GID and shard together,
// while another queue pair of them sends something else than repeated responses. Packets that
// follow a held-back response in PSN order wait with it; the queue pair's own requests do not.
type repeats struct {
	bucket       pace.Bucket    // of bytes
	lastRepeater bth.QPN        // queue pair that was the last to repeat responses
	othersSentAt transport.Time // last time that another queue pair sent other packets, 0: never
}

// repeatRate is the limit for all queue pairs of an outbox together, in bytes.
var repeatRate = pace.Rate{Burst: turnBytes, Interval: 32 * time.Nanosecond}

// othersActive reports whether a queue pair other than lastRepeater has recently sent packets other
// than repeated responses.
func (r *repeats) othersActive(now transport.Time) bool {
	return r.othersSentAt != 0 && now-r.othersSentAt <= postponed
}

// mayRepeat reports whether responses that were requested repeatedly may be sent now.
func (r *repeats) mayRepeat(now transport.Time) bool {
	return !r.othersActive(now) || r.bucket.Wait(repeatRate, time.Unix(0, int64(now)), 1) <= 0
}

// recordSent records that q has sent packets. repeated is the number of repeated responses among
// them, which are charged as packets of maximum length. Other packets of lastRepeater do not start
// the limit, so a queue pair does not limit itself.
func (r *repeats) recordSent(q *QP, now transport.Time, packets, repeated int) {
	if packets > repeated && q.attr.Num != r.lastRepeater {
		r.othersSentAt = now
	}
	if repeated == 0 {
		return
	}
	r.lastRepeater = q.attr.Num
	if r.othersActive(now) {
		r.bucket.Take(repeatRate, time.Unix(0, int64(now)), repeated*max(q.longest(), minCharge))
	}
}

// readyList is a queue of QPs linked by QP.next. A QP is in one list at a time.
type readyList struct {
	head, tail *QP
	len        int
}

func (l *readyList) push(q *QP) {
	q.list, q.next = l, nil
	if l.head == nil {
		l.head = q
	} else {
		l.tail.next = q
	}
	l.tail = q
	l.len++
}

// pushFront inserts q at the head.
func (l *readyList) pushFront(q *QP) {
	q.list, q.next = l, l.head
	if l.head == nil {
		l.tail = q
	}
	l.head = q
	l.len++
}

func (l *readyList) pop() *QP {
	q := l.head
	if q != nil {
		l.head, q.next, q.list = q.next, nil, nil
		l.len--
	}
	return q
}

func (l *readyList) remove(q *QP) {
	var before *QP
	for p := l.head; p != q; p = p.next {
		before = p
	}
	if before == nil {
		l.head = q.next
	} else {
		before.next = q.next
	}
	if l.tail == q {
		l.tail = before
	}
	q.next, q.list = nil, nil
	l.len--
}
