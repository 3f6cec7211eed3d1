package main

import "github.com/gorxe/gorxe/bth"

// pair is a connection: the queue pair at src sends requests to the one at dst, one message at a
// time.
type pair struct {
	src, dst     [4]byte
	srcQP, dstQP bth.QPN
	port         uint16

	first   bth.PSN // PSN of the message's first packet
	op      bth.Operation
	length  int    // of the message, in bytes
	packets int    // request packets, or response packets of a READ
	next    int    // index of the packet that is sent next
	arrived int    // packets that arrived in order
	state   state  // what happens next
	marked  int    // packets until the CNP for a marked packet; 0: none due
	msn     uint32 // number of completed messages
	retryAt float64
}

// state is what the next frame of a connection is.
type state uint8

const (
	sending   state = iota // a request packet
	acking                 // the acknowledgement of the message
	refusing               // a sequence NAK
	waiting                // nothing until the requester's timer expires
	answering              // a READ response
)

const (
	trafficClass = 26<<2 | 2 // DSCP 26 and ECT(0)
	cnpDelay     = 3         // frames of the connection between a marked packet and its CNP
)

// begin chooses the next message.
func (p *pair) begin(g *generator) {
	p.op = [...]bth.Operation{bth.OpWrite, bth.OpWrite, bth.OpSend, bth.OpReadRequest}[g.rand.IntN(4)]
	p.length = 1 + g.rand.IntN(g.message)
	p.packets = (p.length + g.mtu - 1) / g.mtu
	p.next, p.arrived, p.state = 0, 0, sending
}

// step writes the next frame of the connection.
func (p *pair) step(g *generator) {
	if p.marked > 0 {
		if p.marked--; p.marked == 0 {
			g.send(p.dst, p.src, p.port, 48<<2, &bth.Packet{Opcode: bth.CNP, PKey: 0xffff, DestQP: p.srcQP,
				BECN: true, MigReq: true})
			return
		}
	}
	switch p.state {
	case sending:
		p.request(g)
	case acking:
		p.respond(g, bth.RCAck, p.first.Add(uint32(p.packets)-1), bth.AckUnlimited, p.msn+1, nil)
		p.end(g)
	case refusing:
		p.respond(g, bth.RCAck, p.first.Add(uint32(p.arrived)), bth.NakPSNSequence, p.msn, nil)
		p.next, p.state = p.arrived, sending
	case waiting:
		if g.now < p.retryAt {
			g.now += frameGap
			return
		}
		p.next, p.state = p.arrived, sending
		p.request(g)
	case answering:
		p.answer(g)
	}
}

// end ends the message and begins the next one.
func (p *pair) end(g *generator) {
	p.msn = (p.msn + 1) & 0xffffff
	p.first = p.first.Add(uint32(p.packets))
	p.begin(g)
}

// position returns where packet i of the message is in it.
func (p *pair) position(i int) bth.Position {
	switch {
	case p.packets == 1:
		return bth.Only
	case i == 0:
		return bth.First
	case i == p.packets-1:
		return bth.Last
	}
	return bth.Middle
}

// bytes returns the payload of packet i of the message.
func (p *pair) bytes(g *generator, i int) []byte {
	n := min(g.mtu, p.length-i*g.mtu)
	at := (i * 61) & (g.mtu - 1)
	return g.payload[at : at+n]
}

var requests = map[bth.Operation][4]bth.Opcode{
	bth.OpWrite: {bth.First: bth.RCWriteFirst, bth.Middle: bth.RCWriteMiddle, bth.Last: bth.RCWriteLast,
		bth.Only: bth.RCWriteOnly},
	bth.OpSend: {bth.First: bth.RCSendFirst, bth.Middle: bth.RCSendMiddle, bth.Last: bth.RCSendLast,
		bth.Only: bth.RCSendOnly},
}

// request sends the next request packet, or loses it.
func (p *pair) request(g *generator) {
	k := bth.Packet{PKey: 0xffff, MigReq: true, DestQP: p.dstQP, PSN: p.first.Add(uint32(p.next))}
	k.RETH = bth.RETH{VA: 0x7f0000000000, RKey: uint32(p.dstQP), DMALen: uint32(p.length)}
	if p.op == bth.OpReadRequest {
		k.Opcode = bth.RCReadRequest
		g.send(p.src, p.dst, p.port, trafficClass, &k)
		p.next, p.state = 0, answering
		return
	}
	i := p.next
	p.next++
	last := i == p.packets-1
	lost := g.rand.Float64() < g.loss
	if !lost {
		at := p.position(i)
		k.Opcode, k.AckReq, k.Payload = requests[p.op][at], last, p.bytes(g, i)
		k.Pad = uint8(-len(k.Payload) & 3)
		class := byte(trafficClass)
		if p.marked == 0 && g.rand.Float64() < g.mark {
			class, p.marked = class|3, cnpDelay
		}
		g.send(p.src, p.dst, p.port, class, &k)
	}
	switch {
	case !lost && i == p.arrived:
		p.arrived++
	case !lost:
		p.state = refusing
		return
	}
	switch {
	case p.arrived == p.packets:
		p.state = acking
	case last:
		p.state, p.retryAt = waiting, g.now+timeout
	}
}

// answer sends the next READ response.
func (p *pair) answer(g *generator) {
	i := p.next
	p.next++
	op := [4]bth.Opcode{bth.First: bth.RCReadResponseFirst, bth.Middle: bth.RCReadResponseMiddle,
		bth.Last: bth.RCReadResponseLast, bth.Only: bth.RCReadResponseOnly}[p.position(i)]
	p.respond(g, op, p.first.Add(uint32(i)), bth.AckUnlimited, p.msn+1, p.bytes(g, i))
	if p.next == p.packets {
		p.end(g)
	}
}

// respond sends a packet to the requester.
func (p *pair) respond(g *generator, op bth.Opcode, psn bth.PSN, s bth.Syndrome, msn uint32, payload []byte) {
	g.send(p.dst, p.src, p.port, trafficClass, &bth.Packet{
		Opcode: op, PKey: 0xffff, MigReq: true, DestQP: p.srcQP, PSN: psn, Payload: payload,
		Pad: uint8(-len(payload) & 3), AETH: bth.AETH{Syndrome: s, MSN: msn & 0xffffff},
	})
}
