package requester

import (
	"bytes"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// readLen is the length of a READ of three packets in bytes.
const readLen = 2*1024 + 100

// reads are the rules of a requester of READs.
var reads = []conformance.Case{
	{
		ID: "requester/23", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "A READ of several packets gets the bytes of its responses, and takes as many PSNs as it has responses.",
		Source: "IBA 9.4.4; 9.7.2",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow), conformance.Memory(readLen))
			r := advertise(t, c, readLen)
			data := text(readLen)
			for _, p := range c.Responses(r, data) {
				c.Send(p)
			}
			c.Skip(r)
			writeBack(t, c, data)
		},
	},
	{
		ID: "requester/24", Level: conformance.Shall, Program: conformance.RPing,
		Rule: "If a response in the middle of a READ is lost, the READ is requested again, from the missing packet or an " +
			"earlier one on, with the address and length that belong to it.",
		Source: "IBA 9.7.5.1; Lumina read_gbn_check",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(14), conformance.Memory(readLen))
			r := advertise(t, c, readLen)
			data := text(readLen)
			all := c.Responses(r, data)
			c.Send(all[0])
			at := c.Send(all[2])
			again := c.ExpectRequest(conformance.Op(bth.OpReadRequest))
			t.Sample("gap to new READ", "ms", float64(again.At.Sub(at).Microseconds())/1000)
			rest := checkPart(t, c, r, again, 1)
			answer(c, again, data[rest:])
			c.Skip(r)
			writeBack(t, c, data)
		},
	},
	{
		ID: "requester/25", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "If the last response of a READ is lost, the READ is requested again after a timeout.",
		Source: "IBA 9.7.6.1.3",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(12), conformance.Memory(readLen))
			r := advertise(t, c, readLen)
			data := text(readLen)
			for _, p := range c.Responses(r, data)[:2] {
				c.Send(p)
			}
			again := c.ExpectRequest(conformance.Op(bth.OpReadRequest))
			rest := checkPart(t, c, r, again, 2)
			answer(c, again, data[rest:])
			c.Skip(r)
			writeBack(t, c, data)
		},
	},
	{
		ID: "requester/26", Level: conformance.Shall, Program: conformance.ReadClient,
		Rule:   "A response to a later READ is an implied NAK of the READ before it, which is requested again.",
		Source: "IBA 9.7.5.1 (implied NAK); Linux hfi1 rc.c; rxe_comp.c, check_psn",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(14))
			all := c.Start(2)
			at := time.Now()
			answer(c, all[1], make([]byte, clientPackets*c.MTU()))
			impliedNAK(t, c, all[0], at, "a response to a later READ")
		},
	},
	{
		ID: "requester/27", Level: conformance.Shall, Program: conformance.ReadClient,
		Rule:   "An ACK does not complete a READ: it is an implied NAK of the READ's responses.",
		Source: "IBA 9.7.5.1 (implied NAK); Linux rxe_comp.c, check_psn",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(14))
			all := c.Start(2)
			at := c.Send(c.Ack(all[1].PSN.Add(clientPackets-1), bth.AckUnlimited))
			impliedNAK(t, c, all[0], at, "an ACK of a later READ")
		},
	},
	{
		ID: "requester/28", Level: conformance.Shall, Program: conformance.ReadClient,
		Rule:   "Never more READs are open than the responder executes at a time.",
		Source: "IBA 9.4.4",
		Run: func(t *conformance.T) {
			const depth = 2
			c := t.Connect(conformance.AckTimeout(slow), conformance.Reads(depth))
			c.Go()
			var open []*wire.Received
			for done := 0; done < clientMessages; done++ {
				for len(open) <= depth {
					r := c.NextRequest(openTime)
					if r == nil {
						break
					}
					open = append(open, r)
				}
				switch {
				case len(open) > depth:
					t.Fail("%d READs are open, the tester executes %d at a time", len(open), depth)
				case len(open) == 0:
					t.Fail("only %d of %d READs came", done, clientMessages)
				}
				c.Serve(open[0])
				open = open[1:]
			}
		},
	},
	unclear(wrong("requester/29", "A MIDDLE response where a FIRST is due does not become data of the READ.",
		"IBA 9.9.2; Linux rxe_comp.c, check_psn",
		func(all []*wire.Packet) { all[0].Opcode = bth.RCReadResponseMiddle }),
		"Linux rxe ends the queue pair, hfi1 checks the PSN and the length only"),
	wrong("requester/30", "A LAST response where a FIRST is due does not complete the READ.",
		"IBA 9.9.2 (wrong response)", func(all []*wire.Packet) { all[0].Opcode = bth.RCReadResponseLast }),
	wrong("requester/31", "A FIRST response that is shorter than the path MTU is not taken.", "IBA C9-92; 9.9.2",
		func(all []*wire.Packet) { all[0].Payload = all[0].Payload[:512] }),
	wrong("requester/32", "A LAST response with more bytes than the READ has left is not taken.",
		"IBA 9.9.2 (wrong response)", func(all []*wire.Packet) { all[2].Payload = make([]byte, 400) }),
	wrong("requester/33", "A LAST response with fewer bytes than the READ has left does not complete it.",
		"IBA 9.9.2 (wrong response)", func(all []*wire.Packet) { all[2].Payload = all[2].Payload[:60] }),
	wrong("requester/34", "An ONLY response does not complete a READ of several packets.", "IBA 9.9.2 (wrong response)",
		func(all []*wire.Packet) { all[0].Opcode = bth.RCReadResponseOnly }),
	wrong("requester/35", "An atomic acknowledgement does not complete a READ.", "IBA 9.9.2 (wrong response)",
		func(all []*wire.Packet) { all[0].Opcode, all[0].Payload = bth.RCAtomicAck, nil }),
	{
		ID: "requester/36", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "A response with a wrong ICRC is dropped, and the READ is requested again.",
		Source: "IBA CA17-24",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(12), conformance.Memory(64))
			r := advertise(t, c, 64)
			data := text(64)
			p := c.Responses(r, bytes.Repeat([]byte{'x'}, 64))[0]
			p.Damage = func(b []byte) []byte { b[len(b)-2] ^= 0x10; return b }
			c.Send(p)
			again := c.ExpectRequest(conformance.Op(bth.OpReadRequest))
			answer(c, again, data)
			c.Skip(r)
			writeBack(t, c, data)
		},
	},
	{
		ID: "requester/37", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "A second copy of the responses to a READ is ignored.",
		Source: "IBA 9.7.5.1 (duplicate response)",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(slow), conformance.Memory(readLen))
			r := advertise(t, c, readLen)
			data := text(readLen)
			all := c.Responses(r, data)
			for _, p := range all {
				c.Send(p)
				other := *p
				other.Payload = bytes.Repeat([]byte{'x'}, len(p.Payload))
				c.Send(&other)
			}
			c.Skip(r)
			// Nothing was lost, so no READ may come before the SEND.
			writeBackAfter(t, c, c.ExpectRequest(conformance.Op(bth.OpSend)), data)
		},
	},
}

