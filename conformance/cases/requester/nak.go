package requester

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// jiffy is the tolerance for timers that end early: Linux with 250 ticks per second counts the
// current tick, 4 ms, as a whole one.
const jiffy = 5 * time.Millisecond

// naks are the rules of a requester for NAKs and timeouts.
var naks = []conformance.Case{
	{
		ID: "requester/11", Level: conformance.Shall, Program: conformance.SendClient,
		Rule: "After a NAK for a PSN sequence error, the requests are sent again from its PSN on; those before it are " +
			"acknowledged.",
		Source: "IBA 9.7.5.2; Linux hfi1 rc.c; rxe_comp.c, check_ack",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			all := c.Start(8)
			at := c.Send(c.Ack(all[5].PSN, bth.NakPSNSequence))
			r := repetition(t, c, all[7].PSN, "a NAK")
			if r.PSN != all[5].PSN {
				t.Fail("after a NAK of PSN %d, the requests must be sent again from there, but came %s", all[5].PSN,
					conformance.Describe(r))
			}
			t.Sample("NAK to repetition", "µs", float64(r.At.Sub(at).Microseconds()))
			c.Skip(r)
			if r.AckReq {
				c.Send(c.Ack(r.PSN, bth.AckUnlimited))
			}
			c.ServeUntil(all[0].PSN.Add(clientAll), "after the repetition")
		},
	},
	{
		ID: "requester/12", Level: conformance.Shall, Program: conformance.WriteClient,
		Rule:   "A request that is sent again has the opcode, the extension headers and the payload of the first transmission.",
		Source: "IBA 9.7.5.1; 9.4.1",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			all := c.Start(8)
			c.Send(c.Ack(all[0].PSN, bth.NakPSNSequence))
			r := repetition(t, c, all[7].PSN, "a NAK")
			for i, was := range all {
				if r.PSN != was.PSN {
					t.Inconclusive("PSN %d was expected, but came %s", was.PSN, conformance.Describe(r))
				}
				same(t, was, r)
				c.Serve(r)
				if i+1 < len(all) {
					r = c.ExpectRequest(conformance.RequestFrom(all[i+1].PSN))
				}
			}
			c.ServeUntil(all[0].PSN.Add(clientAll), "after the repetition")
		},
	},
	{
		ID: "requester/38", Level: conformance.Shall, Program: conformance.SendClient,
		Rule: "An acknowledgement that arrives during a repetition does not change what is repeated: each PSN keeps its " +
			"opcode and payload.",
		Source: "IBA 9.7.5.1; 9.7.5.1.2",
		Run:    acknowledgedWhileRepeated,
	},
	{
		ID: "requester/13", Level: conformance.Should, Program: conformance.SendClient,
		Rule:   "A second NAK, for a gap in the repetition, causes a repetition at once, not after a timeout.",
		Source: "IBA 9.7.5.2",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			all := c.Start(8)
			c.Send(c.Ack(all[2].PSN, bth.NakPSNSequence))
			r := repetition(t, c, all[7].PSN, "a NAK")
			if r.PSN != all[2].PSN {
				t.Inconclusive("the repetition begins with %s", conformance.Describe(r))
			}
			c.Skip(r)
			if r.AckReq { // some requesters repeat one packet and wait
				c.Send(c.Ack(r.PSN, bth.AckUnlimited))
			}
			// The next one is lost; the one behind it shows the gap.
			for r.PSN.Diff(all[3].PSN) <= 0 {
				if r = c.NextRequest(200 * time.Millisecond); r == nil {
					t.Note("the device repeats one packet at a time, so a responder sees no second gap")
					return
				}
			}
			seen := r.PSN
			at := c.Send(c.Ack(all[3].PSN, bth.NakPSNSequence))
			r = repetition(t, c, seen, "a second NAK")
			wait := r.At.Sub(at)
			t.Sample("second NAK to repetition", "µs", float64(wait.Microseconds()))
			if wait > 400*time.Millisecond {
				t.Fail("the second NAK is ignored: the repetition begins %v later, after a timeout",
					wait.Round(time.Millisecond))
			}
			if r.PSN != all[3].PSN {
				t.Fail("after a NAK of PSN %d, came %s", all[3].PSN, conformance.Describe(r))
			}
		},
	},
	fatal("requester/14", bth.NakInvalidRequest, 9),
	fatal("requester/15", bth.NakRemoteAccess, 10),
	fatal("requester/16", bth.NakRemoteOperational, 11),
	{
		ID: "requester/17", Level: conformance.Observed, Program: conformance.SendClient,
		Rule:   "A NAK with a reserved code is handled in some way that ends.",
		Source: "IBA 9.7.5.2: codes 00101 to 11111 are reserved",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(12))
			begin := c.Start(clientPackets)[0]
			c.Send(c.Ack(begin.PSN, 0x7f))
			c.Idle(20 * time.Millisecond)
			if len(c.Idle(t.Timeout()/4)) > 0 {
				t.Observe("the NAK is ignored, the requests are repeated")
				return
			}
			t.Observe("the queue pair stops: %s", lastStatus(c.Output()))
		},
	},
	{
		ID: "requester/18", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "A request without an answer is repeated after T to 4 T, where T is 4.096 µs * 2^timeout.",
		Source: "IBA 9.7.6.1.3, C9-140 (tolerance: T/8 below, T/2 above, two late ones)",
		Run: func(t *conformance.T) {
			// A busy host sends a packet some time after it has started the timer, and notices the
			// end of the timer late. So the timeout is long, the tolerance a part of it, and a
			// repetition that is late does not decide alone.
			const exponent, maxLate = 15, 2
			c := t.Connect(conformance.AckTimeout(exponent))
			all := c.Start(clientPackets)
			first, last := all[0].At, all[len(all)-1]
			low := timeout(exponent)
			for inTime, late := 0, 0; inTime < 3; {
				seen, end := last.PSN, last.At
				var r *wire.Received
				for {
					if r = c.ExpectRequest(conformance.Op(bth.OpSend)); r.PSN.Diff(seen) <= 0 {
						break
					}
					seen, end = r.PSN, r.At
				}
				if r.PSN != all[0].PSN {
					t.Fail("the repetition begins with %s, PSN %d is the oldest", conformance.Describe(r), all[0].PSN)
				}
				t.Sample(fmt.Sprintf("timeout, promised %v to %v", low.Round(time.Millisecond),
					(4*low).Round(time.Millisecond)), "ms", float64(r.At.Sub(first).Microseconds())/1000)
				switch {
				case r.At.Sub(first) < low-low/8:
					t.Fail("a request is repeated after %v, before %v have passed", r.At.Sub(first), low)
				case r.At.Sub(end) <= 4*low+low/2:
					inTime++
				case late < maxLate:
					late++
				default:
					t.Fail("a request is repeated after %v, later than %v", r.At.Sub(end), 4*low)
				}
				first, last = r.At, r
			}
		},
	},
	{
		ID: "requester/19", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "A request without an answer is sent again as often as the retry count says, then the queue pair stops.",
		Source: "IBA 9.7.6.1.3",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(12), conformance.Retries(2, 7), conformance.Memory(64))
			p := advertise(t, c, 64)
			n := 1 + len(c.Idle(t.Timeout()))
			t.Sample("transmissions", "", float64(n))
			if n != 3 {
				t.Fail("%s was sent %d times; a retry count of 2 permits 3 transmissions", conformance.Describe(p), n)
			}
		},
	},
	{
		ID: "requester/20", Level: conformance.Shall, Program: conformance.SendClient,
		Rule:   "After an RNR NAK, the request is not sent again before the time of its timer code has passed.",
		Source: "IBA 9.7.5.2 (tolerance: 5 ms, at most half of the time)",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow))
			begin := c.Start(clientPackets)[0]
			for _, code := range []uint8{14, 24, 26} {
				at := c.Send(c.Ack(begin.PSN, bth.RNR(code)))
				var r *wire.Received
				for {
					r = c.ExpectRequest(conformance.Op(bth.OpSend))
					if r.PSN == begin.PSN {
						break
					}
					// Later requests may be in flight, or be sent although they are dropped too.
				}
				wait, least := r.At.Sub(at), time.Duration(bth.RNRDelay(code))
				t.Sample(fmt.Sprintf("wait after RNR NAK of %v", least), "ms", float64(wait.Microseconds())/1000)
				if wait < least-min(jiffy, least/2) {
					t.Fail("the request is sent again after %v, the timer code %d means %v", wait, code, least)
				}
			}
			c.Serve(begin)
			c.ServeUntil(begin.PSN.Add(clientAll), "after RNR NAKs")
		},
	},
	{
		ID: "requester/21", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "After as many RNR NAKs as the RNR retry count says, the queue pair stops.",
		Source: "IBA 9.7.6.1.3",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow), conformance.Retries(7, 3), conformance.Memory(64))
			c.Serve(advertise(t, c, 64))
			n := rnrAnswer(t, c, 6)
			t.Sample("transmissions", "", float64(n))
			if n != 4 {
				t.Fail("the SEND was sent %d times; an RNR retry count of 3 permits 4 transmissions", n)
			}
		},
	},
	{
		ID: "requester/22", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "With an RNR retry count of 7, a request is sent again after every RNR NAK.",
		Source: "IBA 9.7.6.1.3 (7: no limit)",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow), conformance.Retries(7, 7), conformance.Memory(64))
			c.Serve(advertise(t, c, 64))
			const enough = 12
			if n := rnrAnswer(t, c, enough); n != enough {
				t.Fail("the SEND was sent only %d times", n)
			}
		},
	},
}

