package gobackn

import "github.com/gorxe/gorxe/bth"

// host sends the packets of its queue pairs in turn.
type host struct {
	sim   *sim
	index int
	qpn   bth.QPN
	id    uint16
	busy  bool
	turns []turn // queue pairs with something to send
	ready []*Sent
}

// turn is what a queue pair wants to send: requests or responses.
type turn struct {
	q         *queuePair
	responses bool
}

// route is a segment of the network from one host to another.
type route struct {
	from, to int
	behind   bool
}

const (
	byteTime  = 0.08 // nanoseconds per byte, 100 Gbit/s
	headers   = 14 + 20 + 8 + 12 + 4 + 24
	copyDelay = 3_000  // maximum time from a packet to its copy, in nanoseconds
	lateDelay = 12_000 // maximum time by which a reordered packet is late
)

// wake makes h send if it is not sending.
func (h *host) wake() {
	if h.busy {
		return
	}
	p := h.nextPacket()
	if p == nil {
		return
	}
	h.busy = true
	s := h.sim
	p.Time = s.now
	p.ID = h.id
	if !s.ZeroID {
		h.id++
	} else {
		p.ID = 0
	}
	s.result.Sent = append(s.result.Sent, p)
	s.enter(p)
	s.after(max(1, int64(float64(p.Len+headers)*byteTime)), func() {
		h.busy = false
		h.wake()
	})
}

// nextPacket returns the next packet to send, or nil.
func (h *host) nextPacket() *Sent {
	if len(h.ready) > 0 {
		p := h.ready[0]
		h.ready = h.ready[1:]
		return p
	}
	for len(h.turns) > 0 {
		t := h.turns[0]
		h.turns = h.turns[1:]
		var p *Sent
		var more bool
		if t.responses {
			p, more = t.q.nextResponse()
			t.q.respTurn = more
		} else {
			p, more = t.q.nextRequest()
			t.q.reqTurn = more
		}
		if more {
			h.turns = append(h.turns, t)
		}
		if p != nil {
			return p
		}
	}
	return nil
}

// enter sends p into the segment before the capture point.
func (s *sim) enter(p *Sent) {
	s.pass(p, &s.Before, false, 0, func(late bool, copy int) {
		p.Passed = true
		s.capture(p, late, copy)
		s.pass(p, &s.Behind, true, copy, func(bool, int) {
			p.Delivered++
			s.deliver(p)
		})
	})
}

// pass sends copy number n of p through a segment: arrive is called for each copy that arrives.
func (s *sim) pass(p *Sent, g *Segment, behind bool, n int, arrive func(late bool, copy int)) {
	if s.chance(g.Loss) {
		return
	}
	if s.chance(g.CE) {
		p.marked[n] = true
	}
	at := s.now + int64(g.Delay) + s.upTo(g.Jitter)
	r := route{p.Conn.Ends[p.From].Host, p.Conn.Ends[1-p.From].Host, behind}
	late := s.chance(g.Reorder)
	if late {
		at += 1 + s.upTo(lateDelay)
	} else {
		at = max(at, s.last[r]+1)
		s.last[r] = at
	}
	s.after(at-s.now, func() { arrive(late, n) })
	if s.chance(g.Duplicate) && n < len(p.marked)-1 {
		p.marked[n+1] = p.marked[n]
		s.after(at-s.now+1+s.upTo(copyDelay), func() { arrive(true, n+1) })
	}
}

// capture records p.
func (s *sim) capture(p *Sent, late bool, copy int) {
	if s.now < int64(s.Start) || s.chance(s.Missed) {
		return
	}
	s.result.Frames = append(s.result.Frames,
		Frame{Time: s.now, CE: p.marked[copy], Copy: copy > 0, Late: late, Sent: p})
	p.Frames = append(p.Frames, len(s.result.Frames))
}

// deliver hands p to the queue pair that it is for.
func (s *sim) deliver(p *Sent) {
	q := s.queues[2*p.Conn.Number+1-p.From]
	if p.marked[0] || p.marked[1] || p.marked[2] {
		q.notify()
	}
	switch i := p.Opcode.Info(); {
	case i.Service == bth.ServiceCNP:
	case i.Request():
		q.receive(p)
	default:
		q.answered(p)
	}
}
