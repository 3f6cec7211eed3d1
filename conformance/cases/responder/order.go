package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// order are the rules on the order of opcodes (IBA 9.7.4.1.3).
var order = []conformance.Case{
	{
		ID: "responder/44", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "WRITE MIDDLE without FIRST is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run:    refuses(bth.NakInvalidRequest, "MIDDLE without FIRST", full(bth.RCWriteMiddle)),
	},
	{
		ID: "responder/45", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "WRITE LAST without FIRST is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run:    refuses(bth.NakInvalidRequest, "LAST without FIRST", full(bth.RCWriteLast)),
	},
	{
		ID: "responder/46", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "SEND MIDDLE without FIRST is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run:    refuses(bth.NakInvalidRequest, "MIDDLE without FIRST", full(bth.RCSendMiddle)),
	},
	{
		ID: "responder/47", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "SEND LAST without FIRST is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run:    refuses(bth.NakInvalidRequest, "LAST without FIRST", full(bth.RCSendLast)),
	},
	{
		ID: "responder/48", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FIRST of a WRITE in the middle of another WRITE is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run: refuses(bth.NakInvalidRequest, "FIRST in the middle of a message",
			inside(func(c *conformance.Conn) *wire.Packet { return c.WriteParts(0, pattern(2*c.MTU(), 1))[0] })),
	},
	{
		ID: "responder/49", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "ONLY of a WRITE in the middle of another WRITE is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run: refuses(bth.NakInvalidRequest, "ONLY in the middle of a message",
			inside(func(c *conformance.Conn) *wire.Packet { return c.Write(0, pattern(8, 1)) })),
	},
	{
		ID: "responder/50", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "MIDDLE of a WRITE in the middle of a SEND is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run: refuses(bth.NakInvalidRequest, "MIDDLE of a WRITE in a SEND", func(c *conformance.Conn) []*wire.Packet {
			return []*wire.Packet{c.MessageParts(pattern(3*c.MTU(), 1))[0], full(bth.RCWriteMiddle)(c)[0]}
		}),
	},
	{
		ID: "responder/51", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "SEND ONLY in the middle of a WRITE is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run: refuses(bth.NakInvalidRequest, "SEND in the middle of a WRITE",
			inside(func(c *conformance.Conn) *wire.Packet { return c.Message(pattern(8, 1)) })),
	},
	{
		ID: "responder/52", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A READ request in the middle of a WRITE is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run: refuses(bth.NakInvalidRequest, "a READ in the middle of a WRITE",
			inside(func(c *conformance.Conn) *wire.Packet { return c.Read(0, 0) })),
	},
	{
		ID: "responder/53", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "ONLY of a SEND in the middle of another SEND is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.3; Linux rxe_resp.c, check_op_seq",
		Run: refuses(bth.NakInvalidRequest, "ONLY in the middle of a SEND", func(c *conformance.Conn) []*wire.Packet {
			return []*wire.Packet{c.MessageParts(pattern(3*c.MTU(), 1))[0], c.Message(pattern(8, 1))}
		}),
	},
	{
		ID: "responder/54", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A reserved opcode of RC is not executed: it is dropped, or refused with NAK invalid request.",
		Source: "IBA 9.2.1, 9.7.4.1.4; Linux rxe_opcode.c has no entry for these",
		Run: droppedOrRefused("a reserved opcode", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for _, op := range []bth.Opcode{0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f} {
				p := c.Write(0, pattern(32, 1))
				p.Opcode = op
				all = append(all, p)
			}
			return all
		}),
	},
	{
		ID: "responder/55", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet with an opcode of a reserved or unknown transport service is dropped.",
		Source: "IBA 9.2.1, 9.6.1.1; Linux rxe_recv.c, check_type_state",
		Run: dropped("an opcode of no service of RoCEv2", func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for op := range 256 {
				if rc := op < 0x20; rc || bth.Opcode(op).Valid() {
					continue
				}
				p := c.Write(0, pattern(32, 1))
				p.Opcode = bth.Opcode(op)
				all = append(all, p)
			}
			return all
		}),
	},
}

// full returns a packet of one path MTU with an opcode that has no RETH.
func full(op bth.Opcode) packets {
	return one(func(c *conformance.Conn) *wire.Packet {
		p := c.Request(op)
		p.Payload = pattern(c.MTU(), 1)
		return p
	})
}

// inside returns the FIRST packet of a WRITE of three packets and what build returns.
func inside(build func(c *conformance.Conn) *wire.Packet) packets {
	return func(c *conformance.Conn) []*wire.Packet {
		return []*wire.Packet{c.WriteParts(0, pattern(3*c.MTU(), 1))[0], build(c)}
	}
}
