package responder

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// receiverNotReady are the rules of a responder without a receive (IBA 9.7.5.2.8), chapter rnr.
// ib_write_bw posts no receive, so its queue pair is not ready for any message that needs one.
var receiverNotReady = []conformance.Case{
	{
		ID: "rnr/1", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A SEND for which there is no receive gets an RNR NAK with its PSN, and is not counted by the MSN.",
		Source: "IBA 9.7.5.2.8, 9.7.7; Linux rxe_resp.c, check_resource",
		Run:    notReady(one(func(c *conformance.Conn) *wire.Packet { return c.Message(pattern(8, 1)) })),
	},
	{
		ID: "rnr/2", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A SEND without data needs a receive too: there is an RNR NAK if there is none.",
		Source: "IBA 9.7.5.2.8; Linux rxe_resp.c, check_resource",
		Run:    notReady(one(func(c *conformance.Conn) *wire.Packet { return c.Message(nil) })),
	},
	{
		ID: "rnr/3", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE with immediate data for which there is no receive gets an RNR NAK with its PSN.",
		Source: "IBA C10-87, 9.7.5.2.8; Linux rxe_resp.c, check_resource",
		Run: notReady(one(func(c *conformance.Conn) *wire.Packet {
			p := c.Write(0, pattern(8, 1))
			p.Opcode, p.Imm = bth.RCWriteOnlyImm, 1
			return p
		})),
	},
	{
		ID: "rnr/4", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "LAST WITH IMMEDIATE of a WRITE gets the RNR NAK; the packets before it are executed without a receive.",
		Source: "IBA C10-87, 9.7.5.2.8; Linux rxe_resp.c, check_resource",
		Run: notReady(func(c *conformance.Conn) []*wire.Packet {
			all := c.WriteParts(0, pattern(3*c.MTU(), 1))
			all[2].Opcode, all[2].Imm = bth.RCWriteLastImm, 1
			return all
		}),
	},
	{
		ID: "rnr/5", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FIRST of a SEND for which there is no receive gets an RNR NAK with its PSN.",
		Source: "IBA 9.7.5.2.8; Linux rxe_resp.c, check_resource",
		Run: notReady(func(c *conformance.Conn) []*wire.Packet {
			return c.MessageParts(pattern(3*c.MTU(), 1))[:1]
		}),
	},
	{
		ID: "rnr/6", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A message that got an RNR NAK is not executed by it: sent again, it gets an RNR NAK again.",
		Source: "IBA 9.7.5.2.8: class B",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			p := c.Message(pattern(8, 1))
			for range 3 {
				c.Send(p)
				if r := c.Expect(conformance.RNROf(p.PSN)); r.AETH.MSN != msn {
					t.Fail("the MSN is %d after an RNR NAK, it was %d before", r.AETH.MSN, msn)
				} else {
					t.Sleep(rnrDelay(r))
				}
			}
		},
	},
	{
		ID: "rnr/7", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An RNR NAK acknowledges the requests before its PSN.",
		Source: "IBA 9.7.5.1.2, 9.7.5.2.8",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			all := c.InOrder(c.Write(0, pattern(8, 1)), c.Write(0, pattern(8, 2)), c.Message(nil))
			c.SendAll(all...)
			if r := c.Await(conformance.RNROf(all[2].PSN), all[2].PSN); r.AETH.MSN != next(next(msn)) {
				t.Fail("the MSN of the RNR NAK is %d, it was %d before 2 executed messages", r.AETH.MSN, msn)
			}
		},
	},
	{
		ID: "rnr/8", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Requests in flight behind a message that got an RNR NAK are not executed.",
		Source: "IBA 9.7.5.2.8, 9.5",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			p, behind := c.Message(nil), c.Write(0, pattern(8, 1))
			behind.PSN = p.PSN.Add(1)
			c.SendAll(p, behind)
			c.Expect(conformance.RNROf(p.PSN))
			second := c.Response(t.Silence())
			if second != nil && !conformance.NakOf(p.PSN, bth.NakPSNSequence).Is(second) {
				t.Fail("the request behind it is answered with %s", conformance.Describe(second))
			}
			c.Send(p)
			if r := c.Expect(conformance.RNROf(p.PSN)); r.AETH.MSN != msn {
				t.Fail("the MSN is %d after an RNR NAK, it was %d before", r.AETH.MSN, msn)
			}
			if second != nil {
				t.Unclear("the request behind it gets NAK PSN sequence error, as from Linux rxe; another answer is " +
					"silence")
			}
			t.Unclear("the request behind it gets no reply; Linux rxe sends NAK PSN sequence error")
		},
	},
	{
		ID: "rnr/9", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A duplicate is acknowledged while a later message waits for a receive.",
		Source: "IBA C9-105, 9.7.5.2.8",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			done := c.Write(0, pattern(8, 1))
			c.Do(done)
			p := c.Message(nil)
			c.Send(p)
			c.Expect(conformance.RNROf(p.PSN))
			c.Send(done)
			c.Expect(conformance.AckOf(done.PSN))
		},
	},
	{
		ID: "rnr/10", Level: conformance.Observed, Program: conformance.WriteServer,
		Rule:   "The timer of the RNR NAK is that of the queue pair: 12 (0.64 ms) with perftest.",
		Source: "IBA 9.7.5.2.8, table 45; perftest sets min_rnr_timer 12",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Message(nil)
			sent := c.Send(p)
			r := c.Expect(conformance.RNROf(p.PSN))
			t.Sample("RNR NAK after", "µs", float64(r.At.Sub(sent).Microseconds()))
			t.Observe("timer %d: wait %v", r.AETH.Syndrome.RNRTimer(), rnrDelay(r))
		},
	},
	{
		ID: "rnr/11", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "Of a burst of more SENDs than receives, each SEND is executed once, some after an RNR NAK.",
		Source: "IBA 9.7.5.2.8, 9.7.7",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			var all []*wire.Packet
			for range 2*c.Target.Receives + 50 {
				all = append(all, c.Message(pattern(4, 1)))
			}
			c.InOrder(all...)
			refusals := 0
			for at := 0; ; refusals++ {
				c.SendAll(all[at:]...)
				r := untilRefused(t, c, all[len(all)-1].PSN)
				if r.AETH.Syndrome.IsAck() {
					if got := (r.AETH.MSN - msn) & 0xffffff; got != uint32(len(all)) {
						t.Fail("the MSN counts %d messages, %d were sent", got, len(all))
					}
					break
				}
				if at = int(r.PSN.Diff(all[0].PSN)); at < 0 || at >= len(all) {
					t.Fail("a PSN is refused that was not sent: %s", conformance.Describe(r))
				}
				if r.AETH.Syndrome.IsRNR() {
					t.Sleep(rnrDelay(r))
				}
				if refusals == len(all) {
					t.Fail("%d refusals for %d messages", refusals, len(all))
				}
			}
			t.Observe("%d refusals for %d messages", refusals, len(all))
		},
	},
	{
		ID: "rnr/12", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "The RNR NAK of a SEND behind a READ comes after the data of the READ.",
		Source: "IBA 9.7.5.1: responses are in the order of the PSNs",
		Run:    behindRead(0, func(c *conformance.Conn) *wire.Packet { return c.Message(nil) }, conformance.RNROf),
	},
}

