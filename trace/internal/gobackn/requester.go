package gobackn

import (
	"github.com/gorxe/gorxe/bth"
)

// maxReads is the maximum number of READs and atomics in flight.
const maxReads = 4

// messageOf returns the message that psn belongs to. psn is not before una.
func (q *queuePair) messageOf(psn bth.PSN) *Message {
	for _, m := range q.messages()[q.oldest:] {
		if psn.Diff(m.End()) < 0 {
			return m
		}
	}
	return nil
}

// nextRequest returns the next request, if the window allows one, and whether there may be more.
func (q *queuePair) nextRequest() (p *Sent, more bool) {
	s := q.sim
	if q.waiting || q.next.Diff(q.posted) >= 0 || int(q.next.Diff(q.una)) >= s.Window {
		return nil, false
	}
	m := q.messageOf(q.next)
	if m.Verb.Data() && q.reads(q.next) >= maxReads {
		return nil, false
	}
	first := q.next == m.First
	offset := int(q.next.Diff(m.First))
	last := offset == m.PSNs-1
	p = q.packet(opcode(m.Verb, first, last), q.next)
	p.Message = m
	end := q.next.Add(1)
	switch {
	case m.Verb == Read:
		p.DMALen = m.Len - offset*s.MTU
		end = m.End()
		last = true
	case m.Verb == Atomic:
	default:
		p.Len = min(s.MTU, m.Len-offset*s.MTU)
		if first {
			p.DMALen = m.Len
		}
	}
	if last {
		q.sinceAck++
		idle := m.index == len(q.messages())-1
		p.AckReq = q.sinceAck >= s.AckEvery || idle || int(end.Diff(q.una)) >= s.Window
		if p.AckReq {
			q.sinceAck = 0
		}
	} else if int(end.Diff(q.una)) >= s.Window {
		p.AckReq = true
	}
	if q.next.Diff(q.newest) < 0 {
		p.Again = true
		p.GoBack = q.back
		if b := q.back; b.First == nil {
			b.First, b.Time = p, s.now
			s.result.GoBacks = append(s.result.GoBacks, b)
		}
	}
	q.next = end
	if end.Diff(q.newest) > 0 {
		q.newest = end
	}
	if q.expiry == 0 {
		q.startTimer()
	}
	return p, true
}

// reads returns the number of unfinished READs and atomics before psn.
func (q *queuePair) reads(psn bth.PSN) int {
	n := 0
	for _, m := range q.messages()[q.oldest:] {
		if m.First.Diff(psn) >= 0 {
			break
		}
		if m.Verb.Data() && m.got < m.PSNs {
			n++
		}
	}
	return n
}

// opcode returns the opcode of a request packet.
func opcode(v Verb, first, last bool) bth.Opcode {
	switch v {
	case Read:
		return bth.RCReadRequest
	case Atomic:
		return bth.RCFetchAdd
	case Send:
		return position(first, last, bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast, bth.RCSendOnly)
	case Write:
		return position(first, last, bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteOnly)
	}
	return position(first, last, bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLastImm, bth.RCWriteOnlyImm)
}

func position(first, last bool, f, m, l, o bth.Opcode) bth.Opcode {
	switch {
	case first && last:
		return o
	case first:
		return f
	case last:
		return l
	}
	return m
}

// answered handles a response.
func (q *queuePair) answered(p *Sent) {
	if p.PSN.Diff(q.una) < 0 && !p.AETH.Syndrome.IsNak() || p.PSN.Diff(q.newest) >= 0 {
		return // ghost acknowledgement (IBA 9.7.5.1.1), or beyond everything sent
	}
	if p.Opcode != bth.RCAck {
		q.data(p)
		return
	}
	s := p.AETH.Syndrome
	if s.IsAck() {
		q.acknowledge(p.PSN.Add(1), p)
		return
	}
	// A NAK acknowledges everything before its PSN (IBA 9.7.5.2.3).
	if p.PSN.Diff(q.una) < 0 || !q.acknowledge(p.PSN, p) {
		return
	}
	if s.IsRNR() {
		q.rnr(p)
		return
	}
	q.goBack(SequenceNAK, p)
}

