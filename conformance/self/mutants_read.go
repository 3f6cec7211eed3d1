package self

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/verbs"
)

// readMutants break rules of a requester of READs.
var readMutants = []Mutant{
	{
		Name: "many-reads", Breaks: "More READs are open than the responder permits.",
		Cases: []string{"requester/28"},
		hooks: tune(func(s *settings) {
			if s.sends && s.client == verbs.WRRead {
				s.attr.MaxRdAtomic = 16
			}
		}),
	},
	{
		Name: "read-not-repeated", Breaks: "A READ is never requested again.",
		Cases: []string{"requester/26"},
		hooks: requester(func(_ *world, h *history, f *frame, again bool) {
			if f.is(bth.OpReadRequest) && (again || f.PSN.Diff(h.last) < 0) {
				f.drop()
			}
		}, nil),
	},
	{
		Name: "read-repeated-whole", Breaks: "A READ that is requested again has the address of its begin, but a later PSN.",
		Cases: []string{"requester/24", "requester/25"},
		hooks: func(w *world) hooks {
			var first bth.RETH
			var psn bth.PSN
			known := false
			return requester(func(_ *world, _ *history, f *frame, _ bool) {
				if !f.is(bth.OpReadRequest) {
					return
				}
				if d := f.PSN.Diff(psn); known && d > 0 && f.RETH.RKey == first.RKey && f.RETH.VA > first.VA &&
					f.RETH.VA < first.VA+uint64(first.DMALen) {
					f.RETH.VA = first.VA
				} else {
					first, psn, known = f.RETH, f.PSN, true
				}
			}, nil)(w)
		},
	},
	{
		Name: "takes-wrong-order", Breaks: "READ responses are taken in any order.",
		Cases: []string{"requester/24", "requester/37"},
		hooks: func(w *world) hooks {
			next := map[*flow]bth.PSN{}
			return requester(func(_ *world, _ *history, f *frame, _ bool) {
				if f.is(bth.OpReadRequest) {
					next[f.flow] = f.PSN
				}
			}, func(_ *world, _ *history, f *frame) {
				if f.is(bth.OpReadResponse) {
					f.PSN = next[f.flow]
					next[f.flow] = f.PSN.Add(1)
				}
			})(w)
		},
	},
	{
		Name: "repeats-after-duplicate", Breaks: "A second copy of a READ response causes a repetition.",
		Cases: []string{"requester/37"},
		hooks: func(w *world) hooks {
			seen := map[bth.PSN]bool{}
			return requester(nil, func(w *world, h *history, f *frame) {
				if !f.is(bth.OpReadResponse) || len(seen) > maxKept {
					return
				}
				if seen[f.PSN] && len(h.order) > 0 {
					w.toTester(h.sent[h.order[len(h.order)-1]].clone())
				}
				seen[f.PSN] = true
			})(w)
		},
	},
	{
		Name: "takes-wrong-opcode", Breaks: "The opcode and the length of a READ response are not checked.",
		Cases: []string{"requester/30", "requester/31", "requester/32", "requester/33",
			"requester/34"},
		hooks: fixResponses,
	},
	{
		Name: "takes-middle-first", Breaks: "A MIDDLE response where a FIRST is due becomes data of the READ.",
		Cases: []string{"requester/29"},
		Shows: "the READ was completed",
		hooks: func(w *world) hooks {
			read := map[*flow]bth.PSN{}
			return requester(func(_ *world, _ *history, f *frame, _ bool) {
				if f.is(bth.OpReadRequest) {
					read[f.flow] = f.PSN
				}
			}, func(_ *world, _ *history, f *frame) {
				if psn, ok := read[f.flow]; ok && f.Opcode == bth.RCReadResponseMiddle && f.PSN == psn {
					f.Opcode = bth.RCReadResponseFirst
				}
			})(w)
		},
	},
	{
		Name: "ack-completes-read", Breaks: "An ACK completes a READ.",
		Cases: []string{"requester/27"},
		hooks: completesRead((*frame).ack),
	},
	{
		Name: "atomic-completes-read", Breaks: "An atomic acknowledgement completes a READ.",
		Cases: []string{"requester/35"},
		hooks: completesRead(func(f *frame) bool { return f.is(bth.OpAtomicAck) }),
	},
	{
		Name: "read-one-psn", Breaks: "A READ takes one PSN, whatever its number of responses.",
		Cases: []string{"requester/23"},
		hooks: func(w *world) hooks {
			shift := map[*flow]uint32{}
			return requester(func(_ *world, _ *history, f *frame, _ bool) {
				n := shift[f.flow]
				if f.is(bth.OpReadRequest) {
					shift[f.flow] += f.flow.span(f) - 1
				}
				f.PSN = f.PSN.Sub(n & 0xffffff)
			}, nil)(w)
		},
	},
}

// responses returns the responses to the READ r, with data of zeros, in datagrams like f.
func responses(f, r *frame) (all []*frame) {
	n := f.flow.span(r)
	for i := range min(n, maxKept) {
		g := f.clone()
		g.canonical = nil
		g.Opcode = bth.RCReadResponseMiddle
		size := f.flow.target.MTU
		switch {
		case n == 1:
			g.Opcode = bth.RCReadResponseOnly
		case i == 0:
			g.Opcode = bth.RCReadResponseFirst
		case i == n-1:
			g.Opcode = bth.RCReadResponseLast
		}
		if i == n-1 {
			size = int(r.RETH.DMALen) - int(n-1)*size
		}
		g.PSN, g.Payload, g.Pad = r.PSN.Add(i), make([]byte, size), bth.PadFor(size)
		all = append(all, g)
	}
	return all
}

// fixResponses corrects the opcodes and the lengths of READ responses.
func fixResponses(w *world) hooks {
	reads := map[*flow]*frame{}
	return requester(func(_ *world, _ *history, f *frame, _ bool) {
		if f.is(bth.OpReadRequest) {
			reads[f.flow] = f.clone()
		}
	}, func(_ *world, _ *history, f *frame) {
		r := reads[f.flow]
		if r == nil || !f.is(bth.OpReadResponse) {
			return
		}
		for _, g := range responses(f, r) {
			if g.PSN == f.PSN {
				f.Opcode = g.Opcode
				f.Payload = append(append([]byte{}, f.Payload...), g.Payload...)[:len(g.Payload)]
				f.Pad = g.Pad
			}
		}
	})(w)
}

// completesRead makes hooks: a response that pick selects completes the oldest READ.
func completesRead(pick func(f *frame) bool) func(*world) hooks {
	return func(w *world) hooks {
		read := map[*flow]*frame{}
		return requester(func(_ *world, _ *history, f *frame, _ bool) {
			if f.is(bth.OpReadRequest) && read[f.flow] == nil {
				read[f.flow] = f.clone()
			}
		}, func(w *world, _ *history, f *frame) {
			r := read[f.flow]
			if !pick(f) || r == nil {
				return
			}
			// The endpoint gets the data that the tester did not send.
			for _, g := range responses(f, r) {
				w.toDevice(g)
			}
			read[f.flow] = nil
		})(w)
	}
}
