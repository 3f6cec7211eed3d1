package cases

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
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
				p := c.Write(0, make([]byte, 8))
				p.PSN = c.PSN.Add(1)
				c.Send(p)
				c.Expect(conformance.NakOf(c.PSN, bth.NakPSNSequence))
				c.Alive("a NAK")
				c.PSN = c.PSN.Add(1) // the device may have kept the early request
			}
		},
	},
}
