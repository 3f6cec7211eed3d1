package responder

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// admit are the rules on which packets a responder processes at all, by fields of the BTH
// and the addresses (IBA 9.6, A17.4).
var admit = []conformance.Case{
	{
		ID: "responder/1", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet with a transport header version other than 0 is dropped.",
		Source: "IBA 9.6.1.1; Linux rxe_recv.c, hdr_check",
		Run: dropped("a request of another transport header version", writes(span(1, 16), func(p *wire.Packet, v int) {
			p.Version = uint8(v)
		})),
	},
	{
		ID: "responder/2", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request to queue pair 0, to one that does not exist, or to the multicast queue pair is dropped.",
		Source: "IBA 9.6.1.1, CA17-33; Linux rxe_recv.c, hdr_check",
		Run: dropped("a request to a queue pair that does not exist", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for _, q := range []bth.QPN{0, c.Target.QPN ^ 0x800000, c.Target.QPN ^ 0x6a5000, 0xfffffe, 0xffffff} {
				p := c.Write(0, pattern(8, 1))
				p.DestQP = q
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "responder/3", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request with a P_Key that the queue pair does not have is dropped.",
		Source: "IBA 9.6.1.3, 10.9.3, A17.4.7; Linux rxe_recv.c, check_keys",
		Run:    dropped("a request with another P_Key", withPKeys(0x1234, 0x9234, 0xfffe, 0x7ffe, 0xbfff)),
	},
	{
		ID: "responder/4", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request with an invalid P_Key, whose lower 15 bits are 0, is dropped.",
		Source: "IBA 10.9.1; Linux rxe_loc.h, pkey_match",
		Run:    dropped("a request with an invalid P_Key", withPKeys(0, 0x8000)),
	},
	{
		ID: "responder/5", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request of a limited member of the partition is executed by a full member.",
		Source: "IBA 10.9.3; Linux rxe_loc.h, pkey_match",
		Run:    executed(withPKeys(0x7fff, 0xffff)),
	},
	{
		ID: "responder/6", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request from an address that is not the peer's is dropped.",
		Source: "IBA 9.6.1.2.3, A17.4.4.2; Linux rxe_recv.c, check_addr",
		Run: func(t *conformance.T) {
			c := t.Connect()
			other, err := wire.OtherAddr(t.Link(), c.Target.Addr)
			if err != nil {
				t.NotRun("%v", err)
			}
			msn := c.Control().AETH.MSN
			p := c.Write(0, pattern(8, 1))
			p.Src = other
			c.Send(p)
			c.Quiet("a request from another address")
			if r := c.Alive("a request from another address"); r.AETH.MSN != next(msn) {
				t.Fail("the MSN is %d, it was %d before a request from elsewhere and a correct one", r.AETH.MSN, msn)
			}
		},
	},
	{
		ID: "responder/7", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet with an opcode of UC or UD is dropped.",
		Source: "IBA 9.6.1.1; Linux rxe_recv.c, check_type_state",
		Run: dropped("a packet of another transport service", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for op := range bth.Opcodes() {
				if s := op.Info().Service; s != bth.ServiceUC && s != bth.ServiceUD {
					continue
				}
				p := c.Write(0, pattern(8, 1))
				p.Opcode = op
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "responder/8", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FECN and BECN in a request do not keep it from being executed.",
		Source: "IBA CA17-29",
		Run: executed(writes(span(0, 4), func(p *wire.Packet, bits int) {
			p.FECN, p.BECN = bits&1 != 0, bits&2 != 0
		})),
	},
	{
		ID: "responder/9", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Reserved bits of the BTH are ignored.",
		Source: "IBA 9.2",
		Run: executed(writes(slices.Concat(span(34, 40), span(65, 72)), func(p *wire.Packet, bit int) {
			p.Edit = flip(bit)
		})),
	},
	{
		ID: "responder/10", Level: conformance.Should, Program: conformance.WriteServer,
		Rule:   "A request is executed with MigReq 1, as RNICs set it, and 0, as Linux rxe does.",
		Source: "IBA 9.2.4, 17.2.8; Linux rxe_req.c, init_req_packet",
		Run: executed(writes(span(0, 4), func(p *wire.Packet, n int) {
			p.MigReq = n%2 == 0
		})),
	},
	{
		ID: "responder/11", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The solicited event bit does not change how a request is answered.",
		Source: "IBA 9.2.3",
		Run: executed(one(func(c *conformance.Conn) *wire.Packet {
			p := c.Write(0, pattern(8, 1))
			p.Solicited = true
			return p
		})),
	},
	{
		ID: "responder/12", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Type of service (or traffic class) and TTL (or hop limit) may change from packet to packet.",
		Source: "IBA CA17-22: the ICRC does not cover them",
		Run: executed(func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for _, x := range []struct{ tos, ttl uint8 }{{0, 1}, {0xb8, 255}, {0x02, 3}, {0xfc, 64}} {
				p := c.Write(0, pattern(8, 1))
				p.TOS, p.TTL = x.tos, x.ttl
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "responder/13", Level: conformance.Should, Program: conformance.WriteServer,
		Rule:   "The UDP source port may be any, and another one in each packet.",
		Source: "IBA A17.3.2.1, A17.9.4: the source port is chosen for load balancing only",
		Run: executed(func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for n := range uint16(3) {
				p := c.Write(0, pattern(8, 1))
				p.SrcPort = 0xc000 + uint16(c.Local.PSN)&0xfff + n
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "responder/14", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Responses to requests that the device has not sent do not disturb the responder.",
		Source: "IBA 9.7.5.1.4: ghost acknowledgements",
		Run: dropped("a response without a request", func(c *conformance.Conn) []*wire.Packet {
			ack, atomic, data := c.Ack(c.PSN, bth.AckUnlimited), c.Packet(bth.RCAtomicAck, c.PSN),
				c.Packet(bth.RCReadResponseOnly, c.PSN)
			atomic.AETH.Syndrome, data.AETH.Syndrome = bth.AckUnlimited, bth.AckUnlimited
			data.Payload = pattern(8, 1)
			nak := c.Ack(c.Target.PSN, bth.NakPSNSequence)
			return []*wire.Packet{ack, atomic, data, nak}
		}),
	},
}

// withPKeys returns WRITEs with the P_Keys.
func withPKeys(keys ...uint16) packets {
	return func(c *conformance.Conn) []*wire.Packet {
		var all []*wire.Packet
		for _, k := range keys {
			p := c.Write(0, pattern(8, 1))
			p.PKey = k
			all = append(all, p)
		}
		return all
	}
}
