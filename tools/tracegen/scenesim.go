package main

import (
	"container/heap"

	"github.com/gorxe/gorxe/bth"
)

// simulation is hosts that are connected to one switch, and the connections between them. Times
// are in nanoseconds. It uses no floating point numbers, so that the frames are the same on every
// machine.
type simulation struct {
	*generator
	speed  int64 // of every port, in Gbit/s
	now    int64
	events events
	count  uint64 // events scheduled
	hosts  []*host
	ports  []int64 // time at which the switch's port to a host becomes idle
	conns  []*conn
}

// flight is a packet between two hosts.
type flight struct {
	bth.Packet
	from, to int // hosts
	conn     *conn
	class    byte // traffic class
}

// lose counts p as lost.
func (p *flight) lose() {
	p.conn.lost++
	if p.Opcode.Info().Request() {
		p.conn.lostRequests++
	}
}

// event is a call of do at a time. n is the order of scheduling.
type event struct {
	at int64
	n  uint64
	do func()
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e *events) Push(x any) { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// at schedules do.
func (s *simulation) at(t int64, do func()) {
	s.count++
	heap.Push(&s.events, event{max(t, s.now), s.count, do})
}

// run runs the simulation until no packet is left and no timer runs.
func (s *simulation) run() {
	for s.events.Len() > 0 && s.err == nil {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
}

const (
	// propagation is the time that a packet takes over a cable and through the NIC at its end.
	propagation = 600
	// markMin and markMax are queue lengths of a switch port in bytes: from markMin on, a packet is
	// marked with a probability that rises to markMost percent at markMax; beyond, each is marked
	// (random early detection; ECN: RFC 3168 section 5).
	markMin, markMax, markMost = 20_000, 80_000, 20
)

// bits returns the time that a port takes to send n bytes.
func (s *simulation) bits(n int) int64 { return int64(n) * 8 / s.speed }

// frameLen returns the length of the frame of p in bytes.
func frameLen(p *bth.Packet) int {
	return etherLen + bth.IPv4HeaderLen + bth.UDPHeaderLen + p.Opcode.Info().HeaderLen + len(p.Payload) +
		int(p.Pad) + bth.ICRCLen
}

// cross sends p, which has left its host, through the switch. The capture point is the output of
// the switch: frames have the ECN marks of the switch.
func (s *simulation) cross(p *flight) {
	if s.loses(p.from) {
		p.lose()
		return
	}
	s.at(s.now+propagation, func() {
		n := frameLen(&p.Packet)
		idle := &s.ports[p.to]
		leaves := s.now + s.bits(n)
		if p.Opcode != bth.CNP { // CNPs have their own queue, which is served first
			s.mark(p, max(0, *idle-s.now)*s.speed/8)
			leaves = max(s.now, *idle) + s.bits(n)
			*idle = leaves
		}
		s.at(leaves, func() {
			s.generator.now = float64(s.now)
			s.send(address(p.from), address(p.to), p.conn.port, p.class, &p.Packet)
			if s.loses(p.to) {
				p.lose()
				return
			}
			s.at(s.now+propagation, func() { s.hosts[p.to].receive(p) })
		})
	})
}

// loses reports whether the cable of a host loses a packet.
func (s *simulation) loses(host int) bool {
	rate := s.hosts[host].loss
	return rate > 0 && s.rand.IntN(1000) < rate
}

// mark marks p, which finds queue bytes before it.
func (s *simulation) mark(p *flight, queue int64) {
	if p.class&3 == 0 || queue < markMin {
		return
	}
	if queue >= markMax || s.rand.Int64N(100*(markMax-markMin)) < markMost*(queue-markMin) {
		p.class |= 3
	}
}

// host sends the packets of its connections in turn, responses first.
type host struct {
	sim       *simulation
	number    int
	loss      int // packets per thousand that its cable loses, in each direction
	conns     []*conn
	turn      int
	responses []*flight
	busy      bool
	wakeAt    int64 // time of the earliest scheduled wake, 0: none
}

// wake sends the next packet, if the port is idle and there is one.
func (h *host) wake() {
	if h.busy {
		return
	}
	s := h.sim
	p := h.next()
	if p == nil {
		return
	}
	h.busy = true
	s.at(s.now+s.bits(frameLen(&p.Packet)), func() {
		h.busy = false
		s.cross(p)
		h.wake()
	})
}

func (h *host) next() *flight {
	if len(h.responses) > 0 {
		p := h.responses[0]
		h.responses = h.responses[1:]
		return p
	}
	var earliest int64
	for range h.conns {
		c := h.conns[h.turn]
		h.turn = (h.turn + 1) % len(h.conns)
		p, at := c.request()
		if p != nil {
			return p
		}
		if at > 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	if earliest > 0 && (h.wakeAt <= h.sim.now || earliest < h.wakeAt) {
		h.wakeAt = earliest
		h.sim.at(earliest, h.wake)
	}
	return nil
}

// receive handles a packet that has arrived.
func (h *host) receive(p *flight) {
	c := p.conn
	if p.class&3 == 3 {
		c.notify(p)
	}
	switch info := p.Opcode.Info(); {
	case p.Opcode == bth.CNP:
		c.rate.cut(h.sim.now)
	case info.Request():
		c.execute(&p.Packet)
	default:
		c.answered(&p.Packet)
	}
	h.wake()
}
