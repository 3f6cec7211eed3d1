package main

import "github.com/gorxe/gorxe/bth"

// conn is a reliable connection: a requester at host from and a responder at host to. Its messages
// are all READs, or all SENDs and WRITEs. PSNs are counted from 0; start is added in packets.
type conn struct {
	sim          *simulation
	from, to     int
	srcQP, dstQP bth.QPN
	port         uint16
	start        bth.PSN
	traffic

	// Requester.
	messages  []sceneMessage
	completed int // messages
	una, next int // oldest unacknowledged PSN, and PSN to send next
	end       int // PSN after the posted messages
	posts     int // messages posted
	rate      rate
	waitUntil int64 // end of the wait after an RNR NAK
	deadline  int64 // time at which the acknowledge timer expires, 0: stopped
	ticking   bool  // an event for deadline is scheduled
	failed    bool

	// Truth about the connection, for tests.
	lost, lostRequests, timeouts, notified uint64

	// Responder.
	expected   int
	done       int // messages executed
	refused    bool
	nakked     bool
	notifiedAt int64
}

// traffic is what a connection does.
type traffic struct {
	op     bth.Operation // OpSend, OpWrite or OpReadRequest
	length int           // of each message, in bytes
	count  int           // number of messages
	begin  int64         // time of the first post, in nanoseconds
	every  int64         // time between posts
	// hello makes the first message helloLen bytes long.
	hello bool
	// receives is the time between the posts of receives; 0: a receive is always posted.
	receives int64
	// badKey is the number of the message from which on the key is wrong, 0: none.
	badKey int
}

// sceneMessage is a message of a conn: its first PSN, the PSN after it, and its length in bytes.
type sceneMessage struct{ first, end, length int }

const (
	sceneWindow = 64 // maximum PSNs in flight
	ackEvery    = 16 // packets of a message per request for an acknowledgement
	// ackTimer is the acknowledge timer in nanoseconds: 4.096 µs × 2^9 (IBA 9.7.6.1.3).
	ackTimer = 4096 << 9
	rnrCode  = 10 // timer code of RNR NAKs: 320 µs (IBA table 45)
	cnpClass = 48 << 2
	helloLen = 64
	goodKey  = 0x1e00
	staleKey = 0x1d00
)

// post posts a message, and schedules the next post.
func (c *conn) post() {
	if c.failed {
		return
	}
	length := c.length
	if c.hello && c.posts == 0 {
		length = helloLen
	}
	n := (length + c.sim.mtu - 1) / c.sim.mtu
	c.messages = append(c.messages, sceneMessage{c.end, c.end + n, length})
	c.end += n
	c.posts++
	if c.posts < c.count {
		c.sim.at(c.sim.now+c.every, c.post)
	}
	c.sim.hosts[c.from].wake()
}

// message returns the number of the message that has psn, from the first one that may.
func (c *conn) message(psn, from int) int {
	for c.messages[from].end <= psn {
		from++
	}
	return from
}

// request returns the next request. Without one it returns the time at which there may be one, 0
// if that depends on other packets.
func (c *conn) request() (p *flight, at int64) {
	s := c.sim
	switch {
	case c.failed || c.next >= c.end || c.next-c.una >= sceneWindow:
		return nil, 0
	case c.op == bth.OpReadRequest && c.next > c.una:
		return nil, 0
	case c.waitUntil > s.now:
		return nil, c.waitUntil
	case c.rate.free > s.now:
		return nil, c.rate.free
	}
	number := c.message(c.next, c.completed)
	m := c.messages[number]
	i := c.next - m.first
	p = c.packet(c.from, bth.Packet{PSN: c.psn(c.next), DestQP: c.dstQP})
	p.RETH = bth.RETH{VA: 0x7f0000000000, RKey: goodKey + uint32(c.dstQP), DMALen: uint32(m.length)}
	if c.badKey > 0 && number+1 >= c.badKey {
		p.RETH.RKey = staleKey + uint32(c.dstQP)
	}
	if c.op == bth.OpReadRequest {
		p.Opcode = bth.RCReadRequest
		c.next = m.end
	} else {
		p.Opcode = requests[c.op][place(i, m.end-m.first)]
		p.Payload = s.payload[:min(s.mtu, m.length-i*s.mtu)]
		p.Pad = uint8(-len(p.Payload) & 3)
		p.AckReq = c.next == m.end-1 || i%ackEvery == ackEvery-1
		c.next++
	}
	c.rate.sent(s.now, frameLen(&p.Packet))
	if c.deadline == 0 {
		c.startTimer()
	}
	return p, 0
}

// packet returns a packet that the host sends for c.
func (c *conn) packet(host int, p bth.Packet) *flight {
	p.PKey, p.MigReq = 0xffff, true
	return &flight{Packet: p, from: host, to: c.from + c.to - host, conn: c, class: trafficClass}
}

func (c *conn) psn(n int) bth.PSN { return c.start.Add(uint32(n)) }

