package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// explainer explains a Complaint by a record.
type explainer struct {
	c *Complaint
	r *record
	m *Match
}

// explain sets the cause and the evidence of the match. i is the index of the end that the line is
// about.
func (e *explainer) explain(i int) {
	requester := i
	if e.c.Responder {
		requester = 1 - i
	}
	switch e.c.Status {
	case RetryExc:
		e.noResponse(requester)
	case RNRRetryExc:
		e.notReady(requester)
	case RemInvReq, RemAccess, RemOp:
		e.refused(requester, naksOf[e.c.Status])
	case WRFlush, NoStatus:
		e.earlier(i)
	case LocLen, LocAccess, LocProt:
		// The responder sends the NAK of its own error; at a requester, nothing of it is on the
		// wire.
		if e.refused(1-i, nil); e.m.Explained {
			e.m.Cause = "the error is at the responder, and its NAK is in the capture: " + e.m.Cause
			return
		}
		e.m.Evidence, e.m.Frames = nil, nil
		e.silent(i)
	default:
		e.silent(i)
	}
}

// naksOf has the syndrome of the NAK that leads to a status (IBA 9.9.2.3, 9.9.2.4.2).
var naksOf = map[Status][]bth.Syndrome{
	RemInvReq: {bth.NakInvalidRequest}, RemAccess: {bth.NakRemoteAccess}, RemOp: {bth.NakRemoteOperational},
}

// say adds a sentence to the evidence, and the frames that it is about.
func (e *explainer) say(frames []int, format string, args ...any) {
	for _, n := range frames {
		if !slices.Contains(e.m.Frames, n) {
			e.m.Frames = append(e.m.Frames, n)
		}
	}
	e.m.Evidence = append(e.m.Evidence, fmt.Sprintf(format, args...))
}

// at says something about a frame.
func (e *explainer) at(frame int, format string, args ...any) {
	e.say([]int{frame}, "frame %d: "+format, append([]any{frame}, args...)...)
}

// last says when the end sent its last request or response.
func (e *explainer) last(i int) {
	x := &e.r.ends[i]
	end := end(e.r.flow.Ends[i])
	switch {
	case x.requests.n+x.responses.n == 0:
		e.say(nil, "%s sent nothing that was captured", end)
	case x.responses.last > x.requests.last:
		e.at(x.responses.last, "the last packet from %s, a response up to PSN %d", end, x.responses.latest)
	default:
		e.at(x.requests.last, "the last packet from %s, a request", end)
	}
}

// unanswered returns the first message of end i without a response, or nil. A NAK that refuses a
// message is a response.
func (e *explainer) unanswered(i int) *trace.Message {
	for k := range e.r.failed {
		if m := &e.r.failed[k]; m.From == i && !strings.HasPrefix(m.Failed, "NAK ") {
			return m
		}
	}
	return nil
}

// noResponse explains RETRY_EXC_ERR of requester i.
func (e *explainer) noResponse(i int) {
	x, peer := &e.r.ends[i], end(e.r.flow.Ends[1-i])
	m := e.unanswered(i)
	switch {
	case m == nil && x.attempts.n == 0:
		e.m.Cause = "nothing in the capture: every request of this end has a response; the error was before or after the capture, " +
			"or on another queue pair"
		e.lateErrors()
		e.last(i)
		return
	case x.attempts.n == 0:
		e.m.Cause = fmt.Sprintf("%s #%d has no response and was not retransmitted within the capture: the capture "+
			"ends early, or the retransmissions were lost before the capture point", m.Verb, m.Number)
		e.at(m.Frames[0], "%s #%d, PSN %d to %d", m.Verb, m.Number, m.First, m.Last)
		e.last(1 - i)
		return
	}
	e.m.Explained = m != nil || x.covered() && x.acks.n > 1 && x.acks.last > x.frames[0]
	if m != nil {
		e.at(m.Frames[0], "%s #%d, PSN %d to %d, the first request without a response", m.Verb, m.Number, m.First,
			m.Last)
	} else if x.original > 0 {
		e.at(x.original, "the request with PSN %d", x.stuck)
	}
	took := x.attempts.end.Sub(x.attempts.begin)
	e.say(x.frames, "frames %s: PSN %d retransmitted %s within %s", list(x.frames, x.attempts.n), x.stuck,
		times(x.attempts.n), short(took))
	switch {
	case x.requested():
		e.m.Cause = fmt.Sprintf("PSN %d was lost on each attempt: %s received later packets and requested it %s, so "+
			"requests are lost, behind the capture point", x.stuck, peer, times(x.naks.n))
		e.at(x.naks.first, "the first NAK that requests PSN %d", x.stuck)
	case x.covered():
		e.m.Cause = fmt.Sprintf("responses are lost: %s answered PSN %d %s, but %s retransmitted it: the responses "+
			"were lost behind the capture point, or came after the timer had expired", peer, x.stuck, times(x.acks.n),
			end(e.r.flow.Ends[i]))
		e.at(x.acks.first, "the first response that covers PSN %d", x.stuck)
	case e.r.ends[1-i].responses.n+e.r.ends[1-i].requests.n == 0:
		e.m.Cause = fmt.Sprintf("no packet from %s was captured: it has no such queue pair, does not run, or cannot "+
			"reach this point", peer)
	case e.r.ends[1-i].requests.last > x.frames[0]:
		e.m.Cause = fmt.Sprintf("%s still sends requests, but no response: requests in this direction are lost behind the capture point, "+
			"for example by their size (path MTU)", peer)
	default:
		e.m.Cause = fmt.Sprintf("%s fell silent: requests pass the capture point and no response comes back; "+
			"requests or responses are lost behind it, or the responder's queue pair is gone", peer)
	}
	e.last(1 - i)
	e.lateErrors()
}

