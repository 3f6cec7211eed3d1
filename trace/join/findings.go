package join

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// findings makes events of the findings of p that tell about losses.
func (j *joiner) findings(i int, p *trace.Packet, d *direction, c class) {
	for k := range p.Findings {
		switch p.Findings[k].Kind {
		case trace.Gap:
			j.hole(i, p, d, c)
		case trace.Reordered:
			if e := j.events.byKey[eventKey{d, p.BTH.PSN, c}]; e != nil {
				e.holes[i] = 0
			}
		case trace.SequenceNAK:
			j.nak(i, p, d)
		case trace.AfterTimeout:
			j.timeout(i, p, d)
		}
	}
}

// nakKey identifies a sequence NAK whose connection may be unknown.
type nakKey struct {
	src, dst netip.Addr
	psn      bth.PSN
}

// maxNAKs is the maximum number of NAKs whose connection is unknown. At the limit, all are
// forgotten.
const maxNAKs = 1 << 14

// nak processes a sequence NAK.
func (j *joiner) nak(i int, p *trace.Packet, d *direction) {
	b := d.answered(i, p)
	if b == nil {
		if len(j.naks) >= maxNAKs {
			clear(j.naks)
		}
		k := nakKey{d.Src, d.Dst, p.BTH.PSN}
		n := j.naks[k]
		n[i] = p.Number
		j.naks[k] = n
		return
	}
	b.naked[i] = psn{p.BTH.PSN, true}
	e := j.event(eventKey{b, p.BTH.PSN, requests}, j.inA(j.at, i), func(e *event) bool { return e.naks[i] > 0 })
	e.naks[i] = p.Number
	j.remember(e)
}

// remember sets e.sent to the latest transmission of the PSN.
func (j *joiner) remember(e *event) {
	if e.sent == [2]int{} {
		e.sent = j.recent.find(e.eventKey)
	}
}

// timeout processes a retransmission of which the Analyzer found no NAK.
func (j *joiner) timeout(i int, p *trace.Packet, d *direction) {
	if n := d.expected(i, requests); n.known && p.BTH.PSN.Diff(n.PSN) >= 0 {
		return // it continues the retransmission of earlier packets
	}
	e := j.event(eventKey{d, p.BTH.PSN, requests}, j.inA(j.at, i), func(e *event) bool { return e.again[i] > 0 })
	e.again[i] = p.Number
	j.remember(e)
	k := nakKey{d.Dst, d.Src, p.BTH.PSN}
	if n := j.naks[k]; n[i] > 0 && e.naks[i] == 0 {
		e.naks[i] = n[i] // the NAK of a connection of which one direction was unknown
		n[i] = 0
		j.naks[k] = n
		return
	}
	d.awaitProof(i, e)
	if !e.timeout {
		e.timeout = true
		e.until = d.next[i][requests].PSN
		for s := range e.acked {
			e.acked[s] = d.covers(s, p.BTH.PSN)
		}
	}
	// The other capture point may have been passed by further packets when the retransmission
	// passes it.
	e.acked[i] = d.covers(i, p.BTH.PSN)
	if n := d.next[i][requests].PSN; n.Diff(e.until) > 0 {
		e.until = n
	}
}

// maxTimeouts is the maximum number of timeouts of a direction and a capture that awaitProof
// remembers.
const maxTimeouts = 8

// awaitProof remembers a timeout in the capture of side until a response shows whether the requests
// had arrived.
func (d *direction) awaitProof(side int, e *event) {
	list := d.timeouts[side]
	if len(list) == 0 {
		d.resent[side] = psn{}
	}
	if len(list) == maxTimeouts {
		list = append(list[:0], list[1:]...)
	}
	d.timeouts[side] = append(list, e)
}

// resend notes that the capture of side has a retransmission of PSN s.
func (d *direction) resend(side int, s bth.PSN) {
	if r := &d.resent[side]; !r.known || s.Diff(r.PSN) >= 0 {
		*r = psn{s.Add(1), true}
	}
}

// judgeTimeouts handles p, a response to requests of d. A responder accepts requests in order only.
// If the first acknowledgement after a timeout includes a request that was not sent again yet, all
// requests before that had arrived when they were sent first.
func (d *direction) judgeTimeouts(side int, p *trace.Packet, c class) {
	list := d.timeouts[side]
	if len(list) == 0 || c == acks && !p.BTH.AETH.Syndrome.IsAck() {
		return
	}
	end, r := p.BTH.PSN.Add(1), d.resent[side]
	arrived := c == acks && r.known && end.Diff(r.PSN) > 0
	d.timeouts[side] = slices.DeleteFunc(list, func(e *event) bool {
		covered := end.Diff(e.psn) > 0
		e.late = e.late || covered && arrived
		return covered
	})
}

// readResent handles a READ request p whose PSN was missing before: the other missing PSNs of it
// are those of its responses.
func (j *joiner) readResent(i int, p *trace.Packet, d *direction) {
	m := p.Message
	if p.BTH.Opcode.Info().Op != bth.OpReadRequest || m == nil {
		return
	}
	if e := j.events.byKey[eventKey{d, p.BTH.PSN, requests}]; e == nil || e.holes[i] == 0 {
		return
	}
	for k := range min(maxHole, max(0, m.Last.Diff(p.BTH.PSN))) {
		if e := j.events.byKey[eventKey{d, p.BTH.PSN.Add(uint32(k) + 1), requests}]; e != nil {
			e.holes[i] = 0
		}
	}
}

// Limits of the events that packets with missing packets before them may make: up to maxHole each,
// but a capture in which most packets are missing has nothing to tell. Further holes are ignored,
// like those of more than maxHole packets.
const (
	holeBurst     = 1 << 18 // events at any time
	holePerPacket = 2       // events in addition, per packet of a capture
)

// hole makes events of the packets that are missing before p.
func (j *joiner) hole(i int, p *trace.Packet, d *direction, c class) {
	from := d.expected(i, c)
	if n := d.naked[i]; from.known && n.known && c == requests && p.BTH.PSN.Diff(from.PSN) <= 0 {
		from, d.naked[i] = n, psn{} // the first retransmission is missing
	}
	n := int(p.BTH.PSN.Diff(from.PSN))
	if !from.known || n <= 0 || n > maxHole || n > j.holes {
		return
	}
	j.holes -= n
	for k := range n {
		e := j.event(eventKey{d, from.Add(uint32(k)), c}, j.inA(j.at, i),
			func(e *event) bool { return e.holes[i] > 0 })
		e.holes[i] = p.Number
	}
}
