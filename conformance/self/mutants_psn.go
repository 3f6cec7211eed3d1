package self

import "github.com/gorxe/gorxe/bth"

// psnMutants break rules of packet sequence numbers.
var psnMutants = []Mutant{
	{
		Name: "silent-gap", Breaks: "A request beyond a gap gets no NAK.",
		Cases: []string{"psn/1", "psn/2", "psn/3"},
		hooks: out(func(_ *world, f *frame) {
			if f.nak() && f.AETH.Syndrome == bth.NakPSNSequence {
				f.drop()
			}
		}),
	},
	{
		Name: "nak-ahead", Breaks: "The NAK of a gap has the PSN of the request, not the expected one.",
		Cases: []string{"psn/1"},
		hooks: out(func(_ *world, f *frame) {
			if f.nak() && f.AETH.Syndrome == bth.NakPSNSequence {
				f.PSN = f.PSN.Add(1)
			}
		}),
	},
	{
		Name: "naks-twice", Breaks: "Each request beyond a gap gets a NAK.",
		Cases: []string{"psn/2"},
		hooks: naksAgain,
	},
	{
		Name: "one-nak-ever", Breaks: "After the first NAK, a later gap gets none.",
		Cases: []string{"psn/3"},
		hooks: func(*world) hooks {
			n := 0
			return hooks{out: func(f *frame) {
				if f.nak() && f.AETH.Syndrome == bth.NakPSNSequence {
					if n++; n > 1 {
						f.drop()
					}
				}
			}}
		},
	},
}

// naksAgain answers every request beyond a gap with a NAK, also those after the first.
func naksAgain(w *world) hooks {
	return hooks{in: func(f *frame) {
		if f.flow != nil && f.ahead > 0 && len(f.flow.kept) > 1 {
			w.toTester(w.ackFor(f, f.flow.next, bth.NakPSNSequence, f.flow.msn))
		}
	}}
}
