package self

import (
	"bytes"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

// admitMutants break rules on which packets an endpoint processes at all, by the fields of the BTH
// and the addresses.
var admitMutants = []Mutant{
	{
		Name: "any-version", Breaks: "A packet with another transport version is executed.",
		Cases:   []string{"responder/1"},
		Related: []string{"uc", "ud"},
		hooks: changeIn(func(f *frame) bool {
			return f.err != nil && len(f.data) > bth.BTHLen && f.data[1]&0x0f != 0
		}, func(f *frame) {
			f.data[1] &^= 0x0f
			f.reseal()
		}),
	},
	{
		Name: "any-queue-pair", Breaks: "A packet to an unknown queue pair is executed by another one.",
		Cases: []string{"header/17", "responder/2"},
		hooks: in(func(w *world, f *frame) {
			if f.err != nil || f.flow != nil || f.DestQP <= bth.GSI {
				return
			}
			for qpn, flow := range w.flows {
				if f.src == flow.local.Addr {
					f.DestQP = qpn
				}
			}
		}),
	},
	{
		Name: "queue-pair-0", Breaks: "A packet to queue pair 0 is executed by another one.",
		Cases:   []string{"header/18"},
		Related: []string{"responder"},
		hooks: in(func(w *world, f *frame) {
			for qpn := range w.flows {
				if f.err == nil && f.DestQP == 0 {
					f.DestQP = qpn
				}
			}
		}),
	},
	{
		Name: "any-pkey", Breaks: "A packet with a P_Key that is not in the table is executed.",
		Cases:   []string{"responder/3"},
		Related: []string{"uc", "ud"},
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.PKey&0x7fff != 0 && f.PKey&0x7fff != 0x7fff },
			func(f *frame) { f.PKey = 0xffff }),
	},
	{
		Name: "zero-pkey", Breaks: "A packet whose P_Key is 0 in the lower 15 bits is executed.",
		Cases: []string{"responder/4"},
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.PKey&0x7fff == 0 },
			func(f *frame) { f.PKey = 0xffff }),
	},
	{
		Name: "limited-pkey", Breaks: "The P_Key of a limited member is refused by a full member.",
		Cases: []string{"responder/5"},
		hooks: dropIn(func(f *frame) bool { return f.err == nil && f.PKey == 0x7fff }),
	},
	{
		Name: "any-source", Breaks: "A packet from another address than the peer's is executed.",
		Cases: []string{"responder/6"},
		hooks: changeIn(func(f *frame) bool { return f.flow != nil && f.src != f.flow.local.Addr }, func(f *frame) {
			f.src = f.flow.local.Addr
			f.reseal()
		}),
	},
	{
		Name: "any-service", Breaks: "An opcode of another transport service is executed as that of RC.",
		Cases: []string{"responder/7"},
		hooks: in(func(_ *world, f *frame) {
			if f.err == nil && f.flow != nil && f.flow.kind == bth.ServiceRC && f.Opcode&0xe0 != 0 &&
				f.Opcode != bth.CNP {
				f.Opcode = f.Opcode & 0x1f
			}
		}),
	},
	{
		Name: "congestion-drop", Breaks: "A request with FECN or BECN is dropped.",
		Cases:   []string{"header/19", "responder/8"},
		Related: []string{"icrc"},
		hooks:   dropIn(func(f *frame) bool { return f.rcRequest() && (f.FECN || f.BECN) }),
	},
	{
		Name: "tos-drop", Breaks: "A packet whose ToS or TTL was changed on the way is dropped.",
		Cases:   []string{"header/20"},
		Related: []string{"congestion", "responder"},
		hooks:   dropIn(func(f *frame) bool { return f.tos != 0 || f.ttl != 64 }),
	},
	{
		Name: "needs-checksum", Breaks: "A packet with UDP checksum 0 is dropped.",
		Cases: []string{"header/29"},
		hooks: dropIn(func(f *frame) bool { return f.noSum }),
	},
	{
		Name: "reserved-drop", Breaks: "A packet with reserved bits set is dropped.",
		Cases:   []string{"header/23", "responder/9"},
		Related: []string{"icrc"},
		Shows:   "is dropped",
		hooks: dropIn(func(f *frame) bool {
			return f.err == nil && len(f.data) > bth.BTHLen && (f.data[4]&0x3f != 0 || f.data[8]&0x7f != 0)
		}),
	},
	{
		Name: "needs-migreq", Breaks: "A packet with MigReq 0 is dropped.",
		Cases: []string{"responder/10"},
		hooks: dropIn(func(f *frame) bool { return f.rcRequest() && !f.MigReq }),
	},
	{
		Name: "dies-of-response", Breaks: "After a response without a request, the queue pair does not answer.",
		Cases: []string{"responder/14"},
		hooks: func(*world) hooks {
			asks, dead := map[*flow]bool{}, map[*flow]bool{}
			return hooks{
				out: func(f *frame) {
					if f.flow != nil && f.rcRequest() {
						asks[f.flow] = true
					}
				},
				in: func(f *frame) {
					if f.flow == nil || f.flow.kind != bth.ServiceRC || f.err != nil {
						return
					}
					if f.is(bth.OpAck, bth.OpReadResponse, bth.OpAtomicAck) && !asks[f.flow] {
						dead[f.flow] = true
					}
					if dead[f.flow] {
						f.drop()
					}
				},
			}
		},
	},
}

