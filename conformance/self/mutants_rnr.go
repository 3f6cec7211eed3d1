package self

import "github.com/gorxe/gorxe/bth"

// rnrMutants break rules of a responder without a receive.
var rnrMutants = []Mutant{
	{
		Name: "rnr-silent", Breaks: "A SEND that finds no receive gets no RNR NAK.",
		hooks: dropOut((*frame).rnr),
	},
	{
		Name: "rnr-fatal", Breaks: "A SEND that finds no receive gets NAK remote operational error.",
		hooks: changeOut((*frame).rnr, answer(bth.NakRemoteOperational)),
	},
	{
		Name: "rnr-acked", Breaks: "A SEND that finds no receive is acknowledged.",
		hooks: changeOut((*frame).rnr, answer(bth.AckUnlimited)),
	},
	{
		Name: "rnr-psn", Breaks: "An RNR NAK has the PSN after that of the SEND.",
		hooks: changeOut((*frame).rnr, func(f *frame) { f.PSN = f.PSN.Add(1) }),
	},
	{
		Name: "rnr-msn", Breaks: "A SEND that gets an RNR NAK increments the MSN.",
		hooks: changeOut((*frame).rnr, func(f *frame) { f.AETH.MSN = (f.AETH.MSN + 1) & 0xffffff }),
	},
	{
		Name: "rnr-timer", Breaks: "The timer of an RNR NAK differs from one NAK to the next.",
		hooks: func(*world) hooks {
			n := uint8(0)
			return hooks{out: func(f *frame) {
				if f.rnr() {
					n++
					f.AETH.Syndrome = bth.RNR(n)
				}
			}}
		},
	},
}
