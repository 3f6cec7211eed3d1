package self

import "github.com/gorxe/gorxe/bth"

// rnrMutants break rules of a responder without a receive.
var rnrMutants = []Mutant{
	{
		Name: "rnr-silent", Breaks: "A SEND that finds no receive gets no RNR NAK.",
		Cases:   []string{"rnr/1"},
		Related: []string{"requester"},
		hooks:   dropOut((*frame).rnr),
	},
	{
		Name: "rnr-fatal", Breaks: "A SEND that finds no receive gets NAK remote operational error.",
		Cases:   []string{"rnr/1"},
		Related: []string{"requester"},
		hooks:   changeOut((*frame).rnr, answer(bth.NakRemoteOperational)),
	},
	{
		Name: "rnr-acked", Breaks: "A SEND that finds no receive is acknowledged.",
		Cases:   []string{"rnr/9", "rnr/11"},
		Related: []string{"requester"},
		hooks:   changeOut((*frame).rnr, answer(bth.AckUnlimited)),
	},
	{
		Name: "rnr-psn", Breaks: "An RNR NAK has the PSN after that of the SEND.",
		Cases:   []string{"rnr/1"},
		Related: []string{"requester"},
		hooks:   changeOut((*frame).rnr, func(f *frame) { f.PSN = f.PSN.Add(1) }),
	},
	{
		Name: "rnr-msn", Breaks: "A SEND that gets an RNR NAK increments the MSN.",
		Cases:   []string{"rnr/1", "rnr/2", "rnr/3", "rnr/4", "rnr/5", "rnr/6", "rnr/7", "rnr/8"},
		Related: []string{"requester"},
		hooks:   changeOut((*frame).rnr, func(f *frame) { f.AETH.MSN = (f.AETH.MSN + 1) & 0xffffff }),
	},
	{
		Name: "rnr-timer", Breaks: "The timer of an RNR NAK is not that of the queue pair.",
		Cases: []string{"requester/19", "rnr/10"},
		Shows: "timer 5:", hooks: changeOut((*frame).rnr, answer(bth.RNR(5))),
	},
}
