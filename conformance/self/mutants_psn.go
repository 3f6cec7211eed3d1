package self

import (
	"time"

	"github.com/gorxe/gorxe/bth"
)

// seqNAK reports whether f is a NAK for a gap.
func (f *frame) seqNAK() bool { return f.nak() && f.AETH.Syndrome == bth.NakPSNSequence }

// psnMutants break rules of packet sequence numbers and acknowledgements. In a burst of rnr/11,
// SENDs behind a refused one may be ahead of the expected PSN.
var psnMutants = []Mutant{
	{
		Name: "silent-gap", Breaks: "A request beyond a gap gets no NAK.",
		Cases:   []string{"psn/1", "psn/2", "psn/3"},
		Related: []string{"responder"},
		hooks:   dropOut((*frame).seqNAK),
	},
	{
		Name: "nak-ahead", Breaks: "The NAK of a gap has the PSN of the request, not the expected one.",
		Cases:   []string{"psn/1"},
		Related: []string{"responder"},
		hooks:   changeOut((*frame).seqNAK, func(f *frame) { f.PSN = f.PSN.Add(1) }),
	},
	{
		Name: "nak-code-of-gap", Breaks: "The NAK of a gap is NAK invalid request.",
		Cases:   []string{"psn/1"},
		Related: []string{"responder"},
		hooks:   changeOut((*frame).seqNAK, func(f *frame) { f.AETH.Syndrome = bth.NakInvalidRequest }),
	},
	{
		Name: "executes-ahead", Breaks: "A request beyond a gap is executed at once.",
		Cases:   []string{"psn/1", "psn/8"},
		Related: []string{"responder", "rnr"},
		hooks:   executeIf(func(f *frame) bool { return f.ahead > 0 }),
	},
	{
		Name: "acks-ahead", Breaks: "A request beyond a gap is acknowledged and not executed.",
		Cases:   []string{"psn/1", "psn/7", "psn/8"},
		Related: []string{"responder", "rnr"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.ahead > 0 && f.AckReq {
				w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1))
				f.drop()
			}
		}),
	},
	{
		Name: "naks-twice", Breaks: "Each request beyond a gap gets a NAK.",
		Cases: []string{"psn/2"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.ahead > 0 && len(f.flow.kept) > 1 {
				w.toTester(w.ackFor(f, f.flow.next, bth.NakPSNSequence, f.flow.msn))
			}
		}),
	},
	{
		Name: "one-nak-ever", Breaks: "After the first NAK, a later gap gets none.",
		Cases: []string{"psn/3"},
		hooks: func(*world) hooks {
			n := 0
			return hooks{out: func(f *frame) {
				if f.seqNAK() {
					if n++; n > 1 {
						f.drop()
					}
				}
			}}
		},
	},
	{
		Name: "gap-msn", Breaks: "A request beyond a gap increments the MSN.",
		Cases: []string{"psn/1", "psn/4", "psn/5", "psn/6"},
		hooks: changeOut((*frame).seqNAK, func(f *frame) { f.AETH.MSN = (f.AETH.MSN + 1) & 0xffffff }),
	},
	{
		Name: "nak-overtakes", Breaks: "The NAK of a request behind a READ comes before the data of the READ.",
		Cases: []string{"psn/15", "responder/97", "rnr/12"},
		hooks: holdBack(bth.OpReadResponse, nil),
	},
	{
		Name: "no-wrap", Breaks: "After PSN 0xffffff, requests are dropped.",
		Cases: []string{"psn/9", "psn/10", "psn/11", "psn/12"},
		hooks: dropIn(func(f *frame) bool {
			return f.flow != nil && f.rcRequest() && f.PSN < f.flow.local.PSN&0xff0000
		}),
	},
	{
		Name: "wrong-after-wrap", Breaks: "A response after the wrap of the PSN has a wrong one.",
		Cases: []string{"psn/9"},
		hooks: changeOut(func(f *frame) bool {
			return f.flow != nil && f.err == nil && f.Opcode.Info().Response() &&
				f.PSN < f.flow.local.PSN&0xff0000
		}, func(f *frame) { f.PSN = f.PSN.Sub(1 << 16) }),
	},
	{
		Name: "ignores-ackreq", Breaks: "AckReq inside a message is not answered.",
		Cases: []string{"responder/16"},
		hooks: func(*world) hooks {
			middle := map[bth.PSN]bool{}
			return hooks{
				in: func(f *frame) {
					if f.rcRequest() && f.AckReq && !f.Opcode.Info().Ends() && len(middle) < maxKept {
						middle[f.PSN] = true
					}
				},
				out: func(f *frame) {
					if f.ack() && middle[f.PSN] {
						f.drop()
					}
				},
			}
		},
	},
	{
		Name: "acks-unreceived", Breaks: "An acknowledgement names a PSN that the endpoint did not receive.",
		Cases:   []string{"responder/35", "responder/36"},
		Related: []string{"psn", "rnr"},
		hooks:   changeOut(func(f *frame) bool { return f.ack() }, func(f *frame) { f.PSN = f.PSN.Add(2) }),
	},
	{
		Name: "acks-too-little", Breaks: "An acknowledgement of several requests names the last but one.",
		Cases:   []string{"responder/15"},
		Related: []string{"psn", "rnr"},
		hooks: func(*world) hooks {
			silent, several := map[*flow]bool{}, map[bth.PSN]bool{}
			return hooks{
				in: func(f *frame) {
					if f.flow == nil || !f.rcRequest() {
						return
					}
					if f.AckReq && silent[f.flow] && len(several) < maxKept {
						several[f.PSN] = true
					}
					silent[f.flow] = !f.AckReq
				},
				out: func(f *frame) {
					if f.ack() && several[f.PSN] {
						f.PSN = f.PSN.Sub(1)
					}
				},
			}
		},
	},
	{
		Name: "msn-frozen", Breaks: "The MSN does not change.",
		Cases:   []string{"psn/4"},
		Related: []string{"atomic", "icrc", "responder", "rnr"},
		hooks: func(*world) hooks {
			first := map[*flow]uint32{}
			return hooks{out: func(f *frame) {
				if f.flow != nil && f.hasAETH() {
					if _, ok := first[f.flow]; !ok {
						first[f.flow] = f.AETH.MSN
					}
					f.AETH.MSN = first[f.flow]
				}
			}}
		},
	},
	{
		Name: "msn-of-packets", Breaks: "The MSN counts packets instead of messages.",
		Cases:   []string{"responder/16", "responder/17"},
		Related: []string{"icrc", "psn", "rnr"},
		hooks: changeOut(func(f *frame) bool { return f.flow != nil && f.hasAETH() },
			func(f *frame) { f.AETH.MSN = uint32(f.PSN.Diff(f.flow.local.PSN)+1) & 0xffffff }),
	},
	{
		Name: "msn-of-read", Breaks: "A READ does not increment the MSN.",
		Cases: []string{"responder/19"},
		hooks: msnWithout(bth.OpReadRequest),
	},
	{
		Name: "msn-of-atomic", Breaks: "An atomic does not increment the MSN.",
		Cases: []string{"atomic/12"},
		hooks: msnWithout(bth.OpFetchAdd, bth.OpCmpSwap),
	},
	{
		Name: "msn-of-send", Breaks: "A SEND does not increment the MSN.",
		Cases: []string{"responder/18", "responder/24", "rnr/11"},
		hooks: msnWithout(bth.OpSend),
	},
	{
		Name: "msn-of-write", Breaks: "A WRITE does not increment the MSN.",
		Cases:   []string{"responder/17"},
		Related: []string{"icrc", "psn", "rnr"},
		hooks:   msnWithout(bth.OpWrite),
	},
	{
		Name: "reserved-credits", Breaks: "An acknowledgement has a credit code that is not defined.",
		Cases: []string{"responder/22"},
		Shows: "credit code",
		hooks: changeOut(func(f *frame) bool { return f.ack() }, func(f *frame) { f.AETH.Syndrome = 0x1e }),
	},
	{
		Name: "half-window", Breaks: "A request 2^23-1 ahead is dropped without a NAK.",
		Cases: []string{"psn/13"},
		hooks: dropIn(func(f *frame) bool { return f.ahead > 1<<22 || f.ahead < -1<<22 }),
	},
	{
		Name: "read-takes-one", Breaks: "A READ takes one PSN at the responder, whatever its number of responses.",
		Cases:   []string{"psn/14"},
		Related: []string{"congestion", "responder", "rnr"},
		hooks: func(w *world) hooks {
			type read struct{ begin, end bth.PSN }
			latest := map[*flow]read{}
			return hooks{in: func(f *frame) {
				if f.flow == nil || !f.rcRequest() || f.ahead != 0 {
					return
				}
				if r, ok := latest[f.flow]; ok && f.PSN == r.end {
					w.toTester(w.ackFor(f, r.begin.Add(1), bth.NakPSNSequence, f.flow.msn))
					f.drop()
				}
				delete(latest, f.flow)
				if n := f.flow.span(f); n > 1 {
					latest[f.flow] = read{f.PSN, f.PSN.Add(n)}
				}
			}}
		},
	},
}

