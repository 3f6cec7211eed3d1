package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// duplicates are the rules of duplicate requests (IBA 9.7.5.1.3, C9-105 to C9-110).
var duplicates = []conformance.Case{
	{
		ID: "responder/35", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A duplicate WRITE with AckReq gets an ACK of the newest PSN and is not executed again.",
		Source: "IBA C9-105; Linux rxe_resp.c, duplicate_request; hfi1 rc.c",
		Run:    duplicateMessage((*conformance.Conn).WriteParts),
	},
	{
		ID: "responder/36", Level: conformance.Shall, Program: conformance.SendServer,
		Rule:   "A duplicate SEND with AckReq gets an ACK of the newest PSN and is not executed again.",
		Source: "IBA C9-105; Linux rxe_resp.c, duplicate_request; hfi1 rc.c",
		Run: duplicateMessage(func(c *conformance.Conn, _ uint64, b []byte) []*wire.Packet {
			return c.MessageParts(b)
		}),
	},
	{
		ID: "responder/37", Level: conformance.Shall, Program: conformance.Pingpong,
		Rule:   "A duplicate SEND takes no receive: the program sees the message once.",
		Source: "IBA C9-105",
		Run: func(t *conformance.T) {
			c := t.Connect()
			p := c.Message(pattern(64, 1))
			c.Send(p)
			c.Acked(p.PSN)
			c.PSN = c.PSN.Add(1)
			// The program answers each message with one of its own.
			messages := func() int {
				for c.Response(t.Silence()) != nil { // ACKs of duplicates
				}
				return messagesIn(c.Requests())
			}
			if n := messages(); n != 1 {
				t.Inconclusive("the program answered the first message with %d messages", n)
			}
			for range 3 {
				c.Send(p)
			}
			if n := messages(); n != 1 {
				t.Fail("the program received a message and 3 duplicates of it, and answered with %d messages", n)
			}
		},
	},
	{
		ID: "responder/38", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A duplicate WRITE without AckReq may be acknowledged, but is not refused.",
		Source: "IBA C9-105; Linux rxe_resp.c, duplicate_request; hfi1 rc.c",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Write(0, pattern(8, 1))
			c.Do(p)
			p.AckReq = false
			c.Send(p)
			switch r := c.Response(t.Silence()); {
			case r == nil:
				t.Unclear("no reply, as from hfi1; Linux rxe acknowledges")
			case r.Err == nil && conformance.AckOf(p.PSN).Is(r):
				t.Unclear("an ACK, as from Linux rxe; hfi1 does not reply")
			default:
				t.Fail("the reply is %s", conformance.Describe(r))
			}
		},
	},
	{
		ID: "responder/39", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A duplicate between the packets of a message does not disturb the message.",
		Source: "IBA 9.7.5.1.3: a duplicate does not change the expected PSN",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			old := c.Write(0, pattern(8, 1))
			c.Do(old)
			msn = next(msn)
			all := c.WriteParts(0, pattern(4*c.MTU(), 2))
			old.AckReq = false
			c.SendAll(all[0], all[0], all[1], old, all[0], all[1], all[2], all[1], all[3])
			r := c.Acked(all[3].PSN)
			if r.AETH.MSN != next(msn) {
				t.Fail("the MSN is %d after a message with duplicates inside instead of %d", r.AETH.MSN, next(msn))
			}
		},
	},
	{
		ID: "responder/40", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A duplicate READ gets the same responses again.",
		Source: "IBA 9.7.5.1.3, C9-110; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Read(5, uint32(3*c.MTU()+1))
			c.Send(p)
			first, msn := c.Data(p.PSN, int(p.RETH.DMALen))
			for range 3 {
				c.Send(p)
				again, m := c.Data(p.PSN, int(p.RETH.DMALen))
				if i := mismatch(first, again); i >= 0 {
					t.Fail("byte %d of the response to a duplicate READ differs", i)
				}
				if m != msn {
					t.Observe("MSN %d instead of %d in the response to a duplicate", m, msn)
				}
			}
			c.PSN = c.PSN.Add(4)
			c.Alive("duplicate READs")
		},
	},
	{
		ID: "responder/41", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A duplicate READ may ask for the end of the data only, and gets the same bytes, beginning with FIRST.",
		Source: "IBA 9.4.4, C9-110; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			whole := c.Read(0, uint32(4*c.MTU()))
			c.Send(whole)
			want, _ := c.Data(whole.PSN, 4*c.MTU())
			tail := c.Read(uint64(c.MTU()), uint32(3*c.MTU()))
			tail.PSN = c.PSN.Add(1)
			c.Send(tail)
			var got []byte
			first := bth.RCReadResponseFirst
			for i := range uint32(3) {
				r := c.Expect(conformance.Match{What: "a READ response with the PSN and bytes of the one before",
					Is: func(r *wire.Received) bool {
						return r.Opcode.Info().Op == bth.OpReadResponse && r.PSN == tail.PSN.Add(i)
					}})
				if i == 0 {
					first = r.Opcode
				}
				got = append(got, r.Payload...)
			}
			if i := mismatch(want[c.MTU():], got); i >= 0 {
				t.Fail("byte %d of the response to the end of a READ differs", i)
			}
			c.PSN = c.PSN.Add(4)
			c.Alive("a duplicate READ")
			if first != bth.RCReadResponseFirst {
				t.Unclear("the response begins with %v, as that of Linux rxe; another answer is %v", first,
					bth.RCReadResponseFirst)
			}
		},
	},
	{
		ID: "responder/42", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A duplicate READ with another key or a longer range than the first time gets no data.",
		Source: "IBA 9.7.5.1.3; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			c.Fetch(0, 2*c.MTU())
			again := func(change func(h *bth.RETH)) *wire.Packet {
				p := c.Read(0, uint32(2*c.MTU()))
				p.PSN = c.PSN.Sub(2)
				change(&p.RETH)
				return p
			}
			c.SendAll(again(func(h *bth.RETH) { h.RKey ^= 0x5a5a5a00 }), again(func(h *bth.RETH) { h.DMALen *= 3 }),
				again(func(h *bth.RETH) { h.VA += 1 << 14 }))
			c.Quiet("a duplicate READ that differs from the first one")
			c.Alive("a duplicate READ that differs from the first one")
		},
	},
	{
		ID: "responder/43", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A duplicate READ or atomic that the responder does not remember is dropped.",
		Source: "IBA 9.7.5.1.3: class D; Linux rxe_resp.c, duplicate_request",
		Run: dropped("a duplicate that was never executed", func(c *conformance.Conn) []*wire.Packet {
			read, add := c.Read(0, 8), c.FetchAdd(0, 1)
			read.PSN, add.PSN = c.PSN.Sub(1000), c.PSN.Sub(1001)
			return []*wire.Packet{read, add}
		}),
	},
}

// duplicateMessage returns a script: packets of a message arrive a second time.
func duplicateMessage(parts func(c *conformance.Conn, off uint64, b []byte) []*wire.Packet) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		c.Control()
		all := parts(c, 0, pattern(3*c.MTU(), 1))
		msn := c.Do(all...).AETH.MSN
		newest := c.PSN.Sub(1)
		for _, p := range []*wire.Packet{all[2], all[0], all[1]} {
			p.AckReq = true
			c.Send(p)
			if r := c.Expect(conformance.AckOf(newest)); r.AETH.MSN != msn {
				t.Fail("the MSN is %d after a duplicate, it was %d before", r.AETH.MSN, msn)
			}
		}
		c.Alive("duplicates")
	}
}

// messagesIn returns the number of messages that end in the requests, without duplicates.
func messagesIn(requests []*wire.Received) int {
	seen := map[bth.PSN]bool{}
	for _, r := range requests {
		if r.Err == nil && r.Opcode.Info().Ends() {
			seen[r.PSN] = true
		}
	}
	return len(seen)
}
