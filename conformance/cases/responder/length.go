package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// lengths are the rules on lengths of packets and messages (IBA 9.7.4.1.6).
var lengths = []conformance.Case{
	{
		ID: "responder/56", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FIRST with less than the path MTU is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a short FIRST",
			cutWrite(0, func(c *conformance.Conn) int { return c.MTU() - 4 })),
	},
	{
		ID: "responder/57", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FIRST with more than the path MTU is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a long FIRST",
			cutWrite(0, func(c *conformance.Conn) int { return c.MTU() + 4 })),
	},
	{
		ID: "responder/58", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FIRST with a pad is refused with NAK invalid request: its length is not the path MTU.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "FIRST with a pad",
			cutWrite(0, func(c *conformance.Conn) int { return c.MTU() - 1 })),
	},
	{
		ID: "responder/59", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "MIDDLE with less than the path MTU is refused with NAK invalid request; its MSN counts no message.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a short MIDDLE",
			cutWrite(1, func(c *conformance.Conn) int { return c.MTU() / 2 })),
	},
	{
		ID: "responder/60", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "MIDDLE with more than the path MTU is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a long MIDDLE",
			cutWrite(1, func(c *conformance.Conn) int { return c.MTU() + 8 })),
	},
	{
		ID: "responder/61", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "LAST without data is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "LAST without data",
			cutWrite(2, func(*conformance.Conn) int { return 0 })),
	},
	{
		ID: "responder/62", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "LAST with more than the path MTU is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a long LAST",
			cutWrite(2, func(c *conformance.Conn) int { return c.MTU() + 4 })),
	},
	{
		ID: "responder/63", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "WRITE ONLY with more than the path MTU is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a long ONLY", one(func(c *conformance.Conn) *wire.Packet {
			return c.Write(0, pattern(c.MTU()+4, 1))
		})),
	},
	{
		ID: "responder/64", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "SEND ONLY with more than the path MTU is refused with NAK invalid request.",
		Source: "IBA C9-92; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refuses(bth.NakInvalidRequest, "a long ONLY", one(func(c *conformance.Conn) *wire.Packet {
			return c.Message(pattern(c.MTU()+4, 1))
		})),
	},
	{
		ID: "responder/65", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "WRITE ONLY with more data than its DMA length is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.6; Linux rxe_resp.c, check_rkey",
		Run:    refuses(bth.NakInvalidRequest, "more data than the DMA length", withDMALen(16, 8)),
	},
	{
		ID: "responder/66", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "WRITE ONLY with less data than its DMA length is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.6; Linux rxe_resp.c, check_rkey",
		Run:    refuses(bth.NakInvalidRequest, "less data than the DMA length", withDMALen(8, 16)),
	},
	{
		ID: "responder/67", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A LAST that makes a WRITE longer than its DMA length is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.6; Linux rxe_resp.c, check_rkey",
		Run:    refuses(bth.NakInvalidRequest, "LAST beyond the DMA length", parts(0, -4)),
	},
	{
		ID: "responder/68", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A LAST that leaves a WRITE shorter than its DMA length is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.6; Linux rxe_resp.c, check_rkey",
		Run:    refuses(bth.NakInvalidRequest, "LAST short of the DMA length", parts(0, 4)),
	},
	{
		ID: "responder/69", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE of more than 2^31 bytes is refused with NAK invalid request.",
		Source: "IBA C9-94; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refusesWith(bth.NakInvalidRequest, bth.NakRemoteAccess, "a WRITE of 2^31+1 bytes",
			"the length exceeds the region too", parts(1<<31+1, 0)),
	},
	{
		ID: "responder/70", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ of more than 2^31 bytes is refused with NAK invalid request.",
		Source: "IBA C9-94; Linux rxe_resp.c, rxe_resp_check_length",
		Run: refusesWith(bth.NakInvalidRequest, bth.NakRemoteAccess, "a READ of 2^31+1 bytes",
			"the length exceeds the region too",
			one(func(c *conformance.Conn) *wire.Packet { return c.Read(0, 1<<31+1) })),
	},
	{
		ID: "responder/71", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "WRITE ONLY whose pad count is wrong is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.6; Linux rxe_resp.c, check_rkey",
		Run: refuses(bth.NakInvalidRequest, "a wrong pad count", one(func(c *conformance.Conn) *wire.Packet {
			p := c.Write(0, pattern(8, 1))
			p.Edit = setPad(1)
			return p
		})),
	},
	{
		ID: "responder/72", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet with more pad than data, or of a length that is no multiple of 4, is dropped or refused.",
		Source: "IBA 9.2.5, 9.7.4.1.6",
		Run: droppedOrRefused("a packet with an impossible pad", func(c *conformance.Conn) []*wire.Packet {
			short, odd := c.Write(0, nil), c.Write(0, pattern(8, 1))
			short.RETH.DMALen, short.Edit = 4, setPad(3)
			odd.RETH.DMALen, odd.Edit = 7, func(b []byte) []byte { return b[:len(b)-1] }
			return []*wire.Packet{short, odd}
		}),
	},
	{
		ID: "responder/73", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A SEND longer than its receive is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.6, 9.7.5.2; Linux rxe_resp.c, send_data_in",
		Run: refuses(bth.NakInvalidRequest, "a SEND that is too long", func(c *conformance.Conn) []*wire.Packet {
			return c.MessageParts(pattern(c.Target.ReceiveLen+1, 1))
		}),
	},
	{
		ID: "responder/74", Level: conformance.Observed, Program: conformance.WriteServer,
		Rule:   "The value of pad bytes in requests does not matter.",
		Source: "IBA 9.2.5",
		Run: func(t *conformance.T) {
			executed(one(func(c *conformance.Conn) *wire.Packet {
				p := c.Write(0, pattern(5, 1))
				p.Edit = func(b []byte) []byte {
					copy(b[len(b)-3:], "abc")
					return b
				}
				return p
			}))(t)
			t.Observe("a request with pad bytes other than 0 was executed")
		},
	},
}

// cutWrite returns the packets of a WRITE of three packets up to packet last, which has as many
// bytes as length returns.
func cutWrite(last int, length func(c *conformance.Conn) int) packets {
	return func(c *conformance.Conn) []*wire.Packet {
		all := c.WriteParts(0, pattern(3*c.MTU(), 1))[:last+1]
		all[last].Payload = pattern(length(c), 2)
		return all
	}
}

// parts returns the packets of a WRITE with the DMA length, or, if it is 0, that of two packets and
// a half plus more. Of a WRITE that is longer, only the FIRST packet is returned.
func parts(dmaLen uint32, more int) packets {
	return func(c *conformance.Conn) []*wire.Packet {
		n := 2*c.MTU() + c.MTU()/2
		all := c.WriteParts(0, pattern(n, 1))
		if dmaLen > 0 {
			all[0].RETH.DMALen = dmaLen
			return all[:1]
		}
		all[0].RETH.DMALen = uint32(n + more)
		return all
	}
}

// withDMALen returns WRITE ONLY with n bytes of data and another DMA length.
func withDMALen(n int, dmaLen uint32) packets {
	return one(func(c *conformance.Conn) *wire.Packet {
		p := c.Write(0, pattern(n, 1))
		p.RETH.DMALen = dmaLen
		return p
	})
}

// setPad returns a function for wire.Packet.Edit that sets the pad count and changes no length.
func setPad(n byte) func(b []byte) []byte {
	return func(b []byte) []byte {
		b[1] = b[1]&^0x30 | n<<4
		return b
	}
}
