package nic

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// lostCQs are CQs that lost a completion, whose queue pairs of one shard are to fail.
type lostCQs struct {
	any atomic.Bool // there are some
	mu  sync.Mutex
	cqs []*CQ // guarded by mu
}

// lostCompletion notes that a completion found c full or in error. The machine that made it
// is in the middle of its work, so what follows waits for failUsers. A shard's lock is held.
func (d *Device) lostCompletion(c *CQ) {
	for _, s := range d.shards {
		s.lost.add(c)
		if s.several {
			s.wakePump()
		}
	}
}

func (l *lostCQs) add(c *CQ) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.cqs, c) {
		l.cqs = append(l.cqs, c)
	}
	l.any.Store(true)
}

// take returns one of the CQs, nil if there is none.
func (l *lostCQs) take() *CQ {
	if !l.any.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.cqs) - 1
	c := l.cqs[n]
	l.cqs[n], l.cqs = nil, l.cqs[:n]
	l.any.Store(n > 0)
	return c
}

// failUsers brings the queue pairs that complete into a CQ which lost a completion into ERR:
// what they do could not be told any more. The IBA has the CQ in error (CQ_ERR) and
// leaves the queue pairs to fail as they meet it; Linux rxe fails the one whose receive was
// lost. Here all of them fail at once (QP_FATAL). The lock is held.
func (s *shard) failUsers(now transport.Time) {
	for c := s.lost.take(); c != nil; c = s.lost.take() {
		if !c.told.Swap(true) {
			s.dev.events.raise(AsyncEvent{Type: qp.EventCQErr, CQ: c})
		}
		for _, q := range s.usersOf(c) {
			if q.attr.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState) == nil {
				q.attr.Raise(qp.EventQPFatal)
				q.machine.Modified(now)
			}
		}
	}
}

// usersOf returns the queue pairs that complete into c and can still fail, in the order of
// their numbers.
func (s *shard) usersOf(c *CQ) []*QP {
	var out []*QP
	for _, q := range s.qps.All {
		state := q.attr.State()
		if (q.sendCQ == c || q.recvCQ == c) && state != qp.RESET && state != qp.ERR {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b *QP) int { return cmp.Compare(a.attr.Num, b.attr.Num) })
	return out
}