// rnrAnswer answers the next SEND of the device with an RNR NAK, up to limit times, and returns how
// often it came.
func rnrAnswer(t *conformance.T, c *conformance.Conn, limit int) int {
	for n := range limit {
		r := c.NextRequest(t.Timeout() / 4)
		if r == nil {
			return n
		}
		if r.Opcode.Info().Op != bth.OpSend {
			t.Inconclusive("a SEND was expected, but came %s", conformance.Describe(r))
		}
		c.Send(c.Ack(r.PSN, bth.RNR(14)))
	}
	return limit
}

// fatal returns the case that a NAK ends the queue pair, and the program gets the status of a work
// completion.
func fatal(id string, nak bth.Syndrome, status int) conformance.Case {
	return conformance.Case{
		ID: id, Level: conformance.Shall, Program: conformance.SendClient,
		Rule: fmt.Sprintf("After %s, no request follows, and the program gets the error (status %d of the completion).",
			strings.Replace(nak.String(), "NAK", "a NAK for", 1), status),
		Source: "IBA 9.9.2; Linux rxe_comp.c, check_ack",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(14))
			all := c.Start(clientPackets)
			c.Send(c.Ack(all[0].PSN, nak))
			seen := all[len(all)-1].PSN
			for _, r := range c.Idle(inFlight) {
				if r.PSN.Diff(seen) <= 0 {
					t.Fail("after %v, the device repeats %s", nak, conformance.Describe(r))
				}
				seen = r.PSN
			}
			c.NoRequest("after " + nak.String())
			if !c.WaitOutput("Failed status") {
				t.Fail("the program reports no error; it printed %q", c.OutputEnd())
			}
			if !strings.Contains(c.Output(), fmt.Sprintf("Failed status %d", status)) {
				t.Fail("status %d was expected, the program printed %q", status, lastStatus(c.Output()))
			}
		},
	}
}

