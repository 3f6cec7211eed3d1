package verbs

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/nic"
)

// SRQInitAttr says what to make a shared receive queue from, as ibv_srq_init_attr.
type SRQInitAttr struct {
	MaxWR  int // receives the queue holds, 1 to 2^20
	MaxSGE int // pieces of one receive, 0 to 27
	Limit  int // arms EventSRQLimitReached, see SRQ.Modify; 0 does not
}

// SRQ is a shared receive queue: the queue pairs that were made with it take their receives
// from it as messages arrive, so that many of them need no more receives than are in use.
//
// A receive belongs to the queue pair that took it, and completes in its receive CQ, flushed
// if the queue pair fails. A queue pair in ERR leaves what is in the SRQ to the others, and
// tells by [EventQPLastWQEReached] that it will complete no other receive. One that is
// closed, or moved to RESET, while a message is arriving takes its receive with it.
type SRQ struct {
	owned
	srq *nic.SRQ
}

// CreateSRQ makes a shared receive queue. Its receives name memory of this protection
// domain, whatever the domains of the queue pairs.
func (p *PD) CreateSRQ(init SRQInitAttr) (*SRQ, error) {
	if init.MaxWR < 1 || init.MaxWR > maxSRQWR {
		return nil, fmt.Errorf("shared receive queue: size MaxWR is %d: it must be 1 to %d", init.MaxWR, maxSRQWR)
	}
	if init.MaxSGE < 0 || init.MaxSGE > maxSRQSGE {
		return nil, fmt.Errorf("shared receive queue: size MaxSGE is %d: it must be 0 to %d", init.MaxSGE, maxSRQSGE)
	}
	out := &SRQ{}
	err := p.ctx.add(objectSRQ, &out.owned, out.Close, func() error {
		s, err := p.ctx.dev.nic.CreateSRQ(p.ctx.client, p.pd, SRQAttr(init))
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

// PostRecv queues receive work requests; see [QP.PostSend]. They may be posted in any state
// of the queue pairs.
func (s *SRQ) PostRecv(wrs ...*RecvWR) error {
	wrs, refused := postableRecvs(wrs)
	n, err := s.srq.PostRecv(wrs)
	return posted(n, err, refused)
}

// Modify changes the attributes that mask names, or with an error nothing, as
// ibv_modify_srq. SRQMaxWR resizes the queue, not below what it holds nor below an armed
// limit. SRQLimit arms [EventSRQLimitReached]: it is raised once, when a message takes a
// receive and leaves fewer than Limit in the queue. A Limit of 0 disarms it.
func (s *SRQ) Modify(attr SRQAttr, mask SRQAttrMask) error {
	return s.srq.Modify(attr, mask)
}

// Query returns the attributes the queue has now. Limit is 0 while no event is armed.
func (s *SRQ) Query() SRQAttr { return s.srq.Query() }

// Close destroys the queue; receives that are in it end without a completion. It refuses
// while queue pairs use it.
func (s *SRQ) Close() error { return s.ended(s.srq.Close()) }