// place returns where packet i of n is in its message.
func place(i, n int) bth.Position { return (&pair{packets: n}).position(i) }

// execute handles a request at the responder.
func (c *conn) execute(p *bth.Packet) {
	n := int(p.PSN.Diff(c.start))
	switch {
	case n > c.expected:
		if !c.nakked && !c.refused {
			c.nakked = true
			c.respond(bth.RCAck, c.expected, bth.NakPSNSequence)
		}
		return
	case n < c.expected:
		if p.AckReq {
			c.respond(bth.RCAck, c.expected-1, bth.AckUnlimited)
		}
		return
	}
	m := c.messages[c.done]
	c.nakked = false
	if c.receives > 0 && n == m.first && c.sim.now < int64(c.done+1)*c.receives {
		c.refused = true
		c.respond(bth.RCAck, n, bth.RNR(rnrCode))
		return
	}
	c.refused = false
	if p.RETH.RKey != goodKey+uint32(c.dstQP) {
		c.refused = true // an error: the queue pair executes nothing more
		c.respond(bth.RCAck, n, bth.NakRemoteAccess)
		return
	}
	if c.op == bth.OpReadRequest {
		c.expected, c.done = m.end, c.done+1
		c.read(m)
		return
	}
	c.expected++
	if c.expected == m.end {
		c.done++
	}
	if p.AckReq {
		c.respond(bth.RCAck, n, bth.AckUnlimited)
	}
}

// read sends the responses to the READ m.
func (c *conn) read(m sceneMessage) {
	ops := [4]bth.Opcode{bth.First: bth.RCReadResponseFirst, bth.Middle: bth.RCReadResponseMiddle,
		bth.Last: bth.RCReadResponseLast, bth.Only: bth.RCReadResponseOnly}
	for i := range m.end - m.first {
		c.respond(ops[place(i, m.end-m.first)], m.first+i, bth.AckUnlimited)
	}
}

func (c *conn) respond(op bth.Opcode, psn int, s bth.Syndrome) {
	p := c.packet(c.to, bth.Packet{Opcode: op, PSN: c.psn(psn), DestQP: c.srcQP,
		AETH: bth.AETH{Syndrome: s, MSN: uint32(c.done)}})
	if op != bth.RCAck {
		m := c.messages[c.done-1]
		p.Payload = c.sim.payload[:min(c.sim.mtu, m.length-(psn-m.first)*c.sim.mtu)]
		p.Pad = uint8(-len(p.Payload) & 3)
	}
	h := c.sim.hosts[c.to]
	h.responses = append(h.responses, p)
	h.wake()
}

// notify sends a CNP for the marked request p, unless one was sent recently (IBA A17.9.3).
func (c *conn) notify(p *flight) {
	s := c.sim
	if !p.Opcode.Info().Request() || c.notifiedAt > 0 && s.now-c.notifiedAt < cnpInterval {
		return
	}
	c.notifiedAt = s.now
	c.notified++
	n := c.packet(c.to, bth.Packet{Opcode: bth.CNP, DestQP: c.srcQP, BECN: true})
	n.class = cnpClass
	h := s.hosts[c.to]
	h.responses = append(h.responses, n)
}

// answered handles a response at the requester.
func (c *conn) answered(p *bth.Packet) {
	n := int(p.PSN.Diff(c.start))
	if p.Opcode == bth.RCAck && !p.AETH.Syndrome.IsAck() {
		c.acknowledge(n) // a NAK acknowledges everything before its PSN (IBA 9.7.5.2.3)
		switch s := p.AETH.Syndrome; {
		case s.IsRNR():
			c.waitUntil, c.deadline = c.sim.now+bth.RNRDelay(s.RNRTimer()), 0
		case s != bth.NakPSNSequence:
			c.failed, c.deadline = true, 0
		}
		c.next = c.una
		return
	}
	c.acknowledge(n + 1)
}

// acknowledge handles that everything before PSN n is acknowledged.
func (c *conn) acknowledge(n int) {
	if n <= c.una {
		return
	}
	c.una, c.next = n, max(n, c.next)
	for c.completed < len(c.messages) && c.messages[c.completed].end <= n {
		c.completed++
	}
	c.deadline = 0
	if c.una < c.next {
		c.startTimer()
	}
}

// startTimer starts the acknowledge timer.
func (c *conn) startTimer() {
	c.deadline = c.sim.now + ackTimer
	c.tick()
}

// tick schedules an event at the expiry of the timer.
func (c *conn) tick() {
	if c.ticking {
		return
	}
	c.ticking = true
	c.sim.at(c.deadline, func() {
		c.ticking = false
		switch {
		case c.deadline == 0:
		case c.deadline > c.sim.now:
			c.tick()
		default:
			c.next, c.deadline = c.una, 0
			c.timeouts++
			c.sim.hosts[c.from].wake()
		}
	})
}
