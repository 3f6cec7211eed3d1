package qp

import (
	"fmt"
	"math/bits"

	"github.com/gorxe/gorxe/bth"
)

// Limits of attributes. Those with a bit width are of IBA, the others those of rxe.
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

// ModifyError is why a Modify was refused; the queue pair is as it was.
type ModifyError struct {
	QPN      bth.QPN
	Type     Type
	From, To State
	Attr     AttrMask // the one attribute at fault
	Reason   string
}

// Error names the transition, the attribute and the reason.
func (e *ModifyError) Error() string {
	return fmt.Sprintf("qp: modify QP %#06x (%v) from %v to %v: %v %s", uint32(e.QPN), e.Type, e.From, e.To, e.Attr, e.Reason)
}

// Modify gives the queue pair the attributes of a that mask names, as ibv_modify_qp. With
// [AttrState] it moves the queue pair to a.State; [AttrCurState] refuses the call when the
// queue pair is not in a.CurState. Modify does all or, with an error that is a
// [*ModifyError], nothing.
//
// The move to RESET sets all attributes back to zero. The queues are emptied in RESET, and
// flushed in ERR, by the machine that works on them.
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

// CheckModify returns the error that Modify would return, and changes nothing.
func (q *QP) CheckModify(a *Attr, mask AttrMask) error {
	if mask == 0 {
		return nil
	}
	e := ModifyError{QPN: q.Num, Type: q.Type, From: q.Attr.State, To: q.Attr.State}
	if mask&AttrState != 0 {
		e.To = a.State
	}
	if e.checkTransition(a, mask) || e.checkDraining(q, mask) || e.checkValues(a, mask) {
		return &e
	}
	return nil
}

// Query returns the attributes with what a query alone tells: CurState and SQDraining.
func (q *QP) Query() Attr {
	a := q.Attr
	a.CurState, a.SQDraining = a.State, q.SQDraining()
	return a
}

// SQDraining is true in SQD while work that was started before is not finished, as
// ibv_qp_attr.sq_draining.
func (q *QP) SQDraining() bool {
	return q.Attr.State == SQD && q.SQ != nil && q.SQ.Len() > 0 && q.SQ.At(q.SQ.Head()).Started
}

// fail notes the fault and returns true.
func (e *ModifyError) fail(attr AttrMask, format string, args ...any) bool {
	e.Attr, e.Reason = attr, fmt.Sprintf(format, args...)
	return true
}

func (e *ModifyError) checkTransition(a *Attr, mask AttrMask) bool {
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
		return e.fail(AttrState, "is not allowed: there is no way from %v to %v", e.From, e.To)
	}
	if missing := required &^ mask; missing != 0 {
		return e.fail(lowest(missing), "is missing; the transition needs %v", required)
	}
	if illegal := mask &^ (required | optional | AttrState); illegal != 0 {
		return e.fail(lowest(illegal), "is not allowed in this transition; it may have %v", required|optional|AttrState)
	}
	return false
}

// checkDraining holds the queue pair in SQD until its started work is finished (IBA
// 10.3.1.5), except on the way out by RESET or ERR.
func (e *ModifyError) checkDraining(q *QP, mask AttrMask) bool {
	if q.SQDraining() && e.To != RESET && e.To != ERR {
		return e.fail(lowest(mask), "cannot change yet: the send queue is still draining; wait for its completions")
	}
	return false
}

func lowest(m AttrMask) AttrMask { return 1 << bits.TrailingZeros32(uint32(m)) }
