package self

import "github.com/gorxe/gorxe/bth"

// ucRequest reports whether f is a UC request to or from a UC queue pair of the endpoint.
func (f *frame) ucRequest() bool {
	return f.flow != nil && f.flow.kind == bth.ServiceUC && f.request(bth.ServiceUC)
}

// incomingUC makes hooks that see UC requests to the endpoint.
func incomingUC(f func(w *world, f *frame)) func(*world) hooks {
	return in(func(w *world, x *frame) {
		if x.ucRequest() {
			f(w, x)
		}
	})
}

// ucMutants break rules of unreliable connections.
var ucMutants = []Mutant{
	{
		Name: "uc-acks", Breaks: "A UC request is acknowledged.",
		Cases: []string{"uc/1", "uc/19"},
		hooks: incomingUC(func(w *world, f *frame) {
			if f.Opcode.Info().Ends() {
				w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, 1))
			}
		}),
	},
	{
		Name: "uc-ignores-gaps", Breaks: "A UC message that lost a packet is executed without it.",
		Cases: []string{"uc/3"},
		hooks: func(*world) hooks {
			next := map[*flow]bth.PSN{}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() || f.badICRC || f.badIP != nil {
					return
				}
				if psn, ok := next[f.flow]; ok {
					f.PSN = psn
				}
				next[f.flow] = f.PSN.Add(1)
			}}
		},
	},
	{
		Name: "uc-naks-gaps", Breaks: "A gap of UC gets a NAK.",
		Cases: []string{"uc/3"},
		hooks: func(w *world) hooks {
			next := map[*flow]bth.PSN{}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() {
					return
				}
				if psn, ok := next[f.flow]; ok && psn != f.PSN {
					w.toTester(w.ackFor(f, psn, bth.NakPSNSequence, 1))
				}
				next[f.flow] = f.PSN.Add(1)
			}}
		},
	},
	{
		Name: "uc-stops-at-gap", Breaks: "After a gap, no UC message is received.",
		Cases: []string{"uc/6", "uc/20"},
		hooks: func(*world) hooks {
			next, dead := map[*flow]bth.PSN{}, map[*flow]bool{}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() {
					return
				}
				if psn, ok := next[f.flow]; ok && psn != f.PSN {
					dead[f.flow] = true
				}
				next[f.flow] = f.PSN.Add(1)
				if dead[f.flow] {
					f.drop()
				}
			}}
		},
	},
	{
		Name: "uc-orphans", Breaks: "A UC MIDDLE or LAST without a FIRST is executed.",
		Cases: []string{"uc/4", "uc/7"},
		hooks: func(*world) hooks {
			open := map[*flow]bool{}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() {
					return
				}
				i := f.Opcode.Info()
				switch orphan := !i.Starts() && !open[f.flow]; {
				case orphan && i.Ends():
					f.RETH = bth.RETH{VA: f.flow.target.VA, RKey: f.flow.target.RKey, DMALen: uint32(len(f.Payload))}
					f.Opcode = bth.UCSendOnly
					if i.Op == bth.OpWrite {
						f.Opcode = bth.UCWriteOnly
					}
				case orphan && i.Op == bth.OpSend:
					f.Opcode = bth.UCSendFirst
				}
				open[f.flow] = !i.Ends()
			}}
		},
	},
	{
		Name: "uc-mixes", Breaks: "A UC SEND may go on as a WRITE, and a WRITE as a SEND.",
		Cases: []string{"uc/9", "uc/22"},
		hooks: func(*world) hooks {
			kind := map[*flow]bth.Operation{}
			change := map[bth.Opcode]bth.Opcode{
				bth.UCWriteMiddle: bth.UCSendMiddle, bth.UCWriteLast: bth.UCSendLast,
				bth.UCSendMiddle: bth.UCWriteMiddle, bth.UCSendLast: bth.UCWriteLast,
			}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() {
					return
				}
				if f.Opcode.Info().Starts() {
					kind[f.flow] = f.Opcode.Info().Op
				} else if op, ok := change[f.Opcode]; ok && !f.is(kind[f.flow]) {
					f.Opcode = op
				}
			}}
		},
	},
	{
		Name: "uc-first-inside", Breaks: "A UC message that begins inside another one is dropped.",
		Cases: []string{"uc/5", "uc/8", "uc/21"},
		Shows: "the SEND ONLY inside another SEND is dropped too",
		hooks: func(*world) hooks {
			open := map[*flow]bool{}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() {
					return
				}
				i := f.Opcode.Info()
				if i.Starts() && open[f.flow] {
					f.drop()
				}
				open[f.flow] = !i.Ends()
			}}
		},
	},
	{
		Name: "uc-any-length", Breaks: "The length of UC packets is not checked.",
		Cases: []string{"uc/10", "uc/11", "uc/26"},
		hooks: incomingUC(func(_ *world, f *frame) {
			mtu := f.flow.target.MTU
			p := append([]byte{}, f.Payload...)
			switch i := f.Opcode.Info(); {
			case !i.Ends() && len(p) < mtu:
				f.Payload, f.Pad = append(p, make([]byte, mtu-len(p))...), 0
			case len(p) > mtu:
				f.Payload, f.Pad = p[:mtu], 0
			}
		}),
	},
	{
		Name: "uc-cuts", Breaks: "A UC SEND longer than the receive is cut to its length.",
		Cases: []string{"uc/12"},
		hooks: func(*world) hooks {
			n := map[*flow]int{}
			return hooks{in: func(f *frame) {
				if !f.ucRequest() || !f.is(bth.OpSend) {
					return
				}
				i := f.Opcode.Info()
				if i.Starts() {
					n[f.flow] = 0
				}
				if n[f.flow] += len(f.Payload); n[f.flow] > f.flow.target.ReceiveLen {
					f.drop()
					return
				}
				if n[f.flow] == f.flow.target.ReceiveLen && !i.Ends() {
					f.Opcode = bth.UCSendLast
				}
			}}
		},
	},
	{
		Name: "uc-no-immediate", Breaks: "A UC SEND with immediate data is dropped.",
		Cases: []string{"uc/13"},
		hooks: incomingUC(func(_ *world, f *frame) {
			if f.Opcode.Info().Headers&bth.HasImmDt != 0 {
				f.drop()
			}
		}),
	},
	{
		Name: "uc-any-service", Breaks: "An RC request to a UC queue pair is executed.",
		Cases: []string{"uc/14", "uc/28"},
		hooks: in(func(_ *world, f *frame) {
			if f.flow != nil && f.flow.kind == bth.ServiceUC && f.err == nil && !f.ucRequest() {
				f.Opcode = f.Opcode&0x1f | bth.UCSendFirst
				if !f.Opcode.Valid() {
					f.Opcode = bth.UCSendOnly
				}
			}
		}),
	},
	{
		Name: "uc-any-header", Breaks: "The P_Key, version and ICRC of UC packets are not checked.",
		Cases: []string{"uc/15"},
		hooks: in(func(w *world, f *frame) {
			switch {
			case f.badIP != nil:
			case w.badVersion(f, bth.ServiceUC):
				f.data[1] &^= 0x0f
				f.reseal()
			case f.ucRequest():
				f.PKey, f.badICRC = 0xffff, false
			}
		}),
	},
	{
		Name: "uc-no-wrap", Breaks: "After PSN 0xffffff, UC messages are dropped.",
		Cases: []string{"uc/17"},
		hooks: incomingUC(func(_ *world, f *frame) {
			if f.PSN < f.flow.local.PSN&0xff0000 {
				f.drop()
			}
		}),
	},
	{
		Name: "uc-ignores-keys", Breaks: "A UC WRITE with a wrong R_Key is executed.",
		Cases: []string{"uc/23"},
		hooks: incomingUC(func(_ *world, f *frame) {
			if f.is(bth.OpWrite) {
				f.RETH.RKey = f.flow.target.RKey
			}
		}),
	},
	{
		Name: "uc-ignores-range", Breaks: "A UC WRITE outside the region is executed inside it.",
		Cases: []string{"uc/24"},
		hooks: incomingUC(func(_ *world, f *frame) {
			t := f.flow.target
			if f.is(bth.OpWrite) && f.Opcode.Info().Starts() && uint64(f.RETH.DMALen) <= t.Length &&
				f.RETH.VA-t.VA > t.Length-uint64(f.RETH.DMALen) {
				f.RETH.VA = t.VA + t.Length - uint64(f.RETH.DMALen)
			}
		}),
	},
	{
		Name: "uc-answers-read", Breaks: "A READ or an atomic to a UC queue pair gets a NAK.",
		Cases: []string{"uc/28"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.flow.kind == bth.ServiceUC && (f.is(bth.OpReadRequest) || f.isAtomic()) {
				w.toTester(w.ackFor(f, f.PSN, bth.NakInvalidRequest, 0))
			}
		}),
	},
	{
		Name: "uc-any-dmalen", Breaks: "The length of a UC WRITE may differ from its DMA length.",
		Cases: []string{"uc/25"},
		hooks: incomingUC(func(_ *world, f *frame) {
			if f.Opcode == bth.UCWriteOnly || f.Opcode == bth.UCWriteOnlyImm {
				f.RETH.DMALen = uint32(len(f.Payload))
			}
		}),
	},
	{
		Name: "uc-sends-short", Breaks: "FIRST packets of the endpoint's UC messages are shorter than the path MTU.",
		Cases: []string{"uc/18"},
		hooks: changeOut(func(f *frame) bool { return f.ucRequest() && f.Opcode.Info().Pos == bth.First },
			func(f *frame) { f.Payload = f.Payload[:len(f.Payload)/2] }),
	},
	{
		Name: "uc-sends-gaps", Breaks: "The PSNs of the endpoint's UC messages have gaps.",
		Cases: []string{"uc/18"},
		hooks: changeOut((*frame).ucRequest, func(f *frame) {
			f.PSN = f.PSN.Add(uint32(f.PSN.Diff(f.flow.target.PSN)) & 0xff)
		}),
	},
	{
		Name: "uc-drops", Breaks: "A UC message of several packets is dropped.",
		Cases: []string{"uc/2", "uc/19"},
		hooks: incomingUC(func(_ *world, f *frame) {
			if !f.Opcode.Info().Starts() {
				f.drop()
			}
		}),
	},
	{
		Name: "uc-write-data", Breaks: "A UC WRITE stores wrong data.",
		Cases: []string{"uc/19"},
		hooks: changeIn(func(f *frame) bool { return f.ucRequest() && f.is(bth.OpWrite) && len(f.Payload) > 0 },
			func(f *frame) {
				f.Payload = append([]byte{}, f.Payload...)
				f.Payload[0] ^= 0x10
			}),
	},
	{
		Name: "uc-rnr", Breaks: "A UC request that finds no receive gets an RNR NAK.",
		Cases: []string{"uc/27"},
		Shows: "RNR",
		hooks: incomingUC(func(w *world, f *frame) {
			if f.flow.target.Receives == 0 && f.Opcode.Info().Headers&bth.HasImmDt != 0 {
				w.toTester(w.ackFor(f, f.PSN, bth.RNR(12), 0))
			}
		}),
	},
	{
		Name: "uc-remembers", Breaks: "A repeated UC message is dropped as a duplicate.",
		Cases: []string{"uc/16"},
		Shows: "a repeated SEND is dropped",
		hooks: func(*world) hooks {
			seen := map[bth.PSN]bool{}
			return hooks{in: func(f *frame) {
				if f.ucRequest() && len(seen) < maxKept {
					if seen[f.PSN] {
						f.drop()
					}
					seen[f.PSN] = true
				}
			}}
		},
	},
}
