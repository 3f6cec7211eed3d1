package self

import (
	"bytes"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

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
