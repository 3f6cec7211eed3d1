package rings

import (
	"fmt"

	"github.com/gorxe/gorxe/qp"
)

// Query returns the attributes of a shared receive queue. Limit is 0 if SRQ_LIMIT_REACHED is not
// armed or was raised.
func (r *RecvRing) Query() qp.SRQAttr {
	return qp.SRQAttr{MaxWR: r.Depth(), MaxSGE: r.cfg.MaxSGE, Limit: r.limit}
}

// Modify changes the attributes of a shared receive queue that mask selects. On error it
// changes nothing.
//
// SRQMaxWR moves the receives to a new buffer of at least MaxWR receives, as
// [CompletionRing.Resize] does. MaxWR must not be less than the number of posted receives or an
// armed limit. SRQLimit arms the event SRQ_LIMIT_REACHED by the rules of [qp.SRQ.Modify].
func (r *RecvRing) Modify(a qp.SRQAttr, mask qp.SRQAttrMask) error {
	if !r.cfg.Shared {
		return fmt.Errorf("rings: modify SRQ: this is the receive queue of one queue pair")
	}
	if unknown := mask &^ (qp.SRQMaxWR | qp.SRQLimit); unknown != 0 {
		return fmt.Errorf("rings: modify SRQ: unknown attributes %#x; clear them", uint32(unknown))
	}
	g, limit := r.in.mem.geo, r.limit
	if mask&qp.SRQMaxWR != 0 {
		if a.MaxWR < 1 {
			return fmt.Errorf("rings: modify SRQ: MaxWR %d is out of range: it must be 1 to %d",
				a.MaxWR, qp.MaxDepth)
		}
		var err error
		if g, err = g.withDepth(a.MaxWR); err != nil {
			return err
		}
	}
	if mask&qp.SRQLimit != 0 {
		limit = a.Limit
	}
	if limit < 0 || limit > g.Depth() {
		return fmt.Errorf("rings: modify SRQ: limit %d is out of range: it must be 0 to %d, the depth of the queue",
			limit, g.Depth())
	}
	if mask&qp.SRQMaxWR != 0 {
		if err := r.resize(g); err != nil {
			return err
		}
	}
	r.limit = limit
	return nil
}

// resize moves the ring to a new buffer of layout g.
func (r *RecvRing) resize(g Geometry) error {
	in := &r.in
	n := in.waiting()
	if err := in.mem.moveTo(g, r.cfg.NewBuffer, in.next, n); err != nil {
		return err
	}
	in.oldest, in.next, in.held, in.ready = 0, 0, 0, n
	return nil
}

// checkLimit raises SRQ_LIMIT_REACHED if fewer receives than the armed limit remain.
func (r *RecvRing) checkLimit() {
	if r.limit == 0 || r.in.waiting() >= r.limit {
		return
	}
	r.limit = 0
	if r.cfg.Events != nil {
		r.cfg.Events.Event(qp.EventSRQLimitReached)
	}
}
