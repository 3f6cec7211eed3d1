package verbs

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/nic"
)

// SRQInitAttr holds the initial attributes of a shared receive queue, as ibv_srq_init_attr.
type SRQInitAttr struct {
	MaxWR  int // depth of the queue in receives, 1 to 2^20
	MaxSGE int // SGEs per receive, 0 to 27
	Limit  int // arms EventSRQLimitReached, see SRQ.Modify; 0 does not arm it
}

// SRQ is a shared receive queue: its queue pairs take receives from it as messages arrive, so
// that many queue pairs need only as many receives as are in use.
//
// A receive belongs to the queue pair that took it, and completes in the receive CQ of that queue
// pair, flushed if the queue pair fails. A queue pair in ERR leaves the remaining receives to the
// others, and reports by [EventQPLastWQEReached] that it will complete no more receives. A queue
// pair that is closed or moved to RESET while a message is arriving discards the receive of that
// message.
type SRQ struct {
	owned
	srq *nic.SRQ
}

// CreateSRQ creates a shared receive queue. Its receives use memory of this protection domain,
// regardless of the domains of the queue pairs.
func (p *PD) CreateSRQ(init SRQInitAttr) (*SRQ, error) {
	if init.MaxWR < 1 || init.MaxWR > maxSRQWR {
		return nil, fmt.Errorf("shared receive queue: size MaxWR is %d: it must be 1 to %d", init.MaxWR, maxSRQWR)
	}
	if init.MaxSGE < 0 || init.MaxSGE > maxSRQSGE {
		return nil, fmt.Errorf("shared receive queue: size MaxSGE is %d: it must be 0 to %d", init.MaxSGE, maxSRQSGE)
	}
	out := &SRQ{}
	err := p.ctx.add(objectSRQ, &out.owned, out.Close, func() error {
		s, err := p.ctx.dev.nic.CreateSRQ(p.ctx.user, p.pd, SRQAttr(init))
		if err != nil {
			return err
		}
		out.srq, s.Owner = s, out
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("shared receive queue: %w", err)
	}
	return out, nil
}

// PostRecv posts receive work requests; see [QP.PostSend]. They may be posted in any state of the
// queue pairs.
func (s *SRQ) PostRecv(wrs ...*RecvWR) error {
	wrs, refused := postableRecvs(wrs)
	n, err := s.srq.PostRecv(wrs)
	return posted(n, err, refused)
}

// Modify changes the attributes that mask names, as ibv_modify_srq; after an error nothing has
// changed. SRQMaxWR resizes the queue, but not below the number of receives in it or an armed
// limit. SRQLimit arms [EventSRQLimitReached], which is raised once, when a message takes a receive
// and leaves fewer than Limit in the queue. A Limit of 0 disarms it.
func (s *SRQ) Modify(attr SRQAttr, mask SRQAttrMask) error {
	return s.srq.Modify(attr, mask)
}

// Query returns the current attributes of the queue. Limit is 0 while no event is armed.
func (s *SRQ) Query() SRQAttr { return s.srq.Query() }

// Close destroys the queue; receives in it get no completion. It fails while queue pairs use the
// queue.
func (s *SRQ) Close() error { return s.deregisterUnless(s.srq.Close()) }
