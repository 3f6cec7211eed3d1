package nic

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/transport"
)

// turns decides which of the queue pairs that are ready sends next. In a round each may send
// turnBytes, however long its packets are: deficit round robin. A queue pair that has not had that
// much goes before those that have, so an acknowledgement or a short message does not wait behind
// long READ responses: the lists of new and old flows of FQ-CoDel (RFC 8290, section 4.1.2). The
// zero value is ready for use.
//
// Packets that arrive make queue pairs send in the goroutine that receives: those of the fresh list, and one that
// is alone and answers no READ (shard.goesOn). The rest is the pump's, so what a peer asks for keeps the receiver from
// the packets of others for one turn of a queue pair at most.
type turns struct {
	fresh readyList // have something left of their bytes in this round
	begun readyList // are in their turn, with which only the pump goes on
	spent readyList // have not, and wait for the next round
	round uint32
	left  int // how many of spent have their turn before the round is over
	repeats
}

const (
	// turnBytes is what a queue pair may send in a round: four of the longest datagrams that the
	// kernel cuts into packets, about a batch. With half of it READ of 64 KiB messages by the UDP link is 7 % slower:
	// batches leave half full.
	turnBytes = 256 << 10
	// leastCharge is what a frame is charged at least, in bytes: a short one takes the host as long
	// as that many bytes of a long one.
	leastCharge = 1024
)

// turn is the part of a QP that belongs to turns.
type turn struct {
	list   *readyList // that holds the queue pair, nil for none
	next   *QP        // in list
	round  uint32     // credit is of this round
	credit int        // bytes that it may still send in it; what it sent too much is owed
}

// empty reports whether no queue pair is ready.
func (t *turns) empty() bool {
	return t.fresh.head == nil && t.begun.head == nil && t.spent.head == nil
}

// has reports whether pop returns a queue pair.
func (t *turns) has(all bool) bool { return t.fresh.head != nil || all && !t.empty() }

// lone reports whether a single queue pair is ready, which sends nothing but requests: it takes nobody's turn, and its
// program posts no more than it likes, while a peer may ask for READ responses without end. One that changes keys keeps
// all shards waiting.
func (t *turns) lone() bool {
	q := t.spent.head
	if q == nil {
		q = t.begun.head
	}
	return t.fresh.head == nil && t.begun.len+t.spent.len == 1 && !q.rekeys && (q.reads == nil || !q.reads.Answers())
}

// push makes q ready, unless it is.
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

// pop takes the queue pair out whose turn it is, nil if there is none: of the fresh ones only, or
// of all.
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

// again makes q ready that was popped and has more to send: at once while it has credit, after
// the others otherwise, or if it could not send.
func (t *turns) again(q *QP, stuck bool) {
	switch {
	case q.list != nil:
	case q.credit > 0 && !stuck:
		t.fresh.unpop(q)
	default:
		t.spent.push(q)
	}
}

// keep is again for a queue pair that could send and whose turn the receiver does not go on with.
func (t *turns) keep(q *QP) {
	if q.list == nil && q.credit > 0 {
		t.begun.unpop(q)
	} else {
		t.again(q, false)
	}
}

// remove makes q wait for nothing.
func (t *turns) remove(q *QP) {
	if q.list != nil {
		q.list.remove(q)
	}
}

// frames returns the number of frames of at most longest bytes that the queue pair may send now, of a budget in bytes,
// at least 1.
func (t *turn) frames(longest, budget int) int {
	return max(1, min(t.credit, budget)/max(longest, leastCharge))
}

// repeats bounds what is sent of READs that peers ask for again and again while other queue pairs have something to
// send: a duplicate of some 60 bytes can have an answer of 2 GiB, and a peer with many queue pairs many turns.
type repeats struct {
	bucket pace.Bucket    // of bytes
	by     bth.QPN        // that has repeated last
	others transport.Time // when another queue pair has sent something else, 0 for never
}

// repeatRate is what all queue pairs of an outbox repeat together beside others at most, in bytes.
var repeatRate = pace.Rate{Burst: turnBytes, Interval: 32 * time.Nanosecond}

// beside reports whether another queue pair has sent something else not long ago.
func (r *repeats) beside(now transport.Time) bool { return r.others != 0 && now-r.others <= postponed }

// mayRepeat reports whether a queue pair may send now what was asked for often.
func (r *repeats) mayRepeat(now transport.Time) bool {
	return !r.beside(now) || r.bucket.Wait(repeatRate, time.Unix(0, int64(now)), 1) <= 0
}

// sent notes that q has sent so many packets, of which so many were asked for often; those count as long as any.
// A queue pair that has repeated last does not hold itself up.
func (r *repeats) sent(q *QP, now transport.Time, packets, repeated int) {
	if packets > repeated && q.attr.Num != r.by {
		r.others = now
	}
	if repeated == 0 {
		return
	}
	r.by = q.attr.Num
	if r.beside(now) {
		r.bucket.Take(repeatRate, time.Unix(0, int64(now)), repeated*max(q.longest(), leastCharge))
	}
}

// readyList is a queue of QPs, linked by QP.next. Each is in one list at a time.
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

// unpop puts q before all others.
func (l *readyList) unpop(q *QP) {
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
