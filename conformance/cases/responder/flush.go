package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// flushes are the rules of FLUSH and ATOMIC WRITE (IBA annex A19) that a program without
// these operations shows: its queue pair has the right to write, but none to flush.
var flushes = []conformance.Case{
	{
		ID: "responder/92", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A FLUSH at a queue pair without the right to flush is refused with NAK invalid request.",
		Source: "IBA A19.4; Linux rxe_resp.c, check_qp_attr_access",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Request(bth.RCFlush)
			p.FETH.Type = 1
			p.RETH = bth.RETH{VA: c.Target.VA, RKey: c.Target.RKey, DMALen: 8}
			c.Send(p)
			r := c.Response(t.Silence())
			switch {
			case r == nil:
				c.Alive("a FLUSH")
				c.Send(atomicWrite(c))
				if r := c.Response(t.Silence()); r != nil && conformance.DataOf(c.PSN, bth.RCReadResponseOnly).Is(r) {
					t.Unclear("the device executes ATOMIC WRITE but drops FLUSH: it has one of both only, or, as Linux rxe " +
						"6.12, takes the right ICRC of a FLUSH for a wrong one; another answer is NAK invalid request")
				}
				t.Unsupported("a FLUSH is dropped")
			case conformance.NakOf(p.PSN, bth.NakInvalidRequest).Is(r):
				c.Dead("a FLUSH without the right")
			case conformance.NakOf(p.PSN, bth.NakRemoteAccess).Is(r):
				c.Dead("a FLUSH without the right")
				t.Unclear("the answer is %v; another answer is %v: %s", r.AETH.Syndrome, bth.NakInvalidRequest,
					whyRights)
			default:
				t.Fail("a FLUSH without the right must be refused, but came %s", conformance.Describe(r))
			}
		},
	},
	{
		ID: "responder/93", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An ATOMIC WRITE is answered with an empty READ RESPONSE ONLY and increments the MSN.",
		Source: "IBA A19.4.2; Linux rxe_resp.c, atomic_write_reply",
		Run: func(t *conformance.T) {
			c := t.Connect()
			msn := c.Control().AETH.MSN
			if r := firstAtomicWrite(t, c); r.AETH.MSN != next(msn) || len(r.Payload) > 0 {
				t.Fail("the response has the MSN %d and %d bytes, the MSN was %d", r.AETH.MSN, len(r.Payload), msn)
			}
			c.Alive("an ATOMIC WRITE")
		},
	},
	{
		ID: "responder/94", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A duplicate ATOMIC WRITE is answered again and not executed again.",
		Source: "IBA A19.4.2; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			first := firstAtomicWrite(t, c)
			p := atomicWrite(c)
			p.PSN = first.PSN
			for range 2 {
				c.Send(p)
				c.Expect(conformance.DataOf(first.PSN, bth.RCReadResponseOnly))
			}
			if r := c.Alive("a duplicate ATOMIC WRITE"); r.AETH.MSN != next(first.AETH.MSN) {
				t.Fail("the MSN is %d after an ATOMIC WRITE with the MSN %d, its duplicates and one WRITE", r.AETH.MSN,
					first.AETH.MSN)
			}
		},
	},
	{
		ID: "responder/95", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An ATOMIC WRITE at an address that is no multiple of 8 is refused with NAK invalid request.",
		Source: "IBA oA19-28; Linux rxe_mr.c, rxe_mr_do_atomic_write",
		Run:    atomicWriteRefused(func(p *wire.Packet) { p.RETH.VA += 4 }),
	},
	{
		ID: "responder/96", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An ATOMIC WRITE of another length than 8 bytes is refused with NAK invalid request.",
		Source: "IBA oA19-28",
		Run: atomicWriteRefused(func(p *wire.Packet) {
			p.Payload = pattern(16, 1)
			p.RETH.DMALen = 16
		}),
	},
}

// atomicWrite returns an ATOMIC WRITE to the begin of the device's region.
func atomicWrite(c *conformance.Conn) *wire.Packet {
	p := c.Write(0, pattern(8, 1))
	p.Opcode = bth.RCAtomicWrite
	return p
}

// firstAtomicWrite performs an ATOMIC WRITE and returns the response. The case is unsupported if
// the device does not know the operation or does not permit it to this program.
func firstAtomicWrite(t *conformance.T, c *conformance.Conn) *wire.Received {
	p := atomicWrite(c)
	c.Send(p)
	r := c.Response(t.Silence())
	switch {
	case r == nil:
		t.Unsupported("an ATOMIC WRITE is dropped")
	case conformance.NakOf(p.PSN, bth.NakInvalidRequest).Is(r):
		t.Unsupported("an ATOMIC WRITE is refused: %v", r.AETH.Syndrome)
	case !conformance.DataOf(p.PSN, bth.RCReadResponseOnly).Is(r):
		t.Fail("the answer to an ATOMIC WRITE is %s", conformance.Describe(r))
	}
	c.PSN = c.PSN.Add(1)
	return r
}

// atomicWriteRefused returns a script: the ATOMIC WRITE that change has changed must be refused.
func atomicWriteRefused(change func(p *wire.Packet)) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		c.Control()
		firstAtomicWrite(t, c)
		p := atomicWrite(c)
		change(p)
		c.Send(p)
		c.Expect(conformance.NakOf(p.PSN, bth.NakInvalidRequest))
		c.Dead("an ATOMIC WRITE that is not valid")
	}
}