// rnrDelay returns the time that the RNR NAK r asks for.
func rnrDelay(r *wire.Received) time.Duration {
	return time.Duration(bth.RNRDelay(r.AETH.Syndrome.RNRTimer()))
}

// notReady returns a script: the last of the packets, which needs a receive, must get an RNR NAK.
func notReady(build packets) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		msn := c.Control().AETH.MSN
		all := c.InOrder(build(c)...)
		c.SendAll(all...)
		psn := all[len(all)-1].PSN
		if r := c.Await(conformance.RNROf(psn), psn); r.AETH.MSN != msn {
			t.Fail("the MSN of the RNR NAK is %d, it was %d before", r.AETH.MSN, msn)
		}
		c.Quiet("a second time, a message without a receive")
	}
}

// untilRefused returns the first RNR NAK or NAK PSN sequence error, or the ACK of last. The other
// responses before it must be ACKs.
func untilRefused(t *conformance.T, c *conformance.Conn, last bth.PSN) *wire.Received {
	for {
		r := c.Response(t.Timeout())
		switch {
		case r == nil:
			t.Fail("neither an ACK of PSN %d nor a NAK came", last)
		case r.Err != nil || r.Opcode != bth.RCAck:
			t.Fail("an ACK or NAK was expected, but came %s", conformance.Describe(r))
		case r.AETH.Syndrome.IsRNR(), r.AETH.Syndrome == bth.NakPSNSequence:
			return r
		case !r.AETH.Syndrome.IsAck():
			t.Fail("a correct SEND is refused: %s", conformance.Describe(r))
		case r.PSN == last:
			return r
		}
	}
}
