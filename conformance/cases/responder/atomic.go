package responder

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// atomic are the rules of compare and swap and of fetch and add (IBA 9.4.5). The tester sees the
// device's memory in the values that they return.
var atomic = []conformance.Case{
	{
		ID: "atomic/1", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "Fetch and add adds and returns the value before.",
		Source: "IBA 9.4.5.2",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			for _, add := range []uint64{5, 1 << 32, 1<<63 + 7} {
				holds(t, c, c.FetchAdd(0, add), v)
				v += add
			}
			holds(t, c, c.FetchAdd(0, 0), v)
		},
	},
	{
		ID: "atomic/2", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "Fetch and add wraps modulo 2^64, without a carry beyond the 8 bytes.",
		Source: "IBA 9.4.5.2",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			holds(t, c, c.FetchAdd(0, -v-1), v)
			holds(t, c, c.FetchAdd(0, 3), 1<<64-1)
			holds(t, c, c.FetchAdd(0, 0), 2)
		},
	},
	{
		ID: "atomic/3", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "Compare and swap stores the new value if the compared one is equal, and returns the value before.",
		Source: "IBA 9.4.5.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			holds(t, c, c.CmpSwap(0, v, 0x0123456789abcdef), v)
			holds(t, c, c.CmpSwap(0, 0x0123456789abcdef, 42), 0x0123456789abcdef)
			holds(t, c, c.FetchAdd(0, 0), 42)
		},
	},
	{
		ID: "atomic/4", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "Compare and swap with a value that differs in one bit stores nothing and returns the value.",
		Source: "IBA 9.4.5.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			for _, bit := range []uint{0, 31, 32, 63} {
				holds(t, c, c.CmpSwap(0, v^1<<bit, ^v), v)
			}
			holds(t, c, c.FetchAdd(0, 0), v)
		},
	},
	{
		ID: "atomic/5", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "A duplicate fetch and add gets the first value again and is executed once.",
		Source: "IBA 9.4.5, 9.7.5.1.3; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			repeated(t, c, c.FetchAdd(0, 3), v)
			holds(t, c, c.FetchAdd(0, 0), v+3)
		},
	},
	{
		ID: "atomic/6", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "A duplicate compare and swap gets the first value again and is executed once.",
		Source: "IBA 9.4.5, 9.7.5.1.3; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			repeated(t, c, c.CmpSwap(0, v, v+1), v)
			holds(t, c, c.CmpSwap(0, v+1, v), v+1)
			// Executed again, the duplicate would swap: the value is v again.
			psn := c.PSN
			old := c.CmpSwap(0, v, v+1)
			old.PSN = psn.Sub(2)
			holds(t, c, old, v)
			c.PSN = psn
			holds(t, c, c.FetchAdd(0, 0), v)
		},
	},
	{
		ID: "atomic/7", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "A duplicate atomic that the responder no longer remembers is not executed again.",
		Source: "IBA 9.7.5.1.3: class D; Linux rxe_resp.c, duplicate_request",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			first := c.FetchAdd(0, 1)
			holds(t, c, first, v)
			const more = 200 // more than the resources of any device
			for i := range uint64(more) {
				holds(t, c, c.FetchAdd(0, 1), v+1+i)
			}
			c.Send(first)
			r := c.Response(t.Silence())
			if r != nil && (!conformance.DataOf(first.PSN, bth.RCAtomicAck).Is(r) || r.AtomicAck != v) {
				t.Fail("a duplicate that is older than %d atomics gets %s", more, conformance.Describe(r))
			}
			holds(t, c, c.FetchAdd(0, 0), v+1+more)
			if r != nil {
				t.Unclear("the device still remembers the value of %d atomics ago; another answer is silence", more)
			}
		},
	},
	{
		ID: "atomic/8", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "An atomic at an address that is no multiple of 8 is refused with NAK invalid request.",
		Source: "IBA 9.4.5; Linux rxe_resp.c, MISALIGNED_ATOMIC",
		Run: func(t *conformance.T) {
			for _, off := range []uint64{4, 1} {
				refuses(bth.NakInvalidRequest, "an atomic that is not aligned",
					one(func(c *conformance.Conn) *wire.Packet { return c.FetchAdd(off, 1) }))(t)
			}
		},
	},
	{
		ID: "atomic/9", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "An atomic with an unknown R_Key is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_resp.c, check_rkey",
		Run: refuses(bth.NakRemoteAccess, "an unknown R_Key", one(func(c *conformance.Conn) *wire.Packet {
			p := c.FetchAdd(0, 1)
			p.AtomicETH.RKey ^= 0x5a5a5a00
			return p
		})),
	},
	{
		ID: "atomic/10", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "An atomic outside the region is refused with NAK remote access error.",
		Source: "IBA 9.7.4.1.5; Linux rxe_mr.c, mr_check_range",
		Run: func(t *conformance.T) {
			for _, off := range []uint64{1 << 30, 1 << 62} { // the region of ib_atomic_bw is smaller than 1 GiB
				refuses(bth.NakRemoteAccess, "an atomic outside the region",
					one(func(c *conformance.Conn) *wire.Packet { return c.CmpSwap(off, 0, 0) }))(t)
			}
		},
	},
	{
		ID: "atomic/11", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An atomic at a queue pair without the right is refused with NAK invalid request.",
		Source: "IBA 9.7.4.1.4; Linux rxe_resp.c, check_qp_attr_access",
		Run: refusesWith(bth.NakInvalidRequest, bth.NakRemoteAccess, "an atomic without the right", whyRights,
			one(func(c *conformance.Conn) *wire.Packet { return c.FetchAdd(0, 1) })),
	},
	{
		ID: "atomic/12", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "The response to an atomic has the syndrome of an ACK, its MSN counts the atomic, and it has no payload.",
		Source: "IBA 9.4.5, C9-148, 9.3.5.3",
		Run: func(t *conformance.T) {
			c := t.Connect()
			// An atomic is also the control, which would not judge its response.
			p := c.FetchAdd(0, 0)
			c.Send(p)
			r := c.Response(t.Timeout())
			if r == nil {
				t.Inconclusive("before the test: a correct atomic got no response")
			}
			if m := conformance.DataOf(p.PSN, bth.RCAtomicAck); r.Err != nil || !m.Is(r) {
				t.Fail("%s was expected, but came %s", m.What, conformance.Describe(r))
			}
			c.PSN = c.PSN.Add(1)
			for msn := next(r.AETH.MSN); msn != next(r.AETH.MSN+3); msn = next(msn) {
				p := c.FetchAdd(0, 0)
				c.Send(p)
				r := c.Expect(conformance.DataOf(p.PSN, bth.RCAtomicAck))
				c.PSN = c.PSN.Add(1)
				if !r.AETH.Syndrome.IsAck() || r.AETH.MSN != msn || len(r.Bytes) != 12+4+8+4 {
					t.Fail("the response has the syndrome %v, the MSN %d instead of %d, %d bytes instead of 28",
						r.AETH.Syndrome, r.AETH.MSN, msn, len(r.Bytes))
				}
			}
		},
	},
	{
		ID: "atomic/13", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "Atomics in flight together are executed and answered in the order of their PSNs.",
		Source: "IBA 9.5, 9.7.5.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			var all []*wire.Packet
			for i := range uint64(4) {
				all = append(all, c.CmpSwap(0, v+i, v+i+1)) // each one needs the one before
			}
			c.SendAll(c.InOrder(all...)...)
			for i, p := range all {
				r := c.Expect(conformance.DataOf(p.PSN, bth.RCAtomicAck))
				if want := v + uint64(i); r.AtomicAck != want {
					t.Fail("atomic %d of %d returns %#x instead of %#x", i+1, len(all), r.AtomicAck, want)
				}
			}
		},
	},
	{
		ID: "atomic/14", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "An atomic is answered whether or not it has AckReq.",
		Source: "IBA 9.4.5, 9.7.5.1.2",
		Run: func(t *conformance.T) {
			c := t.Connect()
			v := value(c)
			p := c.FetchAdd(0, 1)
			p.AckReq = false
			holds(t, c, p, v)
			holds(t, c, c.FetchAdd(0, 0), v+1)
		},
	},
	{
		ID: "atomic/15", Level: conformance.Shall, Program: conformance.AtomicServer,
		Rule:   "Atomics behind a refused one are not executed.",
		Source: "IBA 9.7.5.2, 9.5",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			bad, behind := c.FetchAdd(4, 1), c.FetchAdd(0, 1)
			c.SendAll(c.InOrder(bad, behind)...)
			c.Expect(conformance.NakOf(bad.PSN, bth.NakInvalidRequest))
			c.Quiet("an atomic behind a refused one")
		},
	},
}

// value performs the control request and returns the value at the begin of the device's region.
func value(c *conformance.Conn) uint64 {
	c.Control()
	v, _ := c.Atomic(c.FetchAdd(0, 0))
	return v
}

// holds performs the atomic p and fails the case unless it returns the value want.
func holds(t *conformance.T, c *conformance.Conn, p *wire.Packet, want uint64) {
	if got, _ := c.Atomic(p); got != want {
		t.Fail("%v with PSN %d returns %#x instead of %#x", p.Opcode, p.PSN, got, want)
	}
}

// repeated performs the atomic p and sends it three times more: each time it must return want.
func repeated(t *conformance.T, c *conformance.Conn, p *wire.Packet, want uint64) {
	for range 4 {
		holds(t, c, p, want)
	}
}
