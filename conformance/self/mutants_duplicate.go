package self

import (
	"github.com/gorxe/gorxe/bth"
)

// duplicateOf returns a condition: an RC request of the operations that was received before.
func duplicateOf(ops ...bth.Operation) func(f *frame) bool {
	return func(f *frame) bool { return f.flow != nil && f.ahead < 0 && f.is(ops...) }
}

// duplicateMutants break rules of duplicate requests. rnr/11 repeats SENDs of a burst, of which the
// endpoint may have received some.
var duplicateMutants = []Mutant{
	{
		Name: "repeats-write", Breaks: "A duplicate WRITE is executed again.",
		Cases:   []string{"responder/35", "responder/39"},
		Related: []string{"psn"},
		hooks:   duplicate(bth.OpWrite),
	},
	{
		Name: "repeats-send", Breaks: "A duplicate SEND is executed again.",
		Cases:   []string{"responder/36", "responder/37"},
		Related: []string{"psn", "rnr"},
		hooks:   duplicate(bth.OpSend),
	},
	{
		Name: "repeats-atomic", Breaks: "A duplicate atomic is executed again.",
		Cases:   []string{"atomic/6", "atomic/7", "responder/43"},
		Related: []string{"psn"},
		hooks:   duplicate(bth.OpFetchAdd, bth.OpCmpSwap),
	},
	{
		Name: "silent-duplicate", Breaks: "A duplicate SEND or WRITE is not acknowledged.",
		Cases:   []string{"responder/35", "responder/36", "responder/38"},
		Related: []string{"psn", "rnr"},
		Shows:   "no reply, as from hfi1",
		hooks:   dropIn(duplicateOf(bth.OpSend, bth.OpWrite)),
	},
	{
		Name: "silent-duplicate-read", Breaks: "A duplicate READ is not answered.",
		Cases: []string{"responder/40"},
		hooks: dropIn(duplicateOf(bth.OpReadRequest)),
	},
	{
		Name: "silent-duplicate-atomic", Breaks: "A duplicate atomic is not answered.",
		Cases:   []string{"atomic/5"},
		Related: []string{"psn"},
		hooks:   dropIn(duplicateOf(bth.OpFetchAdd, bth.OpCmpSwap)),
	},
	{
		Name: "naks-duplicate", Breaks: "A duplicate gets NAK PSN sequence error.",
		Cases:   []string{"responder/35"},
		Related: []string{"atomic", "psn", "rnr"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.ahead < 0 {
				w.toTester(w.ackFor(f, f.flow.next, bth.NakPSNSequence, f.flow.msn))
				f.drop()
			}
		}),
	},
	{
		Name: "acks-duplicate-alone", Breaks: "A duplicate gets an acknowledgement of its own PSN, not of the newest.",
		Cases:   []string{"responder/35"},
		Related: []string{"psn", "rnr"},
		hooks: in(func(w *world, f *frame) {
			if duplicateOf(bth.OpSend, bth.OpWrite)(f) {
				w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn))
				f.drop()
			}
		}),
	},
	{
		Name: "duplicate-read-differs", Breaks: "A duplicate READ gets other bytes.",
		Cases: []string{"responder/40", "responder/41"},
		hooks: func(*world) hooks {
			seen := map[bth.PSN]bool{}
			return hooks{
				in: func(f *frame) {
					if duplicateOf(bth.OpReadRequest)(f) && len(seen) < maxKept {
						for i := range min(f.flow.span(f), maxKept) {
							seen[f.PSN.Add(i)] = true
						}
					}
				},
				out: func(f *frame) {
					if f.is(bth.OpReadResponse) && seen[f.PSN] && len(f.Payload) > 0 {
						f.Payload = append([]byte{}, f.Payload...)
						f.Payload[0] ^= 0xff
					}
				},
			}
		},
	},
	{
		Name: "duplicate-read-any", Breaks: "A duplicate READ that is no part of the first one is answered.",
		Cases: []string{"responder/42"},
		hooks: func(*world) hooks {
			first := map[bth.PSN]bth.RETH{}
			return hooks{in: func(f *frame) {
				if f.flow == nil || !f.is(bth.OpReadRequest) {
					return
				}
				if r, ok := first[f.PSN]; ok && f.ahead < 0 {
					f.RETH = r
				} else if f.ahead == 0 && len(first) < maxKept {
					first[f.PSN] = f.RETH
				}
			}}
		},
	},
	{
		Name: "duplicate-atomic-new", Breaks: "A duplicate atomic gets the value after it, not that before it.",
		Cases:   []string{"atomic/5"},
		Related: []string{"psn"},
		hooks: func(*world) hooks {
			seen := map[bth.PSN]uint64{}
			return hooks{
				in: func(f *frame) {
					if duplicateOf(bth.OpFetchAdd, bth.OpCmpSwap)(f) && len(seen) < maxKept {
						seen[f.PSN] = f.AtomicETH.SwapAdd
					}
				},
				out: func(f *frame) {
					if n, ok := seen[f.PSN]; ok && f.is(bth.OpAtomicAck) {
						f.AtomicAck += n | 1
					}
				},
			}
		},
	},
	{
		Name: "duplicate-msn", Breaks: "A duplicate increments the MSN.",
		Cases:   []string{"responder/35"},
		Related: []string{"psn", "rnr"},
		hooks: func(*world) hooks {
			extra := map[*flow]uint32{}
			return hooks{
				in: func(f *frame) {
					if f.flow != nil && f.ahead < 0 && f.Opcode.Info().Ends() {
						extra[f.flow]++
					}
				},
				out: func(f *frame) {
					if f.flow != nil && f.hasAETH() {
						f.AETH.MSN = (f.AETH.MSN + extra[f.flow]) & 0xffffff
					}
				},
			}
		},
	},
}

