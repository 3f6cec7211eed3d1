package requester

import (
	"bytes"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// repeats are the rules of a requester for packets that it repeats.
var repeats = []conformance.Case{
	{
		ID: "requester/40", Level: conformance.Shall, Program: conformance.LongSendClient,
		Rule: "A late acknowledgement of a whole message, which arrives while the message is repeated, does not change " +
			"later repetitions: each PSN keeps its opcode and payload.",
		Source: "IBA 9.7.5.1; 9.7.5.1.2",
		Run:    acknowledgedLate,
	},
	unchanged("requester/41", conformance.AtomicWriteClient, bth.OpAtomicWrite, "An ATOMIC WRITE"),
	unchanged("requester/42", conformance.FlushClient, bth.OpFlush, "A FLUSH"),
}

// unchanged returns the case that an operation is repeated unchanged after a timeout.
func unchanged(id string, program conformance.Program, op bth.Operation, name string) conformance.Case {
	return conformance.Case{
		ID: id, Level: conformance.Shall, Program: program,
		Rule:   name + " that is sent again has the extension headers and the payload of the first transmission.",
		Source: "IBA 9.7.5.1; A19.4",
		Run: func(t *conformance.T) {
			c := t.Connect(conformance.AckTimeout(15), conformance.Memory(64))
			c.Go()
			was := nextOf(t, c, "is not sent")
			if was.Opcode.Info().Op != op || was.RETH.VA != c.Local.VA || was.RETH.RKey != c.Local.RKey {
				t.Inconclusive("%v of address 0x%x, key 0x%x was expected, but came %s with %+v", op, c.Local.VA,
					c.Local.RKey, conformance.Describe(was), was.RETH)
			}
			r := nextOf(t, c, "is not repeated")
			if r.PSN != was.PSN || r.Opcode != was.Opcode {
				t.Fail("%s was not answered, but came %s", conformance.Describe(was), conformance.Describe(r))
			}
			same(t, was, r)
			c.Skip(r)
			p := c.Ack(r.PSN, bth.AckUnlimited)
			p.Opcode = bth.RCReadResponseOnly
			c.Send(p)
			if !c.WaitOutput("complete") {
				t.Fail("the %v was answered, but does not complete; the program printed %q", op, c.OutputEnd())
			}
		},
	}
}

// same fails the case unless r, which repeats was, is the same request.
func same(t *conformance.T, was, r *wire.Received) {
	switch {
	case r.Opcode != was.Opcode:
		t.Fail("PSN %d was %v and is %v when it is repeated", r.PSN, was.Opcode, r.Opcode)
	case r.RETH != was.RETH:
		t.Fail("the RETH of PSN %d was %+v and is %+v when it is repeated", r.PSN, was.RETH, r.RETH)
	case r.FETH != was.FETH:
		t.Fail("the FETH of PSN %d was %+v and is %+v when it is repeated", r.PSN, was.FETH, r.FETH)
	case !bytes.Equal(r.Payload, was.Payload):
		t.Fail("the payload of PSN %d differs when it is repeated", r.PSN)
	}
}

// nextOf returns the next request, also one with a wrong ICRC: the ICRC of a FLUSH is another rule.
func nextOf(t *conformance.T, c *conformance.Conn, otherwise string) *wire.Received {
	for {
		r := c.Next(t.Timeout())
		switch {
		case r == nil:
			t.Fail("the request %s within %v", otherwise, t.Timeout())
		case r.Err != nil:
			t.Fail("a packet came that cannot be decoded: %v", r.Err)
		case r.Opcode.Info().Request():
			return r
		}
	}
}

// A LongSendClient sends longMessages messages of longPackets packets.
const (
	longMessages = 16
	longPackets  = 120
)

// acknowledgedLate is the script of a requester that gets the ACK of a message when it has begun to
// repeat the message after a timeout. The ACKs of the repetition are lost, so that the next message
// is repeated after a timeout too.
func acknowledgedLate(t *conformance.T) {
	c := t.Connect(conformance.AckTimeout(14))
	c.Go()
	begin := c.Target.PSN
	var all []*wire.Received // the first transmission of each PSN
	due, seen := 0, 0        // first packet that is not acknowledged, and how often it came since it is
	for due < longMessages*longPackets {
		r := c.NextRequest(t.Timeout())
		if r == nil {
			t.Fail("PSN %d is not repeated within %v after the message before it was acknowledged during a repetition",
				begin.Add(uint32(due)), t.Timeout())
		}
		n := int(r.PSN.Diff(begin))
		if n == due {
			seen++
		}
		switch {
		case n < 0 || n > len(all) || n >= longMessages*longPackets:
			t.Fail("PSN %d was the newest one, then came %s", begin.Add(uint32(len(all))).Sub(1),
				conformance.Describe(r))
		case n == len(all):
			all = append(all, r)
			continue
		case r.Opcode != all[n].Opcode || len(r.Payload) != len(all[n].Payload):
			t.Fail("PSN %d was %v with %d bytes and is %v with %d bytes when it is repeated", r.PSN, all[n].Opcode,
				len(all[n].Payload), r.Opcode, len(r.Payload))
		case !bytes.Equal(r.Payload, all[n].Payload):
			t.Fail("the payload of PSN %d differs when it is repeated", r.PSN)
		case n != due || seen < 2: // the first time in that of the message before it
			continue
		}
		seen = 0
		// A requester may not send a whole message without an ACK.
		for end := min(due+longPackets-due%longPackets, len(all)); due < end; due++ {
			c.Skip(all[due])
		}
		c.Send(c.Ack(all[due-1].PSN, bth.AckUnlimited))
	}
}
