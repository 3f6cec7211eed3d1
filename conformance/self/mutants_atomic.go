package self

import "github.com/gorxe/gorxe/bth"

// isAtomic reports whether f is an atomic request.
func (f *frame) isAtomic() bool { return f.is(bth.OpFetchAdd, bth.OpCmpSwap) }

// atomicMutants break rules of atomic operations.
var atomicMutants = []Mutant{
	{
		Name: "misaligned-atomic", Breaks: "An atomic at an address that is no multiple of 8 is executed.",
		hooks: changeIn((*frame).isAtomic, func(f *frame) { f.AtomicETH.VA &^= 7 }),
	},
	{
		Name: "misaligned-access", Breaks: "An atomic at an address that is no multiple of 8 gets NAK remote access error.",
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
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAtomicAck) }, func(f *frame) { f.AtomicAck++ }),
	},
	{
		Name: "always-swaps", Breaks: "A compare and swap stores the value also if the comparison fails.",
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
		hooks: changeIn(func(f *frame) bool { return f.is(bth.OpCmpSwap) },
			func(f *frame) { f.AtomicETH.Compare ^= 1 << 63 }),
	},
	{
		Name: "adds-wrong", Breaks: "A fetch and add adds 32 bits only.",
		hooks: changeIn(func(f *frame) bool { return f.is(bth.OpFetchAdd) },
			func(f *frame) { f.AtomicETH.SwapAdd &= 0xffffffff }),
	},
	{
		Name: "atomic-acked", Breaks: "An atomic gets a plain acknowledgement.",
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAtomicAck) }, func(f *frame) { f.Opcode = bth.RCAck }),
	},
}