// openTime is the time after which a requester that sends nothing waits for responses.
const openTime = 30 * time.Millisecond

// checkPart checks that again requests the part of READ r from a packet up to the missing one on,
// and returns its offset in r in bytes.
func checkPart(t *conformance.T, c *conformance.Conn, r, again *wire.Received, missing int) int {
	k := int(again.PSN.Diff(r.PSN))
	off := k * c.MTU()
	switch {
	case k < 0 || k > missing:
		t.Fail("response %d of the READ with PSN %d is missing, but %s came", missing, r.PSN,
			conformance.Describe(again))
	case again.RETH != (bth.RETH{VA: r.RETH.VA + uint64(off), RKey: r.RETH.RKey, DMALen: r.RETH.DMALen - uint32(off)}):
		t.Fail("the READ with PSN %d has %+v; the part from PSN %d on was requested with %+v", r.PSN, r.RETH,
			again.PSN, again.RETH)
	}
	return off
}

// answer sends the responses to a READ.
func answer(c *conformance.Conn, r *wire.Received, data []byte) {
	for _, p := range c.Responses(r, data) {
		c.Send(p)
	}
}

// impliedNAK fails the case unless the READ is requested again after at, and then serves all READs.
func impliedNAK(t *conformance.T, c *conformance.Conn, first *wire.Received, at time.Time, why string) {
	for {
		r := c.ExpectRequest(conformance.Op(bth.OpReadRequest))
		if r.PSN.Diff(first.PSN) < int32(clientPackets) && r.PSN.Diff(first.PSN) >= 0 {
			t.Sample("implied NAK to new READ", "ms", float64(r.At.Sub(at).Microseconds())/1000)
			if r.PSN != first.PSN || r.RETH != first.RETH {
				t.Fail("after %s, the READ %+v was requested again with PSN %d and %+v", why, first.RETH, r.PSN, r.RETH)
			}
			c.Serve(r)
			break
		}
	}
	c.ServeUntil(first.PSN.Add(clientAll), "after "+why)
}

// unclear changes the verdict of a case that would fail to unclear: others says why.
func unclear(c conformance.Case, others string) conformance.Case {
	run := c.Run
	c.Run = func(t *conformance.T) { t.Lenient(others); run(t) }
	return c
}

// wrong returns the case that a wrong response to a READ does not complete it: the program must not
// go on. change changes the three responses, whose data are those of another text.
func wrong(id, rule, source string, change func([]*wire.Packet)) conformance.Case {
	return conformance.Case{
		ID: id, Level: conformance.Shall, Program: conformance.RPing, Rule: rule, Source: source,
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(14), conformance.Memory(readLen))
			r := advertise(t, c, readLen)
			all := c.Responses(r, bytes.Repeat([]byte{'x'}, readLen))
			change(all)
			for _, p := range all {
				p.Pad = bth.PadFor(len(p.Payload))
				c.Send(p)
			}
			again := c.NextRequest(t.Timeout())
			switch {
			case again == nil:
				return // the queue pair is in the error state
			case again.Opcode.Info().Op != bth.OpReadRequest:
				t.Fail("the READ was completed: %s follows", conformance.Describe(again))
			}
			off := checkPart(t, c, r, again, len(all)-1)
			t.Note("the READ is requested again from byte %d on", off)
		},
	}
}
