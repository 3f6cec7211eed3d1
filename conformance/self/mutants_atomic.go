package self

import "github.com/gorxe/gorxe/bth"

// isAtomic reports whether f is an atomic request.
func (f *frame) isAtomic() bool { return f.is(bth.OpFetchAdd, bth.OpCmpSwap) }

// atomicMutants break rules of atomic operations.
var atomicMutants = []Mutant{
	{
		Name: "misaligned-atomic", Breaks: "An atomic at an address that is no multiple of 8 is executed.",
		Cases: []string{"atomic/8"},
		hooks: changeIn((*frame).isAtomic, func(f *frame) { f.AtomicETH.VA &^= 7 }),
	},
	{
		Name: "misaligned-access", Breaks: "An atomic at an address that is no multiple of 8 gets NAK remote access error.",
		Cases: []string{"atomic/8", "atomic/15"},
		hooks: func(*world) hooks {
			odd := map[bth.PSN]bool{}
			return hooks{
				in: func(f *frame) {
					if f.isAtomic() && f.AtomicETH.VA%8 != 0 && len(odd) < maxKept {
						odd[f.PSN] = true
					}
				},
				out: func(f *frame) {
					if f.nak() && odd[f.PSN] {
						f.AETH.Syndrome = bth.NakRemoteAccess
					}
				},
			}
		},
	},
	{
		Name: "atomic-new-value", Breaks: "An atomic returns the value after it.",
		Cases: []string{"atomic/3", "atomic/6", "atomic/13"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAtomicAck) }, func(f *frame) { f.AtomicAck++ }),
	},
	{
		Name: "always-swaps", Breaks: "A compare and swap stores the value also if the comparison fails.",
		Cases: []string{"atomic/4"},
		hooks: func(*world) hooks {
			value := uint64(0)
			return hooks{
				in: func(f *frame) {
					if f.is(bth.OpCmpSwap) && f.ahead == 0 {
						f.AtomicETH.Compare = value
					}
					if f.is(bth.OpFetchAdd) && f.ahead == 0 {
						value += f.AtomicETH.SwapAdd
					}
					if f.is(bth.OpCmpSwap) && f.ahead == 0 {
						value = f.AtomicETH.SwapAdd
					}
				},
			}
		},
	},
	{
		Name: "never-swaps", Breaks: "A compare and swap never stores the value.",
		Cases: []string{"atomic/3"},
		hooks: changeIn(func(f *frame) bool { return f.is(bth.OpCmpSwap) },
			func(f *frame) { f.AtomicETH.Compare ^= 1 << 63 }),
	},
	{
		Name: "adds-wrong", Breaks: "A fetch and add adds 32 bits only.",
		Cases: []string{"atomic/1", "atomic/2"},
		hooks: changeIn(func(f *frame) bool { return f.is(bth.OpFetchAdd) },
			func(f *frame) { f.AtomicETH.SwapAdd &= 0xffffffff }),
	},
}

// rnrMutants break rules of a responder without a receive.
var rnrMutants = []Mutant{
	{
		Name: "rnr-silent", Breaks: "A SEND that finds no receive gets no RNR NAK.",
		Cases: []string{"rnr/1"},
		hooks: dropOut((*frame).rnr),
	},
	{
		Name: "rnr-fatal", Breaks: "A SEND that finds no receive gets NAK remote operational error.",
		Cases: []string{"rnr/1"},
		hooks: changeOut((*frame).rnr, answer(bth.NakRemoteOperational)),
	},
	{
		Name: "rnr-acked", Breaks: "A SEND that finds no receive is acknowledged.",
		Cases: []string{"rnr/9", "rnr/11"},
		hooks: changeOut((*frame).rnr, answer(bth.AckUnlimited)),
	},
	{
		Name: "rnr-psn", Breaks: "An RNR NAK has the PSN after that of the SEND.",
		Cases: []string{"rnr/1"},
		hooks: changeOut((*frame).rnr, func(f *frame) { f.PSN = f.PSN.Add(1) }),
	},
	{
		Name: "rnr-msn", Breaks: "A SEND that gets an RNR NAK increments the MSN.",
		Cases: []string{"rnr/1", "rnr/2", "rnr/3", "rnr/4", "rnr/5", "rnr/6", "rnr/7", "rnr/8"},
		hooks: changeOut((*frame).rnr, func(f *frame) { f.AETH.MSN = (f.AETH.MSN + 1) & 0xffffff }),
	},
	{
		Name: "rnr-timer", Breaks: "The timer of an RNR NAK is not that of the queue pair.",
		Cases: []string{"rnr/10"},
		Shows: "timer 5:", hooks: changeOut((*frame).rnr, answer(bth.RNR(5))),
	},
}
