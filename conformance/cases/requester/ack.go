package requester

import (
	"bytes"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// A client of perftest sends clientMessages messages of clientPackets packets.
const (
	clientMessages = 8
	clientPackets  = 4
	clientAll      = clientMessages * clientPackets
)

// writes are the opcodes of a message.
var writes = [clientPackets]bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast}

// slow is an exponent of the ACK timeout with which no timeout ends before a reaction to an answer
// is judged: 0.5 s.
const slow = 17

// inFlight is the time after an answer in which requests may still come that the device sent before
// it got the answer.
const inFlight = 30 * time.Millisecond

// acks are the rules of a requester for acknowledgements.
var acks = []conformance.Case{
	{
		ID: "requester/1", Level: conformance.Shall, Program: conformance.WriteClient,
		Rule: "A message longer than the path MTU is sent as FIRST, MIDDLE and LAST with consecutive PSNs; all packets " +
			"except the last have the length of the path MTU.",
		Source: "IBA 9.4.1, C9-92; 9.7.2",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			c.Go()
			all := c.ServeUntil(c.Target.PSN.Add(clientAll), "to complete its messages")
			split := false
			for i, r := range all {
				want := writes[i%clientPackets]
				switch {
				case r.Opcode == bth.RCWriteOnly && len(r.Payload) == c.MTU() &&
					(i%clientPackets == 0 || follows(r, all[i-1])):
					split = true // into messages of one packet, which the responder cannot distinguish from such
				case r.Opcode != want:
					t.Fail("packet %d of a message is %s, %v was expected", i%clientPackets, conformance.Describe(r),
						want)
				case len(r.Payload) != c.MTU():
					t.Fail("%s, %d bytes were expected", conformance.Describe(r), c.MTU())
				case i%clientPackets == 0 && r.RETH.DMALen != uint32(clientPackets*c.MTU()):
					t.Fail("the RETH has length %d, the message %d", r.RETH.DMALen, clientPackets*c.MTU())
				}
			}
			if split {
				t.Observe("some WRITEs are sent as a WRITE ONLY per path MTU")
			}
		},
	},
	{
		ID: "requester/2", Level: conformance.Observed, Program: conformance.SendClient,
		Rule:   "A requester asks for an acknowledgement at the end of a message, or when it waits for one.",
		Source: "IBA 9.7.3.1; Linux rxe_req.c, init_req_packet",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			c.Go()
			last, other := 0, 0
			for _, r := range c.ServeUntil(c.Target.PSN.Add(clientAll), "to complete its messages") {
				switch {
				case r.AckReq && r.Opcode.Info().Ends():
					last++
				case r.AckReq:
					other++
				}
			}
			t.Observe("AckReq in %d of %d last packets of a message, and in %d other packets", last, clientMessages,
				other)
		},
	},
	{
		ID: "requester/3", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "An ACK acknowledges all earlier requests too; requests that are acknowledged are not sent again.",
		Source: "IBA 9.7.5.1.2",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(14))
			c.Go()
			// The window of the requester may be smaller than all messages, so only the last is
			// acknowledged of what it sends at a time.
			for end := c.Target.PSN.Add(clientAll); c.Expected() != end; {
				r := c.ExpectRequest(conformance.Op(bth.OpSend))
				if r.PSN != c.Expected() {
					continue // repeated before the ACK
				}
				c.Skip(r)
				if r.AckReq && (c.Expected() == end || c.Expected().Diff(c.Target.PSN)%(2*clientPackets) == 0) {
					c.Send(c.Ack(r.PSN, bth.AckUnlimited))
				}
			}
			c.Idle(inFlight) // repeated before the last ACK arrived
			c.NoRequest("after all messages were acknowledged")
		},
	},
	{
		ID: "requester/4", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "After an ACK in the middle of a message, a timeout repeats the requests from the next one on, none before.",
		Source: "IBA 9.7.5.1.2; 9.7.6.1.3",
		Run:    acknowledgedInside(1),
	},
	{
		ID: "requester/39", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "A second copy of an ACK acknowledges nothing more: a timeout repeats the requests behind its PSN.",
		Source: "IBA 9.7.5.1 (duplicate acknowledge)",
		Run:    acknowledgedInside(3),
	},
	{
		ID: "requester/5", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "An ACK of a PSN that was not sent is ignored: it acknowledges nothing.",
		Source: "IBA 9.7.5.1 (ghost acknowledge); Linux hfi1 rc.c, do_rc_ack",
		Run: ignored("an ACK of a PSN that was not sent", func(c *conformance.Conn, first bth.PSN) *wire.Packet {
			return c.Ack(first.Add(5000), bth.AckUnlimited)
		}),
	},
	{
		ID: "requester/6", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "An ACK of a PSN before the oldest unacknowledged one is ignored.",
		Source: "IBA 9.7.5.1 (duplicate acknowledge); Linux hfi1 rc.c, do_rc_ack",
		Run: ignored("an old ACK", func(c *conformance.Conn, first bth.PSN) *wire.Packet {
			return c.Ack(first.Sub(9), bth.AckUnlimited)
		}),
	},
	{
		ID: "requester/7", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "A NAK of a PSN that was not sent is ignored.",
		Source: "IBA 9.7.5.1 (ghost acknowledge)",
		Run: ignored("a NAK of a PSN that was not sent", func(c *conformance.Conn, first bth.PSN) *wire.Packet {
			return c.Ack(first.Add(5000), bth.NakInvalidRequest)
		}),
	},
	{
		ID: "requester/8", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "An ACK with a wrong ICRC is ignored.",
		Source: "IBA CA17-24",
		Run: ignored("an ACK with a wrong ICRC", func(c *conformance.Conn, first bth.PSN) *wire.Packet {
			p := c.Ack(first.Add(3), bth.AckUnlimited)
			p.Damage = func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
			return p
		}),
	},
	{
		ID: "requester/9", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "A second copy of an ACK is ignored.",
		Source: "IBA 9.7.5.1 (duplicate acknowledge)",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			c.Go()
			for c.Expected() != c.Target.PSN.Add(clientAll) {
				r := c.ExpectRequest(conformance.Op(bth.OpSend))
				if !c.Serve(r) {
					t.Fail("nothing was lost, but %s is repeated", conformance.Describe(r))
				}
				if r.AckReq {
					c.Send(c.Ack(r.PSN, bth.AckUnlimited))
				}
			}
			c.NoRequest("after all messages were acknowledged twice")
		},
	},
	{
		ID: "requester/10", Level: conformance.Observed, Program: conformance.SendClient,
		Rule:   "After an ACK without credits, a requester sends at most one more message until it gets credits.",
		Source: "IBA 9.7.7.2; Linux rxe and hfi1 do not limit messages by credits",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			c.Go()
			n := 0
			for seen := c.Target.PSN.Sub(1); ; {
				r := c.NextRequest(t.Timeout() / 4)
				if r == nil || r.PSN.Diff(seen) <= 0 { // the first repetition
					break
				}
				seen = r.PSN
				c.Skip(r)
				if r.Opcode.Info().Ends() {
					n++
				}
				if n == 1 && r.AckReq {
					c.Send(c.Ack(r.PSN, 0))
				}
			}
			if n == 0 {
				t.Inconclusive("no whole message came")
			}
			t.Observe("%d of %d messages came after an ACK of the first with credit count 0", n-1, clientMessages-1)
		},
	},
}

