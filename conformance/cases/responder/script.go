package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// This file has the parts that scripts of several cases share.

// packets returns the packets that a case sends.
type packets func(c *conformance.Conn) []*wire.Packet

// one returns the packets of a case that sends a single packet.
func one(build func(c *conformance.Conn) *wire.Packet) packets {
	return func(c *conformance.Conn) []*wire.Packet { return []*wire.Packet{build(c)} }
}

// writes returns the packets of a case that sends a WRITE of eight bytes for each value: change
// sets what depends on the value.
func writes(values []int, change func(p *wire.Packet, value int)) packets {
	return func(c *conformance.Conn) []*wire.Packet {
		var all []*wire.Packet
		for _, v := range values {
			p := c.Write(0, pattern(8, 1))
			change(p, v)
			all = append(all, p)
		}
		return all
	}
}

// span returns the numbers from the first to before the end.
func span(first, end int) []int {
	var all []int
	for n := first; n < end; n++ {
		all = append(all, n)
	}
	return all
}

// executed returns a script: each of the packets, a correct request of one packet without a
// response of its own, must be acknowledged and increment the MSN.
func executed(build packets) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		msn := c.Control().AETH.MSN
		for _, p := range build(c) {
			p.PSN = c.PSN
			msn = next(msn)
			if r := c.Do(p); r.AETH.MSN != msn {
				t.Fail("the MSN is %d after the request instead of %d", r.AETH.MSN, msn)
			}
		}
	}
}

// dropped returns a script: the packets, all with the expected PSN, must get no reply and not
// change the connection.
func dropped(what string, build packets) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		msn := c.Control().AETH.MSN
		c.SendAll(build(c)...)
		c.Quiet(what)
		if r := c.Alive(what); r.AETH.MSN != next(msn) {
			t.Fail("the MSN is %d after %s and one request, it was %d before", r.AETH.MSN, what, msn)
		}
	}
}

// refuses returns a script: the last of the packets, which get consecutive PSNs, must be answered
// with the NAK, after which the queue pair is in the error state. The packets before it are
// correct.
func refuses(nak bth.Syndrome, what string, build packets) func(t *conformance.T) {
	return refusesWith(nak, nak, what, "", build)
}

// refusesWith is refuses if the specification leaves it open which of two NAKs is sent: the second
// makes the case unclear. why says when.
func refusesWith(nak, other bth.Syndrome, what, why string, build packets) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		c.Control()
		all := build(c)
		last := len(all) - 1
		c.InOrder(all...)
		c.SendAll(all...)
		psn := all[last].PSN
		allowed := conformance.NakOf(psn, nak)
		if other != nak {
			allowed = conformance.Either(allowed, conformance.NakOf(psn, other))
		}
		r := c.Await(allowed, psn)
		c.PSN = psn
		c.Dead(what)
		if r.AETH.Syndrome != nak {
			t.Unclear("the answer to %s is %v; another answer is %v: %s", what, r.AETH.Syndrome, nak, why)
		}
	}
}

// droppedOrRefused returns a script for a packet that the specification does not want executed, but
// that respected implementations answer in different ways: with silence, or with NAK invalid
// request and the error state.
func droppedOrRefused(what string, build packets) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		c.Control()
		for _, p := range build(c) {
			p.PSN = c.PSN
			c.Send(p)
			r := c.Response(t.Silence())
			switch {
			case r == nil:
				continue
			case r.Err != nil || !conformance.NakOf(c.PSN, bth.NakInvalidRequest).Is(r):
				t.Fail("%s must be dropped or refused as invalid, but came %s", what, conformance.Describe(r))
			}
			c.Dead(what)
			t.Unclear("%s is refused with %v; another answer is silence", what, r.AETH.Syndrome)
		}
		c.Alive(what)
		t.Unclear("%s is dropped; another answer is %v", what, bth.NakInvalidRequest)
	}
}

// next returns the MSN after msn.
func next(msn uint32) uint32 { return (msn + 1) & 0xffffff }

// pattern returns n bytes, none of which is 0 and which differ from those of another seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)*7 + seed | 1
	}
	return b
}

// flip returns a function for wire.Packet.Edit or Damage that flips one bit; bit 0 is the highest
// bit of the first byte. It counts from the end if bit is negative.
func flip(bit int) func(b []byte) []byte {
	return func(b []byte) []byte {
		at := bit
		if at < 0 {
			at += 8 * len(b)
		}
		b[at/8] ^= 0x80 >> (at % 8)
		return b
	}
}
