package self

import (
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
)

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
		Cases: []string{"atomic/8"},
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
		Cases: []string{"atomic/3"},
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
		Name: "atomic-acked", Breaks: "An atomic gets a plain acknowledgement.",
		Cases:   []string{"atomic/12"},
		Related: []string{"icrc", "psn"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAtomicAck) },
			func(f *frame) { f.Opcode = bth.RCAck }),
	},
	{
		Name: "adds-wrong", Breaks: "A fetch and add adds 32 bits only.",
		Cases: []string{"atomic/1", "atomic/2"},
		hooks: changeIn(func(f *frame) bool { return f.is(bth.OpFetchAdd) },
			func(f *frame) { f.AtomicETH.SwapAdd &= 0xffffffff }),
	},
	{
		Name: "atomic-needs-ackreq", Breaks: "An atomic without AckReq is not answered.",
		Cases: []string{"atomic/14"},
		hooks: dropIn(func(f *frame) bool { return f.isAtomic() && !f.AckReq }),
	},
	{
		Name: "atomics-reordered", Breaks: "The responses to atomics in flight come in the reverse order.",
		Cases:   []string{"atomic/13"},
		Related: []string{"psn"},
		hooks:   holdBack(bth.OpAtomicAck, slices.Reverse),
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
		Cases: []string{"rnr/1"},
		hooks: changeOut((*frame).rnr, answer(bth.AckUnlimited)),
	},
	{
		Name: "rnr-psn", Breaks: "An RNR NAK has the PSN after that of the SEND.",
		Cases: []string{"rnr/1"},
		hooks: changeOut((*frame).rnr, func(f *frame) { f.PSN = f.PSN.Add(1) }),
	},
	{
		Name: "rnr-msn", Breaks: "A SEND that gets an RNR NAK increments the MSN.",
		Cases: []string{"rnr/1", "rnr/7"},
		hooks: changeOut((*frame).rnr, func(f *frame) { f.AETH.MSN = (f.AETH.MSN + 1) & 0xffffff }),
	},
	{
		Name: "rnr-timer", Breaks: "The timer of an RNR NAK is not that of the queue pair.",
		Cases: []string{"rnr/10"},
		Shows: "timer 5:", hooks: changeOut((*frame).rnr, answer(bth.RNR(5))),
	},
	{
		Name: "empty-needs-no-receive", Breaks: "A SEND without data is acknowledged without a receive.",
		Cases: []string{"rnr/2"},
		hooks: takes(func(_ message, f *frame) bool {
			return f.unready() && f.Opcode == bth.RCSendOnly && len(f.Payload) == 0
		}),
	},
	{
		Name: "imm-needs-no-receive", Breaks: "A WRITE with immediate data is acknowledged without a receive.",
		Cases: []string{"rnr/3", "rnr/4"},
		hooks: takes(func(_ message, f *frame) bool {
			return f.unready() && f.is(bth.OpWrite) && f.Opcode.Info().Headers&bth.HasImmDt != 0
		}),
	},
	{
		Name: "rnr-late", Breaks: "A SEND of several packets gets no RNR NAK before its last packet.",
		Cases: []string{"rnr/5"},
		hooks: dropIn(func(f *frame) bool { return f.unready() && f.is(bth.OpSend) && !f.Opcode.Info().Ends() }),
	},
	{
		Name: "rnr-once", Breaks: "A message that got an RNR NAK is acknowledged when it is sent again, without a receive.",
		Cases: []string{"rnr/6"},
		hooks: func(w *world) hooks {
			refused := map[bth.PSN]bool{}
			return hooks{
				in: func(f *frame) {
					if f.unready() && f.is(bth.OpSend) && refused[f.PSN] {
						w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1))
						f.drop()
					}
				},
				out: func(f *frame) {
					if f.rnr() && len(refused) < maxKept {
						refused[f.PSN] = true
					}
				},
			}
		},
	},
	{
		Name: "rnr-behind", Breaks: "A WRITE behind a message that got an RNR NAK is acknowledged.",
		Cases: []string{"rnr/8"},
		hooks: func(w *world) hooks {
			waits := map[*flow]bth.PSN{}
			return hooks{in: func(f *frame) {
				if !f.unready() {
					return
				}
				if f.is(bth.OpSend) {
					waits[f.flow] = f.PSN
				}
				if psn, ok := waits[f.flow]; ok && f.is(bth.OpWrite) && f.PSN.Diff(psn) > 0 {
					g := w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1)
					w.after(2*time.Millisecond, func() { w.toTester(g) })
					f.drop()
				}
			}}
		},
	},
	{
		Name: "rnr-silent-duplicate", Breaks: "A duplicate is not acknowledged while a message waits for a receive.",
		Cases: []string{"rnr/9"},
		hooks: func(*world) hooks {
			waits := map[*flow]bool{}
			return hooks{
				in: func(f *frame) {
					if f.flow != nil && waits[f.flow] && f.rcRequest() && f.ahead < 0 {
						f.drop()
					}
				},
				out: func(f *frame) {
					if f.flow != nil && f.hasAETH() {
						waits[f.flow] = f.rnr()
					}
				},
			}
		},
	},
}

// unready reports whether f is an RC request to a program that posts no receive.
func (f *frame) unready() bool {
	return f.flow != nil && f.rcRequest() && f.flow.target.Receives == 0 && f.flow.target.RKey != 0
}
