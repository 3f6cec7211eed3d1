package nic

import (
	"time"

	"github.com/gorxe/gorxe/transport"
)

// A timeout says that no answer has come. On a host that is short of processors the answer may
// well have come, and the receiving goroutine has not: it was not woken yet, or not let run
// since it took the answer from the link. So a timeout that is due while the link's receiver
// is behind is put off, and counts only if it is still due
//
//   - when the receiver has caught up, or
//   - when enough was received since for all that waited to be among it, so that traffic
//     that never ends (a flood, or just a busy link) does not put off timeouts for ever, or
//   - when it was put off maxPutOffs times, in case nothing is received at all. This counts
//     occasions on which the pump ran and slept, and not time: a process that is stopped for a
//     second gave the receiver no chance in it.
const (
	// firstPutOff is for how long a timeout is put off at first. Each further time is twice as
	// long, so that many queue pairs do not keep the pump from giving way to the receiver.
	firstPutOff = transport.Time(time.Millisecond)
	// maxPutOffs is how many times a timeout is put off: by 1023 ms in all.
	maxPutOffs = 10
	// putOffBatches is how many batches are enough. A full one of a UDP link is 512 KiB, and 64
	// of them are the receive buffer that it asks for by default, or 64 short datagrams, of
	// which such a buffer may hold more.
	putOffBatches = 64
)

// putOff is a timeout that is put off. The shard's lock guards it.
type putOff struct {
	due   transport.Time // when it was due, which tells it from the machine's next one
	until transport.Time
	times int
	last  uint64 // outbox.batches from which on it is not put off again
}

// lookout remembers within one round of the pump whether the receiver of a link was behind:
// looking is a system call, and many queue pairs may be due.
type lookout struct {
	out    *outbox
	behind bool
}

func (l *lookout) isBehind(o *outbox) bool {
	if l.out != o {
		l.out, l.behind = o, o.behind()
	}
	return l.behind
}

// ReceiverBehind reports whether packets have come to the link of a connected queue pair that may
// not have been dealt with.
func (q *QP) ReceiverBehind() bool {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.out != nil && q.out.behind()
}

// deadline is when q's machine wants its timeout, or until when that is put off. The lock is
// held.
func (q *QP) deadline() (transport.Time, bool) {
	at, ok := q.machine.NextTimeout()
	if at == q.late.due {
		at = max(at, q.late.until)
	}
	return at, ok
}

// putOff puts off q's timeout, which is due, unless it is to count. The lock is held.
func (s *shard) putOff(q *QP, now transport.Time, look *lookout) bool {
	if q.out == nil || !look.isBehind(q.out) {
		return false
	}
	l := &q.late
	if due, _ := q.machine.NextTimeout(); l.due != due {
		*l = putOff{due: due, last: q.out.brings.batches.Load() + putOffBatches}
		s.count.timeoutsPutOff++
	}
	if l.times == maxPutOffs || q.out.brings.batches.Load() >= l.last {
		return false
	}
	l.until = now + firstPutOff<<l.times
	l.times++
	return true
}
