package model

import (
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// settle ends a step of e: the completions, the queues, memory, events and timers must be exactly
// as the model requires.
func (e *end) settle() { e.settleStep(step{}) }

// settleStep is settle for a step that changes memory or fails a request.
func (e *end) settleStep(st step) {
	if err := e.node.mem.settle(st.memory); err != nil {
		e.fail("%v", err)
	}
	for i := range e.made.list {
		if e.net.Violation != nil {
			break
		}
		e.net.Stats.Completions++
		if wc := &e.made.list[i]; wc.WRID&recvID != 0 {
			e.recvDone(wc)
			e.notAfterLast(wc, i)
		} else {
			e.sendDone(wc, &st)
		}
	}
	e.made.list = e.made.list[:0]
	e.retire(nil)
	e.atRest(&st)
	for n := len(e.sends); e.state() == qp.SQE && n > 0 && e.sends[n-1].first >= e.requester.cursor; n-- {
		e.sends, e.oldest = e.sends[:n-1], n-1 // flushed before any of its packets was sent
	}
	e.cq.settle()
	e.share.resume()
}

// isComplete reports whether s has everything that it needs to complete.
func (e *end) isComplete(s *sent) bool {
	return s.end <= e.requester.una && (s.done || !s.op.IsLocal())
}

// retire drops unsignaled requests that are complete, up to the request of next, which is the next
// completion, or nil if there is none.
func (e *end) retire(next *qp.WC) {
	for s := e.head(); s != nil && !s.signaled && (next == nil || next.WRID != s.id) &&
		(e.isComplete(s) || e.vanished(s)); s = e.head() {
		e.oldest++
	}
}

// sendDone checks a completion of the send queue.
func (e *end) sendDone(wc *qp.WC, st *step) {
	e.retire(wc)
	s := e.head()
	switch {
	case s == nil:
		e.fail("completion %d %s, nothing is outstanding", wc.WRID, wc.Status.Name())
		return
	case wc.WRID != s.id || wc.QPN != e.qp.Num:
		e.fail("completion %d %s of QP %#x, the oldest request is %d of QP %#x", wc.WRID, wc.Status.Name(), wc.QPN,
			s.id, e.qp.Num)
		return
	}
	if wc.Status == qp.WCSuccess {
		e.vanished(s)
	}
	e.oldest++
	if wc.Status == qp.WCSuccess {
		e.workedOnKeys(s)
		if !e.isComplete(s) {
			e.fail("request %d, a %v, completes before its last answer", s.id, s.op)
		}
		if !s.signaled || wc.Opcode != s.op.WCOpcode() || uint64(wc.ByteLen) != s.length {
			e.fail("request %d, a %v of %d bytes, signaled %t, completes with %+v", s.id, s.op, s.length,
				s.signaled, *wc)
		}
		return
	}
	e.net.Stats.Errors++
	if e.isComplete(s) {
		e.fail("request %d, a %v, was executed and answered, and completes with %s", s.id, s.op, wc.Status.Name())
		return
	}
	if why := e.whyWrongStatus(s, wc.Status, st); why != "" {
		e.fail("request %d, a %v, completes with %s: %s", s.id, s.op, wc.Status.Name(), why)
	}
}

// whyWrongStatus returns why s must not complete with this error, or "" if it may.
func (e *end) whyWrongStatus(s *sent, status qp.WCStatus, st *step) string {
	if status == qp.WCWRFlushErr {
		if e.cause == "" && e.broken == "" {
			return "nothing has brought the queue pair into ERR or SQE"
		}
		return ""
	}
	if e.cause != "" || e.broken != "" {
		return "after " + e.cause + e.broken
	}
	if e.qp.Type == qp.RC {
		e.cause = status.Name()
	} else {
		e.broken = status.Name()
	}
	switch {
	case st.status != qp.WCSuccess:
		if status != st.status {
			return "it should be " + st.status.Name()
		}
		st.status = qp.WCSuccess
		if status != qp.WCRetryExcErr {
			return ""
		}
		e.net.Stats.RetriesExceeded++
		if e.conn.flow.Faults <= int(e.spec.RetryCnt) && e.peer().alive() && e.peer().cause == "" {
			return "the network has not failed as often"
		}
	case s.op.IsLocal():
		return e.whyWrongKeyStatus(s, status)
	case status == qp.WCLocProtErr:
		if e.pinned(s.sg) || s.data != nil {
			return "its local keys are good"
		}
	default:
		return "no such error was provoked"
	}
	return ""
}

// recvDone checks a completion of the receive queue.
func (e *end) recvDone(wc *qp.WC) {
	if len(e.want) > 0 {
		w := e.want[0]
		e.want = e.want[1:]
		same := wc.WRID == w.WRID && wc.Status == w.Status && wc.QPN == w.QPN
		if w.Status == qp.WCSuccess {
			same = same && *wc == w
		} else {
			e.net.Stats.Errors++
			if e.qp.Type != qp.RC && w.Status == qp.WCLocProtErr && e.cause == "" {
				e.cause = "the receive that failed"
			}
		}
		if !same {
			e.fail("receive completes with %+v, it should with %+v", *wc, w)
		}
		return
	}
	if e.recvs.srq == nil {
		e.take()
	}
	if e.held == nil || wc.WRID != e.held.id || wc.Status != qp.WCWRFlushErr || wc.QPN != e.qp.Num {
		e.fail("receive completes with %+v, nothing is to complete", *wc)
		return
	}
	if e.cause == "" {
		e.fail("receive %d is flushed and nothing has brought the queue pair into ERR", wc.WRID&^recvID)
	}
	e.held = nil
}

// atRest compares the queues with the model after a step.
func (e *end) atRest(st *step) {
	s := e.head()
	switch state := e.state(); {
	case len(e.want) > 0:
		e.fail("receive %d should complete in this step", e.want[0].WRID&^recvID)
	case s != nil && e.isComplete(s):
		e.fail("request %d should complete in this step", s.id)
	case st.status != qp.WCSuccess:
		e.fail("the oldest request should complete with %s in this step", st.status.Name())
	case state == qp.ERR && (s != nil || e.held != nil || e.recvs.srq == nil && len(e.recvs.list) > 0):
		e.fail("work is left in ERR: %d requests, %d receives", len(e.sends)-e.oldest, len(e.recvs.list))
	case state == qp.ERR && e.cause == "":
		e.fail("nothing has brought the queue pair into ERR")
	case state == qp.SQE && (s != nil || e.broken == ""):
		e.fail("in SQE with %d requests; it may be there for %q", len(e.sends)-e.oldest, e.broken)
	case state != qp.SQE && e.broken != "" && e.cause == "":
		e.fail("after %s the queue pair is in %v", e.broken, state)
	case state != qp.ERR && e.cause != "":
		e.fail("after %s the queue pair is in %v", e.cause, state)
	case e.qp.SQ.Len() != len(e.sends)-e.oldest:
		e.fail("the send queue holds %d requests, %d are outstanding", e.qp.SQ.Len(), len(e.sends)-e.oldest)
	}
	if n := e.qp.Recv.Len(); n != len(e.recvs.list) {
		e.fail("the receive queue holds %d receives, %d were posted and not taken", n, len(e.recvs.list))
	}
	for _, key := range e.gone {
		if e.node.keys.Lookup(key) != nil {
			e.fail("key %#x is still good", key)
		}
	}
	e.gone = e.gone[:0]
	if at, _ := e.m.NextTimeout(); at != e.alarm() {
		e.fail("the machine wants its timeout at %d, it should at %d (0 is never)", at, e.alarm())
	}
	if m, ok := e.m.(*transport.RC); ok && e.state() == qp.RTS && int64(m.Progress().Window) != e.requester.window {
		e.fail("%d PSNs may be unacknowledged, %d should", m.Progress().Window, e.requester.window)
	}
	e.checkEvents()
}
