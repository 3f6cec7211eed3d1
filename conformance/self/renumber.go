package self

import "github.com/gorxe/gorxe/bth"

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
