package model

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// events models the asynchronous events of a queue pair: the events raised in a step are exactly
// those due in it.
type events struct {
	made   *made
	raised []qp.EventType
	due    []qp.EventType

	established bool // COMM_EST was due since RESET
	last        bool // QP_LAST_WQE_REACHED was due since RESET
	lastAt      int  // number of completions in the step before QP_LAST_WQE_REACHED was raised
	draining    bool // SQ_DRAINED is due when the queue has drained
	drained     bool // the queue pair is in SQD and nothing is outstanding
	begun       int  // number of requests begun in SQD
}

// Event records an event that the machine raises.
func (v *events) Event(t qp.EventType) {
	v.raised = append(v.raised, t)
	if t == qp.EventQPLastWQEReached {
		v.lastAt = len(v.made.list)
	}
}

// notAfterLast checks that no receive completes after QP_LAST_WQE_REACHED.
func (e *end) notAfterLast(wc *qp.WC, index int) {
	v := &e.events
	if v.last || slices.Contains(v.raised, qp.EventQPLastWQEReached) && index >= v.lastAt {
		e.fail("receive %d completes after QP_LAST_WQE_REACHED", wc.WRID&^recvID)
	}
}

// communicates records that e received a request packet that is in order, whether e can execute it
// or not. In RTR, the first such packet makes COMM_EST due.
func (e *end) communicates() {
	if v := &e.events; e.state() == qp.RTR && !v.established {
		v.established = true
		v.due = append(v.due, qp.EventCommEst)
	}
}

// affiliated maps error NAKs to the events due if no receive completion reports the error.
var affiliated = map[bth.Syndrome]qp.EventType{
	bth.NakInvalidRequest: qp.EventQPReqErr, bth.NakRemoteAccess: qp.EventQPAccessErr,
	bth.NakRemoteOperational: qp.EventQPFatal,
}

// sentErrorNAK records that e sent an error NAK, which ends the connection. told reports whether a
// completion reports the error.
func (e *end) sentErrorNAK(s bth.Syndrome, told bool) {
	if e.cause = "the error NAK that it sent"; !told {
		e.events.due = append(e.events.due, affiliated[s])
	}
}

// checkBegin checks that s may begin. In SQD at most one request may, the one that was waiting for
// window space when the queue pair entered SQD, and none after the queue has drained.
func (e *end) checkBegin(s *sent) {
	s.split = e.qp.Type == qp.RC && s.op == qp.WRWrite && e.spec.Trains && e.heard
	if e.state() != qp.SQD {
		return
	}
	if v := &e.events; v.drained || v.begun > 0 {
		e.fail("request %d, a %v, is begun in SQD", s.id, s.op)
	}
	e.events.begun++
}

// checkEvents compares the events of a step with those that were due.
func (e *end) checkEvents() {
	v, state := &e.events, e.state()
	if state == qp.ERR && e.recvs.srq != nil && !v.last {
		v.last = true
		v.due = append(v.due, qp.EventQPLastWQEReached)
	}
	e.drains()
	slices.Sort(v.raised)
	slices.Sort(v.due)
	if !slices.Equal(v.raised, v.due) {
		e.fail("in %v the events %v are raised, %v are due", state, v.raised, v.due)
	}
	for _, t := range v.raised {
		e.net.Stats.Events[t]++
	}
	v.raised, v.due = v.raised[:0], v.due[:0]
	if r := e.recvs; r.srq != nil {
		if r.raised != r.due || r.srq.Query().Limit != r.limit {
			e.fail("SRQ_LIMIT_REACHED is raised %d times and was due %d times, the limit is %d and should be %d",
				r.raised, r.due, r.srq.Query().Limit, r.limit)
		}
		e.net.Stats.Events[qp.EventSRQLimitReached] += uint64(r.due)
		r.raised, r.due = 0, 0
	}
}

// drains updates the model of the send queue in SQD. SQ_DRAINED is due, if requested, when
// sq_draining ends: when no partly or completely sent request is outstanding.
func (e *end) drains() {
	v, s := &e.events, e.head()
	if e.state() != qp.SQD {
		v.draining, v.drained, v.begun = false, false, 0
		return
	}
	if r := &e.requester; !e.qp.SQDraining() && s != nil && s.first < max(r.next, r.cursor) {
		e.fail("request %d is begun and not complete, and the send queue is not draining", s.id)
	}
	if v.drained = !e.qp.SQDraining(); v.drained && v.draining {
		v.draining = false
		v.due = append(v.due, qp.EventSQDrained)
	}
}

// drain moves the queue pair to SQD.
func (e *end) drain(notify bool) {
	if e.state() != qp.RTS {
		return
	}
	e.events.draining = notify
	e.must(e.modify(&qp.Attr{State: qp.SQD, SQDAsyncNotify: notify}, qp.AttrState|qp.AttrSQDAsyncNotify))
}

// Event records an event that the SRQ raises.
func (r *receives) Event(t qp.EventType) {
	if r.raised++; t != qp.EventSRQLimitReached {
		r.raised = -1
	}
}

// limit sets the limit of e's SRQ.
func (e *end) limit(n int) {
	if r := e.recvs; r.srq != nil {
		r.limit = n
		e.must(r.srq.Modify(qp.SRQAttr{Limit: n}, qp.SRQLimit))
	}
}