// lateErrors says which error findings the flow has.
func (e *explainer) lateErrors() {
	for _, k := range e.r.findings {
		e.at(k.frame, "%s", k.Text)
	}
}

// notReady explains RNR_RETRY_EXC_ERR of requester i.
func (e *explainer) notReady(i int) {
	n := &e.r.rnrs[i]
	if n.n == 0 {
		e.m.Cause = "nothing in the capture: no RNR NAK to this end"
		e.last(1 - i)
		return
	}
	m := e.unanswered(i)
	e.m.Explained = m != nil
	e.m.Cause = fmt.Sprintf("%s had no receive posted: %s within %s", end(e.r.flow.Ends[1-i]), rnrs(n.n),
		short(n.end.Sub(n.begin)))
	if m == nil {
		e.m.Cause += ", but every message was received in the end"
	} else {
		e.at(m.Frames[0], "%s #%d, PSN %d to %d, which needs a receive", m.Verb, m.Number, m.First, m.Last)
	}
	e.at(n.first, "the first RNR NAK, for PSN %d", n.psn)
	e.at(n.last, "the last RNR NAK")
}

func rnrs(n int) string {
	if n == 1 {
		return "1 RNR NAK"
	}
	return fmt.Sprintf("%d RNR NAKs", n)
}

// refused explains an error of requester i by the NAKs with one of the given syndromes, or any.
func (e *explainer) refused(i int, syndromes []bth.Syndrome) {
	for _, k := range e.r.findings {
		if k.Kind != trace.ErrorNAK || k.from == i || !e.about(k, syndromes) {
			continue
		}
		e.m.Explained = true
		if e.m.Cause == "" {
			e.m.Cause = k.Text
		}
		e.say(k.Frames, "frames %s: request and NAK from %s", list(k.Frames, len(k.Frames)), end(e.r.flow.Ends[k.from]))
	}
	if e.m.Explained {
		return
	}
	e.m.Cause = "nothing in the capture: no NAK with this error to this end"
	e.lateErrors()
	e.last(1 - i)
}

// about reports whether k has one of the syndromes.
func (e *explainer) about(k kept, syndromes []bth.Syndrome) bool {
	for _, s := range syndromes {
		if k.syn == s {
			return true
		}
	}
	return len(syndromes) == 0
}

// earlier explains a flushed work request of end i, or a line without a status: by the first error
// of the flow.
func (e *explainer) earlier(i int) {
	f := e.r.flow
	causes := []func(){
		func() { e.refused(i, nil) },
		func() { e.refused(1-i, nil) },
		func() { e.notReady(i) },
		func() { e.noResponse(i) },
		func() { e.notReady(1 - i) },
		func() { e.noResponse(1 - i) },
	}
	for _, x := range causes {
		*e.m = Match{Flow: f}
		if x(); e.m.Explained {
			if e.c.Status == WRFlush {
				e.m.Cause = "the queue pair failed before: " + e.m.Cause
			}
			return
		}
	}
	*e.m = Match{Flow: f}
	switch {
	case f.CM != nil && f.CM.Ended:
		e.m.Explained = e.c.Status == WRFlush
		e.m.Cause = "the connection was closed (DREQ and DREP): receives that were still posted are flushed"
	case f.CM != nil && f.CM.Rejected != "":
		e.m.Explained = true
		e.m.Cause = "the connection was rejected: " + f.CM.Rejected
	default:
		e.m.Cause = "no error of this flow is in the capture: a local error or a modification of the queue pair to the error state " +
			"sends nothing"
	}
	e.last(0)
	e.last(1)
}

// silent explains an error of end i of which nothing is on the wire.
func (e *explainer) silent(i int) {
	e.m.Cause = "an error of the local RNIC or program: nothing of it is on the wire, and the capture shows no NAK " +
		"for it"
	e.last(i)
	e.last(1 - i)
}
