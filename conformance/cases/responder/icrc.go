package responder

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// icrc are the rules of the invariant CRC (IBA 7.8.1, A17.3.3).
var icrc = []conformance.Case{
	{
		ID: "icrc/1", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet with a wrong bit in its ICRC is dropped without a reply and changes nothing.",
		Source: "IBA CA17-24; Linux rxe_icrc.c, rxe_icrc_check",
		Run: dropped("a request with a wrong ICRC", writes(span(0, 32), func(p *wire.Packet, bit int) {
			p.Damage = flip(-1 - bit)
		})),
	},
	{
		ID: "icrc/2", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet whose payload or pad was changed after the ICRC was computed is dropped.",
		Source: "IBA 7.8.1, CA17-24",
		Run: dropped("a request whose payload does not fit its ICRC", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for _, bit := range []int{-33, -41, -64, -96} { // pad, last byte, middle, first byte
				p := c.Write(0, pattern(7, 1))
				p.Damage = flip(bit)
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "icrc/3", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet whose BTH or RETH was changed after the ICRC was computed is dropped.",
		Source: "IBA 7.8.1, CA17-22, CA17-24",
		Run: dropped("a request whose headers do not fit its ICRC", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			// SE, M, and a bit of each of P_Key, AckReq, PSN, address, key and length.
			for _, bit := range []int{8, 9, 16, 64, 95, 159, 191, 223} {
				p := c.Write(0, pattern(8, 1))
				p.Damage = flip(bit)
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "icrc/4", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The seven reserved bits beside AckReq are covered by the ICRC.",
		Source: "IBA CA17-22",
		Run: dropped("a request with a changed reserved bit", writes(span(65, 72), func(p *wire.Packet, bit int) {
			p.Damage = flip(bit)
		})),
	},
	{
		ID: "icrc/5", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FECN, BECN and the six reserved bits beside them may change on the way: the ICRC does not cover them.",
		Source: "IBA CA17-22, CA17-29",
		Run: executed(writes(span(32, 40), func(p *wire.Packet, bit int) {
			p.Damage = flip(bit)
		})),
	},
	{
		ID: "icrc/6", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The ICRC is the last four bytes, with the least significant byte first: the other order is wrong.",
		Source: "IBA 7.8.1, A17.3.3; Linux rxe_icrc.c, rxe_icrc_check",
		Run: dropped("a request with the bytes of the ICRC reversed", one(func(c *conformance.Conn) *wire.Packet {
			p := c.Write(0, pattern(8, 1))
			p.Damage = func(b []byte) []byte {
				slices.Reverse(b[len(b)-bth.ICRCLen:])
				return b
			}
			return p
		})),
	},
	{
		ID: "icrc/7", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet that is too short for its headers and the ICRC is dropped.",
		Source: "IBA CA17-24; Linux rxe_recv.c, rxe_rcv",
		Run: dropped("a packet that is too short", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for _, n := range []int{0, 1, 8, 11, 12, 15, 16, 28, 31} {
				p := c.Write(0, nil)
				p.Damage = func(b []byte) []byte { return b[:n] }
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "icrc/8", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet without an ICRC is dropped.",
		Source: "IBA CA17-24",
		Run: dropped("a request without an ICRC", one(func(c *conformance.Conn) *wire.Packet {
			p := c.Write(0, pattern(64, 1))
			p.SkipICRC = true
			return p
		})),
	},
	{
		ID: "icrc/9", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "Responses of each length have the right ICRC, which covers the pad.",
		Source: "IBA 7.8.1, CA17-22",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for n := range 17 {
				c.Fetch(uint64(n), n) // an ICRC that is wrong ends the case
			}
			c.Fetch(0, 2*c.MTU()+5)
		},
	},
	{
		ID: "icrc/10", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "ACKs and NAKs have the right ICRC.",
		Source: "IBA 7.8.1, CA17-22",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for range 16 {
				c.Do(c.Write(0, pattern(8, 1)))
			}
			p := c.Write(0, pattern(8, 1))
			p.RETH.RKey ^= 0x5a5a5a00
			c.Send(p)
			c.Expect(conformance.NakOf(p.PSN, bth.NakRemoteAccess))
		},
	},
	{
		ID: "icrc/11", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "An atomic with a wrong ICRC is not executed.",
		Source: "IBA CA17-24",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			before, _ := c.Atomic(c.FetchAdd(0, 0))
			p := c.FetchAdd(0, 1)
			p.Damage = flip(-1)
			c.Send(p)
			c.Quiet("an atomic with a wrong ICRC")
			if after, _ := c.Atomic(c.FetchAdd(0, 0)); after != before {
				t.Fail("the value was %#x before an atomic with a wrong ICRC, and is %#x after it", before, after)
			}
		},
	},
}
