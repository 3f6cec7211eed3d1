package qp

import (
	"fmt"
	"math/bits"

	"github.com/gorxe/gorxe/bth"
)

// Limits of attributes: those with a bit width are from IBA, the others from rxe.
const (
	MaxRdAtomic  = 128
	maxTimer     = 31 // 5 bits: ACK timeout, RNR timer
	maxRetry     = 7  // 3 bits
	maxPSN       = 1<<24 - 1
	maxQPN       = 1<<24 - 1
	maxFlowLabel = 1<<20 - 1
	numPorts     = 1
	numPKeys     = 1
)

// ModifyError is the error of a rejected Modify, which has changed nothing.
type ModifyError struct {
	QPN      bth.QPN
	Type     Type
	From, To State
	Attr     AttrMask // attribute that caused the error
	Reason   string
}

// Error describes the transition, the attribute and the reason.
func (e *ModifyError) Error() string {
	return fmt.Sprintf("qp: modify QP %#06x (%v) from %v to %v: %v %s",
		uint32(e.QPN), e.Type, e.From, e.To, e.Attr, e.Reason)
}

// Modify sets the attributes of a that mask selects, as ibv_modify_qp does. With [AttrState] it
// moves the queue pair to a.State; with [AttrCurState] it fails if the queue pair is not in
// a.CurState. On error, a [*ModifyError], nothing has changed.
//
// The transition to RESET zeroes all attributes. Modify does not touch the queues: the
// transport empties them in RESET and flushes them in ERR.
func (q *QP) Modify(a *Attr, mask AttrMask) error {
	if err := q.CheckModify(a, mask); err != nil {
		return err
	}
	if mask&AttrState != 0 && a.State == RESET {
		q.Attr = Attr{}
		return nil
	}
	q.Attr.assign(a, mask)
	return nil
}

// CheckModify returns the error that Modify would return, without changing anything.
func (q *QP) CheckModify(a *Attr, mask AttrMask) error {
	if mask == 0 {
		return nil
	}
	e := ModifyError{QPN: q.Num, Type: q.Type, From: q.Attr.State, To: q.Attr.State}
	if mask&AttrState != 0 {
		e.To = a.State
	}
	if e.refuseTransition(a, mask) || e.refuseWhileDraining(q, mask) || e.refuseValues(a, mask) {
		return &e
	}
	return nil
}

// Query returns the attributes, including CurState and SQDraining.
func (q *QP) Query() Attr {
	a := q.Attr
	a.CurState, a.SQDraining = a.State, q.SQDraining()
	return a
}

// SQDraining reports whether the queue pair is in SQD with started work that is not complete,
// as ibv_qp_attr.sq_draining does.
func (q *QP) SQDraining() bool {
	return q.Attr.State == SQD && q.SQ != nil && q.SQ.Len() > 0 && q.SQ.At(q.SQ.Head()).Started
}

// fail records the attribute and the reason, and returns true.
func (e *ModifyError) fail(attr AttrMask, format string, args ...any) bool {
	e.Attr, e.Reason = attr, fmt.Sprintf(format, args...)
	return true
}

// refuseTransition refuses transitions and attributes that the table does not permit for the
// current state. It reports whether it refused.
func (e *ModifyError) refuseTransition(a *Attr, mask AttrMask) bool {
	if mask&AttrState != 0 && !a.State.Valid() {
		return e.fail(AttrState, "is out of range: %d, it must be 0 (RESET) to 6 (ERR)", uint8(a.State))
	}
	if mask&AttrCurState != 0 && a.CurState != e.From {
		return e.fail(AttrCurState, "says %v, but the queue pair is in %v", a.CurState, e.From)
	}
	required, optional, ok := Requirements(e.Type, e.From, e.To)
	if !ok {
		if mask&AttrState == 0 {
			return e.fail(lowest(mask), "is not allowed: no attribute can change in state %v", e.From)
		}
		return e.fail(AttrState, "is not allowed: there is no transition from %v to %v", e.From, e.To)
	}
	if missing := required &^ mask; missing != 0 {
		return e.fail(lowest(missing), "is missing; the transition requires %v", required)
	}
	if illegal := mask &^ (required | optional | AttrState); illegal != 0 {
		return e.fail(lowest(illegal), "is not allowed in this transition; permitted are %v",
			required|optional|AttrState)
	}
	return false
}

// refuseWhileDraining refuses changes of a queue pair in SQD until its started work is complete
// (IBA 10.3.1.5), except transitions to RESET or ERR. It reports whether it refused.
func (e *ModifyError) refuseWhileDraining(q *QP, mask AttrMask) bool {
	if q.SQDraining() && e.To != RESET && e.To != ERR {
		return e.fail(lowest(mask), "cannot change yet: the send queue is still draining; wait for its completions")
	}
	return false
}

// lowest returns the attribute of m with the lowest bit.
func lowest(m AttrMask) AttrMask { return 1 << bits.TrailingZeros32(uint32(m)) }
