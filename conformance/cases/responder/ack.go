package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// acknowledges are the rules of acknowledgements and message sequence numbers (IBA 9.7.5.1, 9.7.7).
var acknowledges = []conformance.Case{
	{
		ID: "responder/15", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request with AckReq is acknowledged, also those before it that have none.",
		Source: "IBA 9.7.5.1.2; Linux rxe_resp.c, acknowledge",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			for range 4 {
				all := c.InOrder(c.Write(0, pattern(8, 1)), c.Write(8, pattern(8, 2)), c.Write(0, nil),
					c.Write(0, pattern(8, 3)))
				if r := c.Do(all...); (r.AETH.MSN-msn)&0xffffff != 4 {
					t.Fail("the MSN of the ACK is %d after 4 messages, it was %d before", r.AETH.MSN, msn)
				} else {
					msn = r.AETH.MSN
				}
			}
		},
	},
	{
		ID: "responder/16", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "AckReq is answered in the middle of a message too; the MSN does not count the message yet.",
		Source: "IBA 9.7.5.1.2, 9.7.7; Linux rxe_resp.c, acknowledge",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			all := c.WriteParts(0, pattern(4*c.MTU(), 1))
			for i, p := range all {
				p.AckReq = true
				if i == len(all)-1 {
					msn = next(msn)
				}
				if r := c.Do(p); r.AETH.MSN != msn {
					t.Fail("the MSN is %d after packet %d of %d, expected was %d", r.AETH.MSN, i+1, len(all), msn)
				}
			}
		},
	},
	{
		ID: "responder/17", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE increments the MSN by one, whatever its number of packets and its length.",
		Source: "IBA 9.7.7",
		Run: func(t *conformance.T) {
			c := t.Connect()
			countsOne(t, c, c.Control().AETH.MSN, (*conformance.Conn).WriteParts)
		},
	},
	{
		ID: "responder/18", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A SEND increments the MSN by one, whatever its number of packets and its length.",
		Source: "IBA 9.7.7",
		Run: func(t *conformance.T) {
			c := t.Connect()
			countsOne(t, c, c.Control().AETH.MSN, func(c *conformance.Conn, _ uint64, b []byte) []*wire.Packet {
				return c.MessageParts(b)
			})
		},
	},
	{
		ID: "responder/19", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ increments the MSN by one when its request is executed: all its responses have this MSN.",
		Source: "IBA C9-148; Linux rxe_resp.c, execute",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			for _, n := range []int{0, 1, c.MTU(), c.MTU() + 1, 5 * c.MTU()} {
				msn = next(msn)
				if _, got := c.Fetch(0, n); got != msn {
					t.Fail("the MSN is %d in the response to a READ of %d bytes instead of %d", got, n, msn)
				}
			}
		},
	},
	{
		ID: "responder/20", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The MSN of a fatal NAK counts the messages before the refused one.",
		Source: "IBA 9.7.5.2, 9.7.7",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			bad := c.Write(0, pattern(8, 1))
			bad.RETH.RKey ^= 0x5a5a5a00
			all := c.InOrder(c.Write(0, pattern(8, 1)), c.Write(8, pattern(8, 2)), bad)
			c.SendAll(all...)
			r := c.Await(conformance.NakOf(bad.PSN, bth.NakRemoteAccess), bad.PSN)
			if r.AETH.MSN != next(next(msn)) {
				t.Fail("the MSN of the NAK is %d, it was %d before 2 executed messages", r.AETH.MSN, msn)
			}
		},
	},
	{
		ID: "responder/21", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule: "The BTH of an acknowledgement has version 0, pad 0, the queue pair of the requester, no SE and no " +
			"AckReq, and reserved bits 0.",
		Source: "IBA 9.2, 9.7.5; figure of the ACKNOWLEDGE packet",
		Run: func(t *conformance.T) {
			c := t.Connect()
			checkHeader(t, c.Control())
			c.Do(c.Write(0, pattern(8, 1)))
			p := c.Write(0, pattern(8, 1))
			p.PSN = c.PSN.Add(1)
			c.Send(p)
			checkHeader(t, c.Await(conformance.NakOf(c.PSN, bth.NakPSNSequence), c.PSN))
		},
	},
	{
		ID: "responder/22", Level: conformance.Observed, Program: conformance.SendServer,
		Rule:   "The credit count of an ACK is 31 (no end-to-end flow control) or the code of a number of receives.",
		Source: "IBA 9.7.7.2, table of credit codes",
		Run: func(t *conformance.T) {
			c := t.Connect()
			r := c.Control()
			if n := r.AETH.Syndrome.Credits(); n == 31 {
				t.Observe("no end-to-end credits (31)")
			} else {
				t.Observe("credit code %d with %d receives", n, c.Target.Receives)
			}
		},
	},
	{
		ID: "responder/23", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A SEND with immediate data is executed, as ONLY and as LAST packet.",
		Source: "IBA 9.4.1, 9.3.6",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			only := c.Request(bth.RCSendOnlyImm)
			only.Imm, only.Payload = 0x01020304, pattern(5, 1)
			if r := c.Do(only); r.AETH.MSN != next(msn) {
				t.Fail("the MSN is %d after a SEND with immediate data, it was %d", r.AETH.MSN, msn)
			}
			all := c.MessageParts(pattern(2*c.MTU(), 1))
			all[1].Opcode, all[1].Imm = bth.RCSendLastImm, 0x05060708
			c.Do(all...)
		},
	},
	{
		ID: "responder/24", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A SEND without data is executed: it takes a receive and is acknowledged.",
		Source: "IBA 9.7.4.1.6: ONLY has 0 bytes to the path MTU",
		Run:    executed(one(func(c *conformance.Conn) *wire.Packet { return c.Message(nil) })),
	},
	{
		ID: "responder/25", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Requests of each length from 0 to 17 bytes are executed with the pad that belongs to it.",
		Source: "IBA 9.2.5",
		Run: executed(func(c *conformance.Conn) []*wire.Packet {
			var all []*wire.Packet
			for n := range 18 {
				all = append(all, c.Write(uint64(n), pattern(n, 1)))
			}
			return all
		}),
	},
	{
		ID: "responder/26", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A WRITE with immediate data is executed; without data it needs no valid key.",
		Source: "IBA C9-88, C10-87",
		Run: executed(one(func(c *conformance.Conn) *wire.Packet {
			p := c.Request(bth.RCWriteOnlyImm)
			p.RETH, p.Imm = bth.RETH{VA: 0x1234567, RKey: 0x89abcd}, 0x01020304
			return p
		})),
	},
}

