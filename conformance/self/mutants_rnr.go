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
		Name: "rnr-timer", Breaks: "The timer of an RNR NAK is not that of the queue pair.",
		Shows: "timer 5:", hooks: changeOut((*frame).rnr, answer(bth.RNR(5))),
	},
}