// icrcMutants break rules of the ICRC.
var icrcMutants = []Mutant{
	{
		Name: "ignores-icrc", Breaks: "A packet with a wrong ICRC is executed.",
		Cases:   []string{"icrc/1", "icrc/2", "icrc/3", "icrc/8", "icrc/11"},
		Related: []string{"header", "requester", "uc", "ud"},
		hooks: changeIn(func(f *frame) bool { return f.badICRC && f.badIP == nil },
			func(f *frame) { f.badICRC = false }),
	},
	{
		Name: "masks-reserved", Breaks: "The ICRC does not cover the reserved bits beside AckReq.",
		Cases: []string{"icrc/4"},
		hooks: changeIn(func(f *frame) bool { return f.badICRC && f.rightWith(8, 0x7f) },
			func(f *frame) { f.badICRC = false }),
	},
	{
		Name: "covers-fecn", Breaks: "The ICRC of a packet with FECN, BECN or a reserved bit beside them counts as wrong.",
		Cases:   []string{"icrc/5"},
		Related: []string{"header", "responder"},
		hooks:   dropIn(func(f *frame) bool { return len(f.data) > bth.BTHLen && f.data[4] != 0 }),
	},
	{
		Name: "icrc-either-order", Breaks: "An ICRC with the most significant byte first is accepted.",
		Cases: []string{"icrc/6"},
		hooks: changeIn(func(f *frame) bool { return f.badICRC && f.rightReversed() },
			func(f *frame) { f.badICRC = false }),
	},
	{
		Name: "answers-short", Breaks: "A packet that is too short is answered with a NAK.",
		Cases:   []string{"header/22", "icrc/7"},
		Related: []string{"congestion", "ud"},
		hooks: in(func(w *world, f *frame) {
			if f.err == nil || len(f.data) >= bth.BTHLen+bth.RETHLen+bth.ICRCLen {
				return
			}
			for _, flow := range w.flows {
				f.flow = flow
				w.toTester(w.ackFor(f, flow.next, bth.NakInvalidRequest, flow.msn))
			}
		}),
	},
	{
		Name: "icrc-without-pad", Breaks: "The ICRC of a READ response does not cover the pad.",
		Cases:   []string{"icrc/9"},
		Related: []string{"header", "psn", "responder"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpReadResponse) && f.Pad != 0 },
			func(f *frame) { f.badICRC = true }),
	},
	{
		Name: "nak-icrc", Breaks: "A NAK has a wrong ICRC.",
		Cases:   []string{"icrc/10"},
		Related: []string{"atomic", "responder"},
		hooks: changeOut(func(f *frame) bool { return f.nak() && f.AETH.Syndrome == bth.NakRemoteAccess },
			func(f *frame) { f.badICRC = true }),
	},
}

// rightWith reports whether the ICRC of f is right if the bits of mask in the byte at off are 0.
func (f *frame) rightWith(off int, mask byte) bool {
	b := bytes.Clone(f.data)
	if len(b) < bth.BTHLen+bth.ICRCLen {
		return false
	}
	b[off] &^= mask
	return bth.CheckICRC(f.seed(len(b)), b)
}

// rightReversed reports whether the ICRC of f is right with its bytes in the other order.
func (f *frame) rightReversed() bool {
	b := bytes.Clone(f.data)
	if len(b) < bth.BTHLen+bth.ICRCLen {
		return false
	}
	slices.Reverse(b[len(b)-bth.ICRCLen:])
	return bth.CheckICRC(f.seed(len(b)), b)
}
