package engine

import (
	"cmp"
	"slices"

	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// lostCompletion notes that a completion found c full or in error. The machine that made it
// is in the middle of its work, so what follows waits for failUsers. The lock is held.
func (s *shard) lostCompletion(c *CQ) {
	if !c.failing {
		c.failing = true
		s.failed = append(s.failed, c)
	}
}

// failUsers brings the queue pairs that complete into a CQ which lost a completion into ERR:
// what they do could not be told any more. The IBA has the CQ in error (CQ_ERR) and
// leaves the queue pairs to fail as they meet it; Linux rxe fails the one whose receive was
// lost. Here all of them fail at once (QP_FATAL). The lock is held.
func (s *shard) failUsers(now transport.Time) {
	for len(s.failed) > 0 {
		c := s.failed[len(s.failed)-1]
		s.failed = s.failed[:len(s.failed)-1]
		c.failing = false
		if !c.told {
			c.told = true
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
	for _, q := range s.qps {
		state := q.attr.State()
		if (q.sendCQ == c || q.recvCQ == c) && state != qp.RESET && state != qp.ERR {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b *QP) int { return cmp.Compare(a.attr.Num, b.attr.Num) })
	return out
}