// data handles a READ or atomic response.
func (q *queuePair) data(p *Sent) {
	if !q.acknowledge(p.PSN, p) {
		return
	}
	m := q.messageOf(p.PSN)
	if m == nil || !m.Verb.Data() || int(p.PSN.Diff(m.First)) != m.got {
		return
	}
	m.got++
	q.advance(p.PSN.Add(1), p)
}

// acknowledge handles that p acknowledges all PSNs before psn. It returns false if READ or atomic
// responses before psn are missing: an implied NAK (IBA 9.7.5.1.2).
func (q *queuePair) acknowledge(psn bth.PSN, p *Sent) bool {
	for _, m := range q.messages()[q.oldest:] {
		if m.First.Diff(psn) >= 0 {
			break
		}
		if missing := m.First.Add(uint32(m.got)); m.Verb.Data() && m.got < m.PSNs && missing.Diff(psn) < 0 {
			q.advance(missing, p)
			if !q.implied {
				q.implied = true
				q.goBack(ImpliedNAK, p)
			}
			return false
		}
	}
	q.advance(psn, p)
	return true
}

// advance moves una to psn, because of the response p.
func (q *queuePair) advance(psn bth.PSN, p *Sent) {
	if psn.Diff(q.una) <= 0 {
		return
	}
	q.una = psn
	q.retried, q.implied = false, false
	if q.next.Diff(psn) < 0 {
		q.next = psn
	}
	all := q.messages()
	for q.oldest < len(all) && all[q.oldest].End().Diff(psn) <= 0 {
		all[q.oldest].Done, all[q.oldest].By = q.sim.now, p
		q.oldest++
	}
	if q.una == q.newest {
		q.expiry = 0
	} else if !q.waiting {
		q.startTimer()
	}
	q.wantRequest()
}

// rnr handles an RNR NAK.
func (q *queuePair) rnr(p *Sent) {
	if q.waiting {
		return
	}
	q.waiting = true
	q.expiry = 0
	q.sim.after(bth.RNRDelay(p.AETH.Syndrome.RNRTimer())+q.sim.upTo(2000), func() {
		q.waiting = false
		q.begin(RNRNAK, p)
	})
}

// goBack begins a go-back after the time that the device needs to react.
func (q *queuePair) goBack(c Cause, p *Sent) {
	d := &q.sim.Device
	if q.waiting || q.pending || d.OneRetry && q.retried && c != Timeout {
		return
	}
	if c == Timeout || d.Reaction == 0 {
		q.begin(c, p)
		return
	}
	q.pending = true
	missing := q.una
	q.sim.after(q.sim.upTo(d.Reaction), func() {
		q.pending = false
		if !q.waiting && q.una == missing { // otherwise it arrived in the meantime
			q.begin(c, p)
		}
	})
}

// begin begins a go-back.
func (q *queuePair) begin(c Cause, p *Sent) {
	q.startTimer()
	if q.una == q.newest {
		q.expiry = 0
		return
	}
	to := q.una
	if m := q.messageOf(to); q.sim.Device.WholeRead && m.Verb == Read {
		to, m.got = m.First, 0
		q.una = to
	}
	q.back = &GoBack{Conn: q.conn, From: q.end, Cause: c, Event: p, To: to, Until: q.newest}
	q.next = to
	q.retried = true
	q.wantRequest()
}

// startTimer starts the acknowledge timer anew.
func (q *queuePair) startTimer() {
	t := float64(int64(4096) << q.sim.Timeout)
	q.expiry = q.sim.now + int64(t*(1+q.sim.Jitter*q.sim.rand.Float64()))
	q.tick()
}

// tick schedules an event at the expiry of the timer.
func (q *queuePair) tick() {
	if q.ticking {
		return
	}
	q.ticking = true
	q.sim.after(q.expiry-q.sim.now, func() {
		q.ticking = false
		switch {
		case q.expiry == 0:
		case q.expiry > q.sim.now:
			q.tick()
		default:
			q.expiry = 0
			q.goBack(Timeout, nil)
			if q.expiry == 0 && q.una != q.newest && !q.waiting {
				q.startTimer()
			}
		}
	})
}
