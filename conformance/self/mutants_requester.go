package self

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/verbs"
)

// requesterMutants break rules of an RC requester.
var requesterMutants = []Mutant{
	{
		Name: "short-segments", Breaks: "The FIRST packet of a message is shorter than the path MTU.",
		hooks: changeOut(func(f *frame) bool { return f.rcRequest() && f.Opcode.Info().Pos == bth.First },
			func(f *frame) { f.Payload = f.Payload[:len(f.Payload)/2] }),
	},
	{
		Name: "never-asks", Breaks: "AckReq is never set.",
		Shows: "AckReq in 0 of",
		hooks: changeOut((*frame).rcRequest, func(f *frame) { f.AckReq = false }),
	},
	{
		Name: "obeys-credits", Breaks: "After an ACK without credits, one more message is sent.",
		Shows: "1 of 7 messages came",
		hooks: func(w *world) hooks {
			// The first message and one more; clientLen is four packets.
			const messages = 2 * clientLen / int32(pathMTU)
			credits := false
			return requester(func(_ *world, h *history, f *frame, _ bool) {
				if !credits && f.PSN.Diff(f.flow.target.PSN) >= messages {
					f.drop()
				}
			}, func(_ *world, _ *history, f *frame) {
				credits = credits || f.ack() && f.AETH.Syndrome.Credits() != 0
			})(w)
		},
	},
	{
		Name: "resends-acked", Breaks: "Requests that are acknowledged are sent again.",
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN]; g != nil && f.ack() {
				w.toTester(g.clone())
			}
		}),
	},
	{
		Name: "goes-back-too-far", Breaks: "A timeout repeats the whole message, also its acknowledged packets.",
		hooks: requester(func(w *world, h *history, f *frame, again bool) {
			if g := h.sent[f.PSN.Sub(1)]; again && g != nil && h.hasAck && g.PSN.Diff(h.acked) <= 0 {
				w.toTester(g.clone())
			}
		}, nil),
	},
	{
		Name: "takes-ghost-ack", Breaks: "An ACK of a PSN that was not sent acknowledges everything.",
		hooks: requester(nil, func(_ *world, h *history, f *frame) {
			if f.ack() && len(h.order) > 0 && f.PSN.Diff(h.last) > 0 {
				f.PSN = h.last
			}
		}),
	},
	{
		Name: "takes-old-ack", Breaks: "An ACK of an old PSN acknowledges everything.",
		hooks: requester(nil, func(_ *world, h *history, f *frame) {
			if open := h.open(); f.ack() && len(open) > 0 && f.PSN.Diff(open[0].PSN) < 0 {
				f.PSN = h.last
			}
		}),
	},
	{
		Name: "takes-second-ack", Breaks: "The second copy of an ACK acknowledges the next request.",
		hooks: func(w *world) hooks {
			count := map[bth.PSN]int{}
			return requester(nil, func(_ *world, h *history, f *frame) {
				if f.ack() && len(count) < maxKept {
					count[f.PSN]++
					if count[f.PSN] > 1 {
						f.PSN = h.last
					}
				}
			})(w)
		},
	},
	{
		Name: "takes-ghost-nak", Breaks: "A NAK of a PSN that was not sent causes a repetition.",
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if f.nak() && len(h.order) > 0 && f.PSN.Diff(h.last) > 0 {
				for _, g := range h.open() {
					w.toTester(g.clone())
				}
			}
		}),
	},
	{
		Name: "dies-of-ghost-nak", Breaks: "A NAK of a PSN that was not sent stops the queue pair.",
		hooks: requester(nil, func(_ *world, h *history, f *frame) {
			if open := h.open(); f.nak() && f.PSN.Diff(h.last) > 0 && len(open) > 0 {
				f.PSN = open[0].PSN
			}
		}),
	},
	{
		Name: "takes-bad-icrc", Breaks: "A response with a wrong ICRC is taken.",
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.badICRC && f.Opcode.Info().Response() },
			func(f *frame) { f.badICRC = false }),
	},
	{
		Name: "deaf-to-gap-nak", Breaks: "A NAK for a gap is ignored.",
		hooks: requester(nil, func(_ *world, _ *history, f *frame) {
			if f.seqNAK() {
				f.drop()
			}
		}),
	},
	{
		Name: "deaf-to-second-nak", Breaks: "The second NAK for a gap is ignored.",
		hooks: func(w *world) hooks {
			n := 0
			return requester(nil, func(_ *world, _ *history, f *frame) {
				if f.seqNAK() {
					if n++; n > 1 {
						f.drop()
					}
				}
			})(w)
		},
	},
	{
		Name: "nak-repeats-earlier", Breaks: "A NAK for a gap repeats the requests before its PSN too.",
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN.Sub(1)]; f.seqNAK() && g != nil {
				w.toTester(g.clone())
			}
		}),
	},
	{
		Name: "changes-opcode", Breaks: "A request that is sent again has another opcode.",
		hooks: requester(func(_ *world, _ *history, f *frame, again bool) {
			if !again {
				return
			}
			switch f.Opcode {
			case bth.RCWriteMiddle:
				f.Opcode = bth.RCWriteFirst
			case bth.RCWriteLast:
				f.Opcode = bth.RCWriteOnly
			case bth.RCSendMiddle:
				f.Opcode = bth.RCSendFirst
			case bth.RCSendLast:
				f.Opcode = bth.RCSendOnly
			}
		}, nil),
	},
	{
		Name: "changes-payload", Breaks: "A request that is sent again has another payload.",
		hooks: requester(func(_ *world, _ *history, f *frame, again bool) {
			if again && len(f.Payload) > 0 {
				f.Payload = append([]byte{}, f.Payload...)
				f.Payload[0] ^= 0xff
			}
		}, nil),
	},
	{
		Name: "survives-fatal-nak", Breaks: "After a fatal NAK, requests are sent again.",
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if f.nak() && !f.seqNAK() {
				for _, g := range h.open() {
					w.toTester(g.clone())
				}
			}
		}),
	},
	{
		Name: "ignores-fatal-nak", Breaks: "A fatal NAK is ignored.",
		Shows: "the NAK is ignored",
		hooks: requester(nil, func(_ *world, _ *history, f *frame) {
			if f.nak() && !f.seqNAK() {
				f.drop()
			}
		}),
	},
	{
		Name: "impatient", Breaks: "A request is sent again before the timeout.",
		hooks: requester(func(w *world, h *history, f *frame, again bool) {
			if !again && f.AckReq {
				psn := f.PSN
				w.after(500*time.Microsecond, func() {
					if g := h.sent[psn]; g != nil && (!h.hasAck || psn.Diff(h.acked) > 0) {
						w.toTester(g.clone())
					}
				})
			}
		}, nil),
	},
	{
		Name: "patient", Breaks: "A request is sent again after more than four times the timeout.",
		hooks: func(w *world) hooks {
			repeats := map[bth.PSN]int{}
			return requester(func(_ *world, _ *history, f *frame, again bool) {
				if again && len(repeats) < maxKept {
					if repeats[f.PSN]++; repeats[f.PSN] < 5 {
						f.drop()
					}
				}
			}, nil)(w)
		},
	},
	{
		Name: "gives-up-early", Breaks: "A request is sent again only once.",
		hooks: func(w *world) hooks {
			repeats := map[bth.PSN]int{}
			return requester(func(_ *world, _ *history, f *frame, again bool) {
				if again && len(repeats) < maxKept {
					if repeats[f.PSN]++; repeats[f.PSN] > 1 {
						f.drop()
					}
				}
			}, nil)(w)
		},
	},
	{
		Name: "never-gives-up", Breaks: "A request is sent again more often than the retry count says.",
		hooks: requester(func(w *world, h *history, f *frame, again bool) {
			if again {
				w.toTester(f.clone())
			}
		}, nil),
	},
	{
		Name: "ignores-rnr-wait", Breaks: "After an RNR NAK, the request is sent again at once.",
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN]; f.rnr() && g != nil {
				w.toTester(g.clone())
			}
		}),
	},
	{
		Name: "dies-of-rnr", Breaks: "After an RNR NAK, nothing is sent again.",
		hooks: func(w *world) hooks {
			dead := false
			return requester(func(_ *world, _ *history, f *frame, again bool) {
				if dead {
					f.drop()
				}
			}, func(_ *world, _ *history, f *frame) { dead = dead || f.rnr() })(w)
		},
	},
	{
		Name: "rnr-for-ever", Breaks: "RNR NAKs are answered more often than the RNR retry count says.",
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN]; f.rnr() && g != nil {
				w.after(time.Millisecond, func() { w.toTester(g.clone()) })
			}
		}),
	},
	{
		Name: "rnr-one-less", Breaks: "The second RNR NAK stops the queue pair, whatever the RNR retry count.",
		hooks: func(w *world) hooks {
			n := 0
			return requester(func(_ *world, _ *history, f *frame, again bool) {
				if n > 1 {
					f.drop()
				}
			}, func(_ *world, _ *history, f *frame) {
				if f.rnr() {
					n++
				}
			})(w)
		},
	},
	{
		Name: "many-reads", Breaks: "More READs are open than the responder permits.",
		hooks: tune(func(s *settings) {
			if s.sends && s.client == verbs.WRRead {
				s.attr.MaxRdAtomic = 16
			}
		}),
	},
	{
		Name: "read-not-repeated", Breaks: "A READ is never requested again.",
		hooks: requester(func(_ *world, h *history, f *frame, again bool) {
			if f.is(bth.OpReadRequest) && (again || f.PSN.Diff(h.last) < 0) {
				f.drop()
			}
		}, nil),
	},
	{
		Name: "read-repeated-whole", Breaks: "A READ that is requested again has the address of its begin, but a later PSN.",
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
		Name: "takes-wrong-opcode", Breaks: "The opcode and the length of a READ response are not checked.",
		hooks: fixResponses,
	},
	{
		Name: "strict-first", Breaks: "A MIDDLE response where a FIRST is due is dropped, as the specification wants it.",
		Supports: true,
		hooks: func(w *world) hooks {
			read := map[*flow]bth.PSN{}
			return requester(func(_ *world, _ *history, f *frame, _ bool) {
				if f.is(bth.OpReadRequest) {
					read[f.flow] = f.PSN
				}
			}, func(_ *world, _ *history, f *frame) {
				if psn, ok := read[f.flow]; ok && f.Opcode == bth.RCReadResponseMiddle && f.PSN == psn {
					f.drop()
				}
			})(w)
		},
	},
	{
		Name: "ack-completes-read", Breaks: "An ACK completes a READ.",
		hooks: func(w *world) hooks {
			read := map[*flow]*frame{}
			return requester(func(_ *world, _ *history, f *frame, _ bool) {
				if f.is(bth.OpReadRequest) && read[f.flow] == nil {
					read[f.flow] = f.clone()
				}
			}, func(w *world, _ *history, f *frame) {
				r := read[f.flow]
				if !f.ack() || r == nil {
					return
				}
				// The endpoint gets the data that the tester did not send.
				for _, g := range responses(f, r) {
					w.toDevice(g)
				}
				read[f.flow] = nil
			})(w)
		},
	},
	{
		Name: "repeats-after-duplicate", Breaks: "A second copy of a READ response causes a repetition.",
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
		Name: "read-one-psn", Breaks: "A READ takes one PSN, whatever its number of responses.",
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
