package join

import (
	"time"

	"github.com/gorxe/gorxe/bth"
)

const (
	// maxEvents is the maximum number of events that are not decided yet. At the limit, the oldest
	// is decided.
	maxEvents = 1 << 16
	// maxLosses is the maximum number of losses in a Report.
	maxLosses = 1 << 16
	// maxHole is the maximum number of missing PSNs before one packet. More are a new connection,
	// or a gap of the capture.
	maxHole = 1024
	// decideAfter is the number of [Options.Wait] after which an event is decided: retransmissions
	// after a timeout come late.
	decideAfter = 8
)

// eventKey identifies a PSN.
type eventKey struct {
	dir   *direction
	psn   bth.PSN
	class class
}

// event collects what both captures tell about one packet that may be lost. The numbers are frames
// of capture A and B; 0 means none.
type event struct {
	eventKey
	at      int64  // time in the clock of capture A in nanoseconds since 1970
	only    [2]int // the packet is only in this capture
	sent    [2]int // the packet is in both captures, before naks or again
	holes   [2]int // the packet is missing before this frame
	naks    [2]int // the responder requests the PSN
	again   [2]int // retransmission
	wrong   bool   // the packet had a wrong ICRC
	resent  bool   // the packet that only one capture has is a retransmission
	timeout bool
	// until is set with timeout: the PSN after those that were sent before.
	until bth.PSN
	// acked is set with timeout: responses that cover the PSN were captured before the
	// retransmission.
	acked [2]bool
	late  bool // the request had arrived before it was sent again
}

// events holds the events in order of their beginning.
type events struct {
	queue []*event // a ring would save little: events are rare
	byKey map[eventKey]*event
}

// event returns the event of k that is not decided yet. It makes a new one if there is none, or if
// taken reports that the present one has what is to be added: then the packet was lost twice.
func (j *joiner) event(k eventKey, at int64, taken func(*event) bool) *event {
	e := j.events.byKey[k]
	if e != nil && !taken(e) {
		return e
	}
	if len(j.events.queue) >= maxEvents {
		j.decideFirst()
	}
	e = &event{eventKey: k, at: at}
	j.events.byKey[k] = e
	j.events.queue = append(j.events.queue, e)
	return e
}

// decideOld decides the events that began before the time at of capture A.
func (j *joiner) decideOld(at int64) {
	for len(j.events.queue) > 0 && j.events.queue[0].at < at {
		j.decideFirst()
	}
}

func (j *joiner) decideFirst() {
	e := j.events.queue[0]
	j.events.queue[0] = nil
	j.events.queue = j.events.queue[1:]
	if j.events.byKey[e.eventKey] == e {
		delete(j.events.byKey, e.eventKey)
	}
	j.decide(e)
}

// decide counts e at the place of its loss.
func (j *joiner) decide(e *event) {
	d := e.dir
	if e.again[0] == 0 || e.again[1] == 0 {
		again := j.again.find(e.eventKey, e.only)
		for s, n := range again {
			if e.again[s] == 0 {
				e.again[s] = n
			}
		}
	}
	first, last := 0, 1
	switch d.order() {
	case bFirst:
		first, last = 1, 0
	case unknownOrder:
		if (e.only[0]+e.only[1] > 0 || e.holes[0] > 0 && e.holes[1] > 0) && !e.wrong {
			j.lose(e, Somewhere)
		}
		return
	}
	switch {
	case e.wrong && e.only[last] > 0:
		d.Counts.Corrupt++ // its headers were changed, so it does not match
	case e.only[first] > 0 && e.only[last] > 0:
		// One transmission was lost between the capture points, another one was not captured.
		j.lose(e, Between)
		j.miss(e, first)
	case e.only[first] > 0 && j.arrived(e, first):
		j.miss(e, last)
	case e.only[first] > 0:
		j.lose(e, Between)
	case e.only[last] > 0:
		j.miss(e, first)
	case e.holes[first] > 0:
		j.lose(e, Before)
	case e.holes[last] > 0:
		// No packet: the first capture has none with this PSN. It belongs to a READ.
	case e.naks[0]+e.naks[1] > 0:
		e.only = e.sent
		j.lose(e, Behind)
	case e.timeout && e.acked[last] != e.acked[first]:
		// The response was lost between the capture points and has an event of its own, or the
		// timer expired before it arrived.
	case e.timeout && e.acked[first] && d.back != nil:
		// The response passed both capture points: it was lost behind them, or arrived late.
		back := *e
		back.eventKey = eventKey{d.back, e.psn, acks}
		j.lose(&back, Behind)
	case e.timeout && j.laterLost(e):
		// The requester goes back to the oldest unacknowledged packet; a later one was lost.
	case e.late:
		d.Counts.Late++
	case e.timeout && !d.acked[last].known:
		j.lose(e, Somewhere) // the NAKs and ACKs of the connection were not found
	case e.timeout:
		e.only = e.sent
		j.lose(e, Behind)
	}
}

// laterLost reports whether a request was lost before the second capture point that was sent after
// the packet of e, and before its retransmission.
func (j *joiner) laterLost(e *event) bool {
	d := e.dir
	if l := &d.lost; l.known && l.Diff(e.psn) > 0 && l.Diff(e.until) < 0 && l.at < e.at {
		return true
	}
	for k := range min(maxInFlight, max(0, e.until.Diff(e.psn))) {
		v := j.events.byKey[eventKey{d, e.psn.Add(uint32(k)), requests}]
		if v != nil && v != e && v.at < e.at && (v.only[0]+v.only[1] > 0 || v.holes[0]+v.holes[1] > 0) {
			return true
		}
	}
	return false
}

// arrived reports whether the packet of e, which capture first has, was not lost: the responder
// acknowledged it, and it was not retransmitted. A retransmission is not needed if an earlier one
// arrived, so an acknowledgement does not tell that it arrived.
func (j *joiner) arrived(e *event, first int) bool {
	a := e.dir.acked[first]
	return e.class == requests && !e.resent && e.again[first] == 0 && e.naks[first] == 0 && e.holes[1-first] == 0 &&
		a.known && a.Diff(e.psn) > 0
}

// lose counts e as a loss.
func (j *joiner) lose(e *event, w Where) {
	e.dir.Counts.Lost[w]++
	if (w == Between || w == Before) && e.class == requests {
		e.dir.lost = lostPSN{psn{e.psn, true}, e.at}
	}
	j.list(e, w)
}

// miss counts e as a packet that the capture of side has no record of.
func (j *joiner) miss(e *event, side int) {
	e.dir.Counts.Missed[side]++
	j.list(e, MissedByA+Where(side))
}

// list adds e to the losses of the report.
func (j *joiner) list(e *event, w Where) {
	if len(j.report.Losses) >= maxLosses {
		j.report.Omitted++
		return
	}
	j.report.Losses = append(j.report.Losses, Loss{
		Where: w, Direction: &e.dir.Direction, Time: time.Unix(0, e.at).UTC(), Class: classNames[e.class], PSN: e.psn,
		Frames: e.only, Next: e.holes, NAKs: e.naks, Again: e.again, Timeout: e.timeout,
	})
}
