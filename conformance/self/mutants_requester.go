package self

import (
	"time"

	"github.com/gorxe/gorxe/bth"
)

// requesterMutants break rules of an RC requester.
var requesterMutants = []Mutant{
	{
		Name: "short-segments", Breaks: "The FIRST packet of a message is shorter than the path MTU.",
		Cases: []string{"requester/1"},
		hooks: changeOut(func(f *frame) bool { return f.rcRequest() && f.Opcode.Info().Pos == bth.First },
			func(f *frame) { f.Payload = f.Payload[:len(f.Payload)/2] }),
	},
	{
		Name: "never-asks", Breaks: "AckReq is never set.",
		Cases: []string{"requester/2"},
		Shows: "AckReq in 0 of",
		hooks: changeOut((*frame).rcRequest, func(f *frame) { f.AckReq = false }),
	},
	{
		Name: "obeys-credits", Breaks: "After an ACK without credits, one more message is sent.",
		Cases: []string{"requester/10"},
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
		Cases: []string{"requester/3"},
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			// Later than what a requester may repeat before the last acknowledgement arrives.
			if g := h.sent[f.PSN]; g != nil && f.ack() && f.PSN == h.last {
				w.after(45*time.Millisecond, func() { w.toTester(g.clone()) })
			}
		}),
	},
	{
		Name: "repeats-after-second-ack", Breaks: "A second copy of an ACK causes a repetition.",
		Cases: []string{"requester/9"},
		hooks: func(w *world) hooks {
			seen := map[bth.PSN]bool{}
			return requester(nil, func(w *world, h *history, f *frame) {
				if !f.ack() || len(seen) > maxKept {
					return
				}
				if g := h.sent[f.PSN]; g != nil && seen[f.PSN] {
					w.toTester(g.clone())
				}
				seen[f.PSN] = true
			})(w)
		},
	},
	{
		Name: "goes-back-too-far", Breaks: "A timeout repeats the whole message, also its acknowledged packets.",
		Cases: []string{"requester/4"},
		hooks: requester(func(w *world, h *history, f *frame, again bool) {
			if g := h.sent[f.PSN.Sub(1)]; again && g != nil && h.hasAck && g.PSN.Diff(h.acked) <= 0 {
				w.toTester(g.clone())
			}
		}, nil),
	},
	{
		Name: "takes-ghost-ack", Breaks: "An ACK of a PSN that was not sent acknowledges everything.",
		Cases: []string{"requester/5"},
		hooks: requester(nil, func(_ *world, h *history, f *frame) {
			if f.ack() && len(h.order) > 0 && f.PSN.Diff(h.last) > 0 {
				f.PSN = h.last
			}
		}),
	},
	{
		Name: "takes-old-ack", Breaks: "An ACK of an old PSN acknowledges everything.",
		Cases: []string{"requester/6"},
		hooks: requester(nil, func(_ *world, h *history, f *frame) {
			if open := h.open(); f.ack() && len(open) > 0 && f.PSN.Diff(open[0].PSN) < 0 {
				f.PSN = h.last
			}
		}),
	},
	{
		Name: "takes-second-ack", Breaks: "The second copy of an ACK acknowledges the next request.",
		Cases: []string{"requester/39"},
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
		Name: "dies-of-ghost-nak", Breaks: "A NAK of a PSN that was not sent stops the queue pair.",
		Cases: []string{"requester/7"},
		hooks: requester(nil, func(_ *world, h *history, f *frame) {
			if open := h.open(); f.nak() && f.PSN.Diff(h.last) > 0 && len(open) > 0 {
				f.PSN = open[0].PSN
			}
		}),
	},
	{
		Name: "takes-ghost-nak", Breaks: "A NAK of a PSN that was not sent causes a repetition.",
		Cases: []string{"requester/7"},
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if f.nak() && len(h.order) > 0 && f.PSN.Diff(h.last) > 0 {
				for _, g := range h.open() {
					w.toTester(g.clone())
				}
			}
		}),
	},
	{
		Name: "takes-bad-icrc", Breaks: "A response with a wrong ICRC is taken.",
		Cases: []string{"requester/8", "requester/36"},
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.badICRC && f.Opcode.Info().Response() },
			func(f *frame) { f.badICRC = false }),
	},
	{
		Name: "deaf-to-gap-nak", Breaks: "A NAK for a gap is ignored.",
		Cases: []string{"requester/11"},
		hooks: requester(nil, func(_ *world, _ *history, f *frame) {
			if f.seqNAK() {
				f.drop()
			}
		}),
	},
	{
		Name: "deaf-to-second-nak", Breaks: "The second NAK for a gap is ignored.",
		Cases: []string{"requester/13"},
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
		Cases: []string{"requester/11"},
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN.Sub(1)]; f.seqNAK() && g != nil {
				w.toTester(g.clone())
			}
		}),
	},
	{
		Name: "changes-opcode", Breaks: "A request that is sent again has another opcode.",
		Cases: []string{"requester/12", "requester/38"},
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
		Cases: []string{"requester/12"},
		hooks: requester(func(_ *world, _ *history, f *frame, again bool) {
			if again && len(f.Payload) > 0 {
				f.Payload = append([]byte{}, f.Payload...)
				f.Payload[0] ^= 0xff
			}
		}, nil),
	},
	{
		Name: "ignores-fatal-nak", Breaks: "A fatal NAK is ignored.",
		Cases: []string{"requester/14", "requester/15", "requester/16", "requester/17"},
		Shows: "the NAK is ignored",
		hooks: requester(nil, func(_ *world, _ *history, f *frame) {
			if f.nak() && !f.seqNAK() {
				f.drop()
			}
		}),
	},
	{
		Name: "survives-fatal-nak", Breaks: "After a fatal NAK, requests are sent again.",
		Cases: []string{"requester/14", "requester/15", "requester/16"},
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if f.nak() && !f.seqNAK() {
				for _, g := range h.open() {
					w.toTester(g.clone())
				}
			}
		}),
	},
	{
		Name: "impatient", Breaks: "A request is sent again before the timeout.",
		Cases: []string{"requester/18"},
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
		Cases: []string{"requester/18"},
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
		Cases: []string{"requester/19"},
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
		Cases: []string{"requester/19"},
		hooks: requester(func(w *world, h *history, f *frame, again bool) {
			if again {
				w.toTester(f.clone())
			}
		}, nil),
	},
	{
		Name: "ignores-rnr-wait", Breaks: "After an RNR NAK, the request is sent again at once.",
		Cases: []string{"requester/20"},
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN]; f.rnr() && g != nil {
				w.toTester(g.clone())
			}
		}),
	},
	{
		Name: "dies-of-rnr", Breaks: "After an RNR NAK, nothing is sent again.",
		Cases: []string{"requester/22"},
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
		Cases: []string{"requester/21"},
		hooks: requester(nil, func(w *world, h *history, f *frame) {
			if g := h.sent[f.PSN]; f.rnr() && g != nil {
				w.after(time.Millisecond, func() { w.toTester(g.clone()) })
			}
		}),
	},
	{
		Name: "rnr-one-less", Breaks: "The second RNR NAK stops the queue pair, whatever the RNR retry count.",
		Cases: []string{"requester/22"},
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
}