// renumber makes the endpoint execute requests that it must not execute: it gives them the PSN that
// the endpoint expects, and shifts the PSNs of all later ones.
type renumber struct {
	shift uint32              // PSN at the endpoint less that at the tester
	extra uint32              // messages that the tester does not count
	back  map[bth.PSN]bth.PSN // PSN at the tester, by that at the endpoint
}

// maxBack is the maximum number of entries of renumber.back.
const maxBack = 1 << 12

// executeIf returns hooks that make the endpoint execute the requests that pick selects as if they
// were expected.
func executeIf(pick func(f *frame) bool) func(*world) hooks {
	return func(*world) hooks {
		n := &renumber{back: map[bth.PSN]bth.PSN{}}
		return hooks{
			in: func(f *frame) {
				if f.flow == nil || !f.rcRequest() {
					return
				}
				if f.ahead == 0 || !pick(f) || len(n.back) > maxBack {
					f.PSN = f.PSN.Add(n.shift)
					return
				}
				next, span := f.flow.next.Add(n.shift), f.flow.span(f)
				for i := range min(span, maxBack) {
					n.back[next.Add(i)] = f.PSN.Add(i)
				}
				f.PSN = next
				n.shift += span
				n.extra++
			},
			out: func(f *frame) {
				if f.err != nil || !f.Opcode.Info().Response() {
					return
				}
				if psn, ok := n.back[f.PSN]; ok {
					f.PSN = psn
				} else {
					f.PSN = f.PSN.Sub(n.shift & 0xffffff)
				}
				if f.hasAETH() {
					f.AETH.MSN = (f.AETH.MSN - n.extra) & 0xffffff
				}
			},
		}
	}
}

// duplicate returns hooks that make the endpoint execute duplicates of the operations again.
func duplicate(ops ...bth.Operation) func(*world) hooks {
	return executeIf(func(f *frame) bool { return f.ahead < 0 && f.is(ops...) })
}