// acknowledgedInside returns a script: copies of an ACK in the middle of a message. A timeout must
// repeat the requests behind it.
func acknowledgedInside(copies int) func(*conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect(conformance.AckTimeout(14))
		first := c.Start(6)[0].PSN
		var at time.Time // of the last copy
		for range copies {
			at = c.Send(c.Ack(first.Add(5), bth.AckUnlimited))
		}
		c.Skip(&wire.Received{Packet: bth.Packet{Opcode: bth.RCSendMiddle, PSN: first.Add(5)}})
		seen := first.Add(5) // last PSN of the first transmission
		for {
			r := c.ExpectRequest(conformance.Op(bth.OpSend))
			if r.PSN.Diff(seen) > 0 {
				seen = r.PSN
				continue
			}
			if r.PSN.Diff(first.Add(5)) <= 0 && r.At.Sub(at) < inFlight {
				continue // repeated before the ACK arrived
			}
			if r.PSN != first.Add(6) {
				t.Fail("PSN %d is acknowledged; the repetition must begin with %d, but begins with %s",
					first.Add(5), first.Add(6), conformance.Describe(r))
			}
			c.Serve(r)
			break
		}
		c.ServeUntil(first.Add(clientAll), "after the repetition")
	}
}

// ignored returns the script of a rule that a requester ignores an answer: its requests stay
// unacknowledged, so a timeout repeats them from the first one on, unchanged.
func ignored(what string, answer func(c *conformance.Conn, first bth.PSN) *wire.Packet) func(*conformance.T) {
	return func(t *conformance.T) {
		const exponent = 16
		c := t.Connect(conformance.AckTimeout(exponent))
		all := c.Start(clientPackets)
		begin := all[0]
		// The answer comes when the device waits for one, long before it repeats its requests.
		all = append(all, c.Idle(20*time.Millisecond)...)
		c.Send(answer(c, begin.PSN))
		r := repetition(t, c, all[len(all)-1].PSN, what)
		if r.PSN != begin.PSN || !bytes.Equal(r.Payload, begin.Payload) {
			t.Fail("after %s, the repetition must begin with PSN %d, but begins with %s", what, begin.PSN,
				conformance.Describe(r))
		}
		// Half of it because a busy host may receive the first transmission late.
		if wait := r.At.Sub(begin.At); wait < timeout(exponent)/2 {
			t.Fail("after %s, the requests are repeated %v after their first transmission, before the timeout of %v",
				what, wait, timeout(exponent))
		}
		c.Serve(r)
		c.ServeUntil(begin.PSN.Add(clientAll), "after "+what)
	}
}

// timeout returns the ACK timeout T of an exponent.
func timeout(exponent uint8) time.Duration { return time.Duration(4096<<exponent) * time.Nanosecond }

// repetition returns the first request that repeats one with a PSN up to seen, the last PSN that
// has come.
func repetition(t *conformance.T, c *conformance.Conn, seen bth.PSN, why string) *wire.Received {
	for {
		r := c.NextRequest(t.Timeout())
		switch {
		case r == nil:
			t.Fail("after %s, the requests are not repeated within %v", why, t.Timeout())
		case r.PSN.Diff(seen) <= 0:
			return r
		}
		seen = r.PSN
	}
}

// follows reports whether a WRITE ONLY continues at the address at which another one ends.
func follows(r, before *wire.Received) bool {
	return before.Opcode == bth.RCWriteOnly && r.RETH.VA == before.RETH.VA+uint64(len(before.Payload))
}