// lastStatus returns the last line of output with a status of a completion.
func lastStatus(output string) string {
	at := strings.LastIndex(output, "Failed status")
	if at < 0 {
		return "no error is reported"
	}
	line, _, _ := strings.Cut(output[at:], "\n")
	return strings.TrimSpace(line)
}

// repeatedPackets is the number of packets that acknowledgedWhileRepeated acknowledges at a time,
// mostly in the middle of a message.
const repeatedPackets = 3

// acknowledgedWhileRepeated is the script of a requester that gets an ACK for a part of what it has
// sent, and later, as soon as it repeats the rest, the next one.
func acknowledgedWhileRepeated(t *conformance.T) {
	c := t.Connect(conformance.AckTimeout(10))
	c.Go()
	begin := c.Target.PSN
	due, end := begin, begin.Add(clientAll) // due is the first PSN that is not acknowledged
	first := map[bth.PSN]*wire.Received{}
	for due != end {
		r := c.NextRequest(t.Timeout())
		if r == nil {
			t.Fail("PSN %d is not repeated within %v after the one before it was acknowledged during a repetition", due,
				t.Timeout())
		}
		was := first[r.PSN]
		switch {
		case r.PSN.Diff(begin) < 0 || r.PSN.Diff(end) >= 0:
			t.Fail("the messages have the PSNs %d to %d, but came %s", begin, end.Sub(1), conformance.Describe(r))
		case was == nil:
			first[r.PSN] = r
			continue
		case r.Opcode != was.Opcode:
			t.Fail("PSN %d was %v and is %v when it is repeated", r.PSN, was.Opcode, r.Opcode)
		case !bytes.Equal(r.Payload, was.Payload):
			t.Fail("the payload of PSN %d differs when it is repeated", r.PSN)
		case r.PSN.Diff(due) < 0:
			continue // repeated before the last ACK arrived
		}
		for range repeatedPackets {
			if first[due] != nil {
				due = due.Add(1)
			}
		}
		c.Send(c.Ack(due.Sub(1), bth.AckUnlimited))
	}
}