// countsOne sends messages of different lengths, each of which must increment the MSN by one.
func countsOne(t *conformance.T, c *conformance.Conn, msn uint32,
	parts func(c *conformance.Conn, off uint64, data []byte) []*wire.Packet) {
	for _, n := range []int{0, 1, c.MTU(), c.MTU() + 1, 4 * c.MTU()} {
		msn = next(msn)
		if r := c.Do(parts(c, 0, pattern(n, 1))...); r.AETH.MSN != msn {
			t.Fail("the MSN is %d after a message of %d bytes instead of %d", r.AETH.MSN, n, msn)
		}
	}
}

// checkHeader fails the case unless r, an ACK or NAK, has the fields of a correct responder.
func checkHeader(t *conformance.T, r *wire.Received) {
	b := r.Bytes
	switch {
	case len(b) != bth.BTHLen+bth.AETHLen+bth.ICRCLen:
		t.Fail("an acknowledgement has %d bytes from the BTH to the ICRC instead of 20", len(b))
	case r.Solicited, r.Pad != 0, r.Version != 0, r.AckReq:
		t.Fail("an acknowledgement has SE %v, pad %d, version %d, AckReq %v", r.Solicited, r.Pad, r.Version, r.AckReq)
	case r.PKey&0x7fff != 0x7fff:
		t.Fail("an acknowledgement has the P_Key %#x, which is not that of the request", r.PKey)
	case b[4]&0x3f != 0, b[8]&0x7f != 0:
		t.Fail("reserved bits are set in an acknowledgement: bytes 4 and 8 of the BTH are %#x and %#x", b[4], b[8])
	}
}
