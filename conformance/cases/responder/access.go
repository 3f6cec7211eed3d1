package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// whyRights is the reason for which one of two NAKs may be sent for an operation that neither the
// queue pair nor the region permits.
const whyRights = "the rights of the queue pair, or those of the region, are checked first"

// access are the rules of keys, ranges and rights (IBA 9.7.4.1.4, 9.7.4.1.5).
var access = []conformance.Case{
	{
		ID: "responder/75", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE with an unknown R_Key is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_resp.c, check_rkey",
		Run:    refuses(bth.NakRemoteAccess, "an unknown R_Key", write(8, func(h *bth.RETH) { h.RKey ^= 0x5a5a5a00 })),
	},
	{
		ID: "responder/76", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ with an unknown R_Key is refused with NAK remote access error and gets no data.",
		Source: "IBA 9.7.4.1.5; Linux rxe_resp.c, check_rkey",
		Run:    refuses(bth.NakRemoteAccess, "an unknown R_Key", read(8, func(h *bth.RETH) { h.RKey ^= 0x5a5a5a00 })),
	},
	{
		ID: "responder/77", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE with the index of an R_Key and another key part, the lower 8 bits, is refused.",
		Source: "IBA 9.7.4.1.5, 10.6.3.3; Linux rxe_mr.c, lookup_mr",
		Run: refuses(bth.NakRemoteAccess, "an R_Key with another key part",
			write(8, func(h *bth.RETH) { h.RKey ^= 0xff })),
	},
	{
		ID: "responder/78", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE that ends one byte behind the region is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_mr.c, mr_check_range",
		Run: refuses(bth.NakRemoteAccess, "a WRITE past the end", one(func(c *conformance.Conn) *wire.Packet {
			return c.Write(c.Target.Length-7, pattern(8, 1))
		})),
	},
	{
		ID: "responder/79", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ that ends one byte behind the region is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_mr.c, mr_check_range",
		Run: refuses(bth.NakRemoteAccess, "a READ past the end", one(func(c *conformance.Conn) *wire.Packet {
			return c.Read(1, uint32(c.Target.Length))
		})),
	},
	{
		ID: "responder/80", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The last byte of the region belongs to it.",
		Source: "IBA 9.7.4.1.5",
		Run: executed(one(func(c *conformance.Conn) *wire.Packet {
			return c.Write(c.Target.Length-1, pattern(1, 1))
		})),
	},
	{
		ID: "responder/81", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE whose range wraps at 2^64 is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_mr.c, mr_check_range",
		Run:    refuses(bth.NakRemoteAccess, "a WRITE that wraps", write(16, func(h *bth.RETH) { h.VA = 1<<64 - 8 })),
	},
	{
		ID: "responder/82", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ whose range wraps at 2^64, or ends there, is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_mr.c, mr_check_range",
		Run: func(t *conformance.T) {
			refuses(bth.NakRemoteAccess, "a READ that wraps", read(16, func(h *bth.RETH) { h.VA = 1<<64 - 8 }))(t)
			refuses(bth.NakRemoteAccess, "a READ that ends at 2^64", read(8, func(h *bth.RETH) { h.VA = 1<<64 - 8 }))(t)
		},
	},
	{
		ID: "responder/83", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE of several packets is checked with its FIRST: its whole range must be in the region.",
		Source: "IBA 9.7.4.1.5; Linux rxe_resp.c, check_rkey",
		Run: refuses(bth.NakRemoteAccess, "FIRST of a WRITE that ends behind the region",
			one(func(c *conformance.Conn) *wire.Packet {
				return c.WriteParts(c.Target.Length-uint64(2*c.MTU()), pattern(2*c.MTU()+4, 1))[0]
			})),
	},
	{
		ID: "responder/84", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A WRITE to a region without the right to write is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_mr.c, lookup_mr",
		Run: refusesWith(bth.NakRemoteAccess, bth.NakInvalidRequest, "a WRITE without the right",
			whyRights, write(8, nil)),
	},
	{
		ID: "responder/85", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A READ at a queue pair without the right is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.4; Linux rxe_resp.c, check_qp_attr_access",
		Run: refusesWith(bth.NakInvalidRequest, bth.NakRemoteAccess, "a READ without the right",
			whyRights, read(8, nil)),
	},
	{
		ID: "responder/86", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A WRITE at a queue pair without the right is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.4; Linux rxe_resp.c, check_qp_attr_access",
		Run: refusesWith(bth.NakInvalidRequest, bth.NakRemoteAccess, "a WRITE without the right",
			whyRights, write(8, nil)),
	},
	{
		ID: "responder/87", Level: conformance.Shall, Program: conformance.Pingpong,
		Rule:   "A queue pair without remote rights refuses a WRITE, also one of 0 bytes.",
		Source: "IBA 9.7.4.1.4; Linux rxe_resp.c, check_qp_attr_access",
		Run: func(t *conformance.T) {
			for _, n := range []int{8, 0} {
				refusesWith(bth.NakInvalidRequest, bth.NakRemoteAccess, "a WRITE without the right", whyRights,
					write(n, nil))(t)
			}
		},
	},
	{
		ID: "responder/88", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE of 0 bytes is executed with any address and key.",
		Source: "IBA C9-88; Linux rxe_resp.c, check_rkey",
		Run: executed(func(c *conformance.Conn) []*wire.Packet {
			unknown := func(h *bth.RETH) { h.VA, h.RKey = 1<<64-1, ^h.RKey }
			return append(write(0, unknown)(c), write(0, func(h *bth.RETH) { h.VA, h.RKey = 0, 0 })(c)...)
		}),
	},
	{
		ID: "responder/89", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A SEND with invalidate of a key that does not exist ends the connection.",
		Source: "IBA 9.9.6.3: class J; Linux rxe_resp.c, invalidate_rkey",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Request(bth.RCSendOnlyInv)
			p.Payload, p.InvalidateRKey = pattern(8, 1), c.Target.RKey^0x5a5a5a00
			c.Send(p)
			r := c.Expect(conformance.Either(conformance.NakOf(p.PSN, bth.NakRemoteAccess),
				conformance.NakOf(p.PSN, bth.NakInvalidRequest), conformance.AckOf(p.PSN)))
			if r.AETH.Syndrome.IsAck() {
				c.PSN = c.PSN.Add(1)
			}
			c.Dead("a SEND with invalidate of an unknown key")
			t.Unclear("the reply is %v, then the queue pair is in the error state: Linux rxe acknowledges first, "+
				"others send a NAK", r.AETH.Syndrome)
		},
	},
	{
		ID: "responder/90", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "After a fatal NAK no request is answered, new, duplicate or with another opcode.",
		Source: "IBA 9.7.5.2, 10.3.1; Linux rxe_qp.c, rxe_qp_error",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			good, bad := c.Write(0, pattern(8, 1)), c.Write(0, pattern(8, 1))
			c.Do(good)
			bad.PSN, bad.RETH.RKey = c.PSN, bad.RETH.RKey^0x5a5a5a00
			c.Send(bad)
			c.Expect(conformance.NakOf(c.PSN, bth.NakRemoteAccess))
			ahead := c.Write(0, pattern(8, 1))
			ahead.PSN = c.PSN.Add(1)
			c.SendAll(good, bad, ahead, c.Write(0, nil), c.Message(nil), c.Read(0, 0), c.FetchAdd(0, 0))
			c.Dead("a fatal NAK")
		},
	},
	{
		ID: "responder/91", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Requests in flight behind a refused one are not executed and get no NAK of their own.",
		Source: "IBA 9.7.5.2; Linux rxe_resp.c, do_class_ac_error",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			bad := c.Write(0, pattern(8, 1))
			bad.RETH.RKey ^= 0x5a5a5a00
			all := c.InOrder(bad, c.Write(0, pattern(8, 2)), c.Write(0, pattern(8, 3)), c.Write(0, pattern(8, 4)))
			bad.AckReq = true
			c.SendAll(all...)
			c.Expect(conformance.NakOf(bad.PSN, bth.NakRemoteAccess))
			c.Quiet("a request behind a refused one")
		},
	},
}

// write returns WRITE ONLY of n bytes with a RETH that change has changed.
func write(n int, change func(h *bth.RETH)) packets {
	return one(func(c *conformance.Conn) *wire.Packet {
		p := c.Write(0, pattern(n, 1))
		if change != nil {
			change(&p.RETH)
		}
		return p
	})
}

// read returns a READ request of n bytes with a RETH that change has changed.
func read(n uint32, change func(h *bth.RETH)) packets {
	return one(func(c *conformance.Conn) *wire.Packet {
		p := c.Read(0, n)
		if change != nil {
			change(&p.RETH)
		}
		return p
	})
}