// msnWithout makes hooks: the MSN does not count messages with the operations.
func msnWithout(ops ...bth.Operation) func(*world) hooks {
	return func(*world) hooks {
		type message struct {
			psn bth.PSN
			n   uint32 // messages up to it that are not counted
		}
		lost := map[*flow][]message{}
		return hooks{
			in: func(f *frame) {
				if f.flow != nil && f.is(ops...) && f.ahead == 0 && f.Opcode.Info().Ends() &&
					len(lost[f.flow]) < maxKept {
					all := lost[f.flow]
					lost[f.flow] = append(all, message{f.PSN, uint32(len(all)) + 1})
				}
			},
			out: func(f *frame) {
				if f.flow == nil || !f.hasAETH() {
					return
				}
				n := uint32(0)
				for _, m := range lost[f.flow] {
					if f.PSN.Diff(m.psn) >= 0 {
						n = m.n
					}
				}
				f.AETH.MSN = (f.AETH.MSN - n) & 0xffffff
			},
		}
	}
}

// holdBack delays the responses with an operation by 3 ms and then sends those that came meanwhile,
// in another order if arrange is not nil.
func holdBack(op bth.Operation, arrange func([]*frame)) func(*world) hooks {
	return func(w *world) hooks {
		var held []*frame
		return hooks{out: func(f *frame) {
			if !f.is(op) {
				return
			}
			held = append(held, f.clone())
			f.drop()
			if len(held) > 1 {
				return
			}
			w.after(3*time.Millisecond, func() {
				if arrange != nil {
					arrange(held)
				}
				for _, g := range held {
					w.toTester(g)
				}
				held = nil
			})
		}}
	}
}
