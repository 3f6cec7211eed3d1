package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// psn are the rules of packet sequence numbers at a responder (IBA 9.7.3, 9.7.5.1).
var psn = []conformance.Case{
	{
		ID: "psn/1", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request whose PSN is ahead of the expected one gets one NAK with the expected PSN and is not executed.",
		Source: "IBA 9.7.5.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			p := c.Write(0, make([]byte, 8))
			p.PSN = c.PSN.Add(1)
			c.Send(p)
			if r := c.Expect(conformance.NakOf(c.PSN, bth.NakPSNSequence)); r.AETH.MSN != msn {
				t.Fail("the MSN is %d after a request that must not be executed, it was %d", r.AETH.MSN, msn)
			}
			c.Quiet("a second time, the request ahead of the expected PSN")
			c.Alive("a NAK")
		},
	},
	{
		ID: "psn/2", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "More requests beyond the same gap get no second NAK.",
		Source: "IBA 9.7.5.2.1; Linux rxe_resp.c, sent_psn_nak; hfi1 rc.c",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for n := range uint32(4) {
				p := c.Write(0, make([]byte, 8))
				p.PSN = c.PSN.Add(1 + n)
				c.Send(p)
			}
			c.Expect(conformance.NakOf(c.PSN, bth.NakPSNSequence))
			c.Quiet("a request beyond a gap that was reported")
			c.Alive("a NAK")
		},
	},
	{
		ID: "psn/3", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "After the gap was closed, a new gap gets a NAK again.",
		Source: "IBA 9.7.5.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for range 2 {
				early := c.Write(0, pattern(8, 1))
				early.PSN = c.PSN.Add(1)
				c.Send(early)
				c.Await(conformance.NakOf(c.PSN, bth.NakPSNSequence), c.PSN)
				c.Do(c.Write(0, pattern(8, 2)))
				// For a device that has kept the early request, this is a duplicate.
				c.Do(early)
			}
		},
	},
	{
		ID: "psn/4", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A NAK for a gap acknowledges the requests before the gap.",
		Source: "IBA 9.7.5.1.2, 9.7.5.2.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			first, third := c.Write(0, pattern(8, 1)), c.Write(0, pattern(8, 2))
			first.AckReq = false
			third.PSN = c.PSN.Add(2)
			c.SendAll(first, third)
			c.PSN = c.PSN.Add(1)
			if r := c.Await(conformance.NakOf(c.PSN, bth.NakPSNSequence), c.PSN); r.AETH.MSN != next(msn) {
				t.Fail("the MSN of the NAK is %d instead of %d: one message was executed", r.AETH.MSN, next(msn))
			}
			c.Alive("a NAK")
		},
	},
	{
		ID: "psn/5", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet lost in the middle of a WRITE gets a NAK with its PSN, and the WRITE continues from there.",
		Source: "IBA 9.7.5.2.1; Linux rxe_resp.c, check_psn",
		Run:    lostMiddle((*conformance.Conn).WriteParts),
	},
	{
		ID: "psn/6", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A packet lost in the middle of a SEND gets a NAK with its PSN, and the SEND continues from there.",
		Source: "IBA 9.7.5.2.1; Linux rxe_resp.c, check_psn",
		Run: lostMiddle(func(c *conformance.Conn, _ uint64, data []byte) []*wire.Packet {
			return c.MessageParts(data)
		}),
	},
	{
		ID: "psn/7", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ request ahead of the expected PSN gets a NAK with the expected PSN and no data.",
		Source: "IBA 9.7.5.2.1; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Read(0, 8)
			p.PSN = c.PSN.Add(1)
			c.Send(p)
			c.Expect(conformance.NakOf(c.PSN, bth.NakPSNSequence))
			c.Quiet("a READ request ahead of the expected PSN, apart from the NAK,")
			c.Alive("a NAK")
		},
	},
	{
		ID: "psn/8", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "An atomic ahead of the expected PSN gets a NAK and is not executed before the missing request.",
		Source: "IBA 9.7.5.2.1, 9.5; Linux rxe_resp.c, check_psn",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			before, _ := c.Atomic(c.FetchAdd(0, 0))
			p := c.FetchAdd(0, 1)
			p.PSN = c.PSN.Add(1)
			c.Send(p)
			c.Expect(conformance.NakOf(c.PSN, bth.NakPSNSequence))
			if now, _ := c.Atomic(c.FetchAdd(0, 0)); now != before {
				t.Fail("an atomic behind a gap has changed the value from %#x to %#x", before, now)
			}
		},
	},
	{
		ID: "psn/9", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "PSN 0 follows 0xffffff between WRITEs and in the middle of a WRITE.",
		Source: "IBA 9.7.1: PSNs are 24 bits",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.StartPSN(bth.MaxPSN - 4))
			msn := c.Control().AETH.MSN
			for range 3 { // the second one wraps, the third is behind the wrap
				msn = next(msn)
				if r := c.Do(c.WriteParts(0, pattern(3*c.MTU(), 1))...); r.AETH.MSN != msn {
					t.Fail("the MSN is %d instead of %d near the wrap of the PSN", r.AETH.MSN, msn)
				}
			}
		},
	},
	{
		ID: "psn/10", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "PSN 0 follows 0xffffff in the response to a READ, and for the request behind it.",
		Source: "IBA 9.7.1: PSNs are 24 bits",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.StartPSN(bth.MaxPSN - 1))
			c.Control()
			c.Fetch(0, 4*c.MTU())
			c.Fetch(0, c.MTU())
		},
	},
	{
		ID: "psn/11", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "PSN 0 follows 0xffffff between SENDs and in the middle of a SEND.",
		Source: "IBA 9.7.1: PSNs are 24 bits",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.StartPSN(bth.MaxPSN - 4))
			c.Control()
			for range 3 {
				c.Do(c.MessageParts(pattern(3*c.MTU(), 1))...)
			}
		},
	},
	{
		ID: "psn/12", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "PSN 0 follows 0xffffff between atomics; a duplicate of the one before the wrap is still a duplicate.",
		Source: "IBA 9.7.1: PSNs are 24 bits",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.StartPSN(bth.MaxPSN - 1))
			c.Control()
			p := c.FetchAdd(0, 3) // PSN 0xffffff
			before, _ := c.Atomic(p)
			c.Atomic(c.FetchAdd(0, 0))
			psn := c.PSN
			if again, _ := c.Atomic(p); again != before {
				t.Fail("the duplicate of an atomic returns %#x instead of %#x", again, before)
			}
			c.PSN = psn
			if now, _ := c.Atomic(c.FetchAdd(0, 0)); now != before+3 {
				t.Fail("the value is %#x instead of %#x", now, before+3)
			}
		},
	},
	{
		ID: "psn/13", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The PSN 2^23-1 ahead of the expected one is ahead, the one 2^23-1 before it is a duplicate.",
		Source: "IBA 9.7.1, 9.7.4.1.2; Linux rxe.h, psn_compare",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Write(0, pattern(8, 1))
			p.PSN = c.PSN.Sub(1<<23 - 1)
			c.Send(p)
			switch r := c.Response(t.Silence()); {
			case r == nil:
			case r.Err != nil || !conformance.AckOf(c.PSN.Sub(1)).Is(r):
				t.Fail("a request 2^23-1 before the expected PSN may get an ACK of the newest PSN only, but came %s",
					conformance.Describe(r))
			}
			p.PSN = c.PSN.Add(1<<23 - 1)
			c.Send(p)
			c.Expect(conformance.NakOf(c.PSN, bth.NakPSNSequence))
			c.Alive("a NAK")
		},
	},
	{
		ID: "psn/14", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ takes as many PSNs as its response has packets: the next request has the PSN behind them.",
		Source: "IBA 9.4.4, 9.7.2",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, n := range []int{1, c.MTU(), c.MTU() + 1, 3*c.MTU() - 1, 3 * c.MTU(), 3*c.MTU() + 1} {
				c.Fetch(0, n)
			}
		},
	},
	{
		ID: "psn/15", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "The NAK for a gap behind a READ comes after the data of the READ, with the PSN behind it.",
		Source: "IBA 9.7.5.1: responses are in the order of the PSNs; 9.7.5.2.1",
		Run: behindRead(1, func(c *conformance.Conn) *wire.Packet { return c.Read(0, 8) },
			func(psn bth.PSN) conformance.Match { return conformance.NakOf(psn, bth.NakPSNSequence) }),
	},
}

// lostMiddle returns a script: the second of three packets of a message is lost.
func lostMiddle(parts func(c *conformance.Conn, off uint64, data []byte) []*wire.Packet) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		msn := c.Control().AETH.MSN
		all := parts(c, 0, pattern(3*c.MTU(), 1))
		c.SendAll(all[0], all[2])
		if r := c.Await(conformance.NakOf(all[1].PSN, bth.NakPSNSequence), all[1].PSN); r.AETH.MSN != msn {
			t.Fail("the MSN is %d in the middle of a message, it was %d before", r.AETH.MSN, msn)
		}
		r := c.Do(all[1], all[2])
		if r.AETH.MSN != next(msn) {
			t.Fail("the MSN is %d after the message instead of %d", r.AETH.MSN, next(msn))
		}
	}
}
