package responder

import (
	"bytes"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// reads are the rules of READ responses (IBA 9.4.4, 9.7.5.1).
var reads = []conformance.Case{
	{
		ID: "responder/27", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ of 0 bytes gets an empty READ RESPONSE ONLY; its address and key need not be valid.",
		Source: "IBA C9-88, 9.4.4",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			c.Fetch(0, 0)
			p := c.Read(0, 0)
			p.RETH = bth.RETH{VA: 0xfedcba9876543210, RKey: ^c.Target.RKey}
			c.Send(p)
			c.Data(p.PSN, 0)
			c.PSN = c.PSN.Add(1)
			c.Alive("a READ of 0 bytes")
		},
	},
	{
		ID: "responder/28", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ of up to the path MTU gets READ RESPONSE ONLY, a READ of one byte more FIRST and LAST.",
		Source: "IBA 9.4.4, C9-92",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, n := range []int{1, c.MTU() - 1, c.MTU(), c.MTU() + 1, 2 * c.MTU(), 2*c.MTU() + 1} {
				c.Fetch(0, n)
			}
		},
	},
	{
		ID: "responder/29", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "The response to a long READ has a full FIRST, full MIDDLEs and a LAST, in order of the PSNs.",
		Source: "IBA 9.4.4, C9-92",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			c.Fetch(0, int(c.Target.Length))
			c.Fetch(3, int(c.Target.Length)-10)
		},
	},
	{
		ID: "responder/30", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ returns the bytes at its address: several READs of parts return what one READ of all does.",
		Source: "IBA 9.4.4",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			whole, _ := c.Fetch(0, 3*c.MTU())
			var parts []byte
			for _, n := range []int{1, 2, c.MTU() - 3, c.MTU() + 5, 7, c.MTU() - 12} {
				b, _ := c.Fetch(uint64(len(parts)), n)
				parts = append(parts, b...)
			}
			if i := mismatch(whole, parts); i >= 0 {
				t.Fail("byte %d of the region is %#x in one READ and %#x in another", i, whole[i], parts[i])
			}
		},
	},
	{
		ID: "responder/31", Level: conformance.Should, Program: conformance.ReadServer,
		Rule:   "The pad bytes of responses are 0.",
		Source: "IBA 9.2.5; Linux rxe_resp.c, read_reply",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for n := 1; n < 12; n++ {
				p := c.Read(0, uint32(n))
				c.Send(p)
				r := c.Expect(conformance.DataOf(p.PSN, bth.RCReadResponseOnly))
				c.PSN = c.PSN.Add(1)
				end := len(r.Bytes) - bth.ICRCLen
				pad := r.Bytes[end-int(r.Pad) : end]
				if r.Pad != bth.PadFor(n) {
					t.Fail("the response with %d bytes has a pad of %d", n, r.Pad)
				}
				if slices.ContainsFunc(pad, func(b byte) bool { return b != 0 }) {
					t.Fail("the pad of the response with %d bytes is % x: it shows memory of the device", n, pad)
				}
			}
		},
	},
	{
		ID: "responder/32", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A READ is answered whether or not it has AckReq.",
		Source: "IBA 9.4.4, 9.7.5.1.2",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := c.Read(0, 8)
			p.AckReq = false
			c.Send(p)
			c.Data(p.PSN, 8)
		},
	},
	{
		ID: "responder/33", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "READs in flight together are answered completely, in the order of the requests.",
		Source: "IBA 9.5, 9.7.5.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			var all []*wire.Packet
			for i := range 4 { // the program permits at least as many as the tester asks for
				all = append(all, c.Read(uint64(i), uint32(2*c.MTU()+i)))
			}
			c.SendAll(c.InOrder(all...)...)
			for _, p := range all {
				c.Data(p.PSN, int(p.RETH.DMALen))
			}
		},
	},
	{
		ID: "responder/97", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "The NAK of a request behind a READ comes after the data of the READ.",
		Source: "IBA 9.7.5.1: responses are in the order of the PSNs",
		Run: behindRead(0, func(c *conformance.Conn) *wire.Packet {
			p := c.Read(0, 8)
			p.RETH.RKey ^= 0x5a5a5a00
			return p
		}, func(psn bth.PSN) conformance.Match { return conformance.NakOf(psn, bth.NakRemoteAccess) }),
	},
	{
		ID: "responder/34", Level: conformance.Observed, Program: conformance.ReadServer,
		Rule: "A responder with more READs than it has resources for refuses the request (NAK invalid request) or " +
			"serves it.",
		Source: "IBA 9.4.4, 9.7.4.1.4; Linux rxe_resp.c, check_resource",
		Run: func(t *conformance.T) {
			const reads = 160 // more than any device has: max_dest_rd_atomic of Linux rxe is at most 128
			c := t.Connect()
			c.Control()
			var all []*wire.Packet
			for range reads {
				all = append(all, c.Read(0, uint32(4*c.MTU())))
			}
			c.SendAll(c.InOrder(all...)...)
			served := 0
			for end := all[reads-1].PSN; ; {
				r := c.Response(t.Timeout())
				switch {
				case r == nil:
					t.Observe("%d of %d READs were served, then silence", served, reads)
				case r.Err != nil:
					t.Fail("a packet came that cannot be decoded: %v", r.Err)
				case r.Opcode == bth.RCAck && r.AETH.Syndrome.IsNak():
					t.Observe("%d of %d READs were served, then %v", served, reads, r.AETH.Syndrome)
				case r.Opcode == bth.RCReadResponseLast:
					served++
					if r.PSN.Before(end) {
						continue
					}
					t.Observe("all of %d READs in flight were served", reads)
				default:
					continue
				}
				return
			}
		},
	},
}

// behindRead returns a script: behind a READ, p is in flight, and its answer must come after all
// responses of the READ. skip is the number of PSNs that are missing between the two.
func behindRead(skip uint32, build func(c *conformance.Conn) *wire.Packet,
	answer func(psn bth.PSN) conformance.Match) func(t *conformance.T) {
	return func(t *conformance.T) {
		c := t.Connect()
		c.Control()
		p := build(c)
		read := c.InOrder(c.Read(0, uint32(8*c.MTU())), p)[0]
		expected := p.PSN
		p.PSN = p.PSN.Add(skip)
		c.SendAll(read, p)
		c.Data(read.PSN, 8*c.MTU())
		c.Await(answer(expected), expected)
	}
}

// mismatch returns the index of the first byte that differs, or -1.
func mismatch(x, y []byte) int {
	if bytes.Equal(x, y) {
		return -1
	}
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return i
		}
	}
	return min(len(x), len(y))
}
