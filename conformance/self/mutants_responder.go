package self

import (
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/verbs"
)

// syndrome returns a condition: an acknowledgement with one of the syndromes.
func syndrome(all ...bth.Syndrome) func(f *frame) bool {
	return func(f *frame) bool {
		for _, s := range all {
			if f.is(bth.OpAck) && f.AETH.Syndrome == s {
				return true
			}
		}
		return false
	}
}

// answer returns a change of the syndrome.
func answer(s bth.Syndrome) func(f *frame) { return func(f *frame) { f.AETH.Syndrome = s } }

// responderMutants break rules of an RC responder.
var responderMutants = []Mutant{
	{
		Name: "acks-invalid", Breaks: "An invalid request is acknowledged.",
		Cases:   []string{"responder/44"},
		Related: []string{"atomic"},
		hooks:   changeOut(syndrome(bth.NakInvalidRequest), answer(bth.AckUnlimited)),
	},
	{
		Name: "silent-invalid", Breaks: "An invalid request gets no NAK.",
		Cases:   []string{"responder/44"},
		Related: []string{"atomic"},
		hooks:   dropOut(syndrome(bth.NakInvalidRequest)),
	},
	{
		Name: "invalid-as-access", Breaks: "An invalid request gets NAK remote access error.",
		Cases:   []string{"responder/44"},
		Related: []string{"atomic"},
		hooks:   changeOut(syndrome(bth.NakInvalidRequest), answer(bth.NakRemoteAccess)),
	},
	{
		Name: "access-as-invalid", Breaks: "A request with a wrong key or range gets NAK invalid request.",
		Cases:   []string{"responder/75", "atomic/10"},
		Related: []string{"icrc"},
		hooks:   changeOut(syndrome(bth.NakRemoteAccess), answer(bth.NakInvalidRequest)),
	},
	{
		Name: "access-as-operational", Breaks: "A request with a wrong key or range gets NAK remote operational error.",
		Cases:   []string{"responder/75"},
		Related: []string{"atomic", "icrc"},
		hooks:   changeOut(syndrome(bth.NakRemoteAccess), answer(bth.NakRemoteOperational)),
	},
	{
		Name: "acks-access", Breaks: "A request with a wrong key or range is acknowledged.",
		Cases:   []string{"responder/75"},
		Related: []string{"atomic", "icrc"},
		hooks:   changeOut(syndrome(bth.NakRemoteAccess), answer(bth.AckUnlimited)),
	},
	{
		Name: "silent-access", Breaks: "A request with a wrong key or range gets no NAK.",
		Cases:   []string{"responder/75"},
		Related: []string{"atomic", "icrc"},
		hooks:   dropOut(syndrome(bth.NakRemoteAccess)),
	},
	{
		Name: "fatal-psn", Breaks: "A fatal NAK has the PSN after that of the request.",
		Cases:   []string{"responder/44", "responder/75"},
		Related: []string{"atomic", "icrc"},
		hooks: changeOut(syndrome(bth.NakInvalidRequest, bth.NakRemoteAccess),
			func(f *frame) { f.PSN = f.PSN.Add(1) }),
	},
	{
		Name: "nak-msn", Breaks: "A fatal NAK counts the refused message.",
		Cases: []string{"responder/20"},
		hooks: changeOut(func(f *frame) bool { return f.nak() && !f.seqNAK() },
			func(f *frame) { f.AETH.MSN = (f.AETH.MSN + 1) & 0xffffff }),
	},
	{
		Name: "lives-on", Breaks: "After a fatal NAK, requests are acknowledged.",
		Cases:   []string{"responder/44", "responder/90"},
		Related: []string{"atomic"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.flow.failed && f.rcRequest() {
				w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1))
				f.drop()
			}
		}),
	},
	{
		Name: "naks-again", Breaks: "After a fatal NAK, each request gets it again.",
		Cases:   []string{"responder/44", "responder/90"},
		Related: []string{"atomic"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.flow.failed && f.rcRequest() {
				w.toTester(w.ackFor(f, f.PSN, bth.NakInvalidRequest, f.flow.msn))
				f.drop()
			}
		}),
	},
	{
		Name: "executes-behind", Breaks: "Requests in flight behind a refused one are executed.",
		Cases: []string{"responder/91", "atomic/15"},
		hooks: func(w *world) hooks {
			refused, behind := map[*flow]bool{}, map[*flow][]*frame{}
			answer := func(f *frame) {
				g := w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1)
				if f.isAtomic() {
					g.Opcode = bth.RCAtomicAck
				}
				w.toTester(g)
			}
			return hooks{
				in: func(f *frame) {
					switch {
					case f.flow == nil || !f.rcRequest() || !f.admitted() || f.ahead < 0:
					case !refused[f.flow]:
						refused[f.flow] = f.wrongKey() || f.isAtomic() && f.AtomicETH.VA%8 != 0
					case f.flow.failed:
						answer(f)
					default:
						behind[f.flow] = append(behind[f.flow], f.clone())
						f.drop()
					}
				},
				out: func(f *frame) {
					if f.flow == nil || !f.nak() || f.seqNAK() {
						return
					}
					w.toTester(f.clone())
					f.drop()
					for _, g := range behind[f.flow] {
						answer(g)
					}
					delete(behind, f.flow)
				},
			}
		},
	},
	{
		Name: "ignores-keys", Breaks: "A request with a wrong R_Key is executed.",
		Cases:   []string{"atomic/9", "responder/75", "responder/76", "responder/77"},
		Related: []string{"icrc"},
		hooks: changeIn(func(f *frame) bool { return f.flow != nil && f.flow.target.RKey != 0 && f.rcRequest() },
			func(f *frame) {
				f.RETH.RKey, f.AtomicETH.RKey = f.flow.target.RKey, f.flow.target.RKey
			}),
	},
	{
		Name: "ignores-bounds", Breaks: "A request past the end of the region is executed.",
		Cases: []string{"responder/78", "responder/79", "responder/83"},
		hooks: tune(func(s *settings) {
			if s.length > 0 {
				s.spare = 1 << 20
			}
		}),
	},
	{
		Name: "ignores-wrap", Breaks: "A request whose range wraps around the address space is executed.",
		Cases: []string{"responder/81", "responder/82"},
		hooks: changeIn(func(f *frame) bool {
			return f.flow != nil && f.rcRequest() && f.RETH.DMALen > 0 && f.RETH.VA+uint64(f.RETH.DMALen) < f.RETH.VA
		}, func(f *frame) { f.RETH.VA = f.flow.target.VA }),
	},
	{
		Name: "ignores-rights", Breaks: "A region permits every operation.",
		Cases: []string{"atomic/11", "responder/84", "responder/85", "responder/86"},
		hooks: tune(func(s *settings) {
			if s.kind == verbs.RC && s.length > 0 && !s.sends {
				const all = verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
				s.region |= all
				s.attr.Access |= all
			}
		}),
	},
	{
		Name: "zero-length-key", Breaks: "The key of a request of length 0 is checked.",
		Cases: []string{"responder/26", "responder/27", "responder/88"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.is(bth.OpWrite, bth.OpReadRequest) && f.Opcode.Info().Starts() &&
				f.RETH.DMALen == 0 && f.RETH.RKey != f.flow.target.RKey {
				f.RETH.DMALen = 1
				f.RETH.VA = 0
			}
		}),
	},
	{
		Name: "executes-orphans", Breaks: "A MIDDLE or LAST without a FIRST is executed.",
		Cases: []string{"responder/44", "responder/45", "responder/46", "responder/47"},
		hooks: func(*world) hooks {
			open := map[*flow]bool{}
			return hooks{in: func(f *frame) {
				if f.flow == nil || !f.rcRequest() || !f.is(bth.OpWrite, bth.OpSend) || f.ahead != 0 {
					return
				}
				if i := f.Opcode.Info(); !i.Starts() && !open[f.flow] {
					f.RETH = bth.RETH{VA: f.flow.target.VA, RKey: f.flow.target.RKey, DMALen: uint32(len(f.Payload))}
					f.Opcode = f.Opcode&0xe0 | bth.RCSendOnly
					if i.Op == bth.OpWrite {
						f.Opcode = f.Opcode&0xe0 | bth.RCWriteOnly
					}
				}
				open[f.flow] = !f.Opcode.Info().Ends()
			}}
		},
	},
	{
		Name: "short-read", Breaks: "The last READ response lacks its last byte.",
		Cases:   []string{"responder/28", "responder/29"},
		Related: []string{"header", "icrc", "psn", "rnr"},
		hooks: changeOut(func(f *frame) bool {
			return (f.Opcode == bth.RCReadResponseLast || f.Opcode == bth.RCReadResponseOnly) && len(f.Payload) > 0
		}, func(f *frame) {
			f.Payload = f.Payload[:len(f.Payload)-1]
			f.Pad = bth.PadFor(len(f.Payload))
		}),
	},
	{
		Name: "read-data", Breaks: "A READ response has wrong data.",
		Cases: []string{"responder/30"},
		hooks: changeOut(func(f *frame) bool {
			return f.is(bth.OpReadResponse) && f.PSN%2 == 1 && len(f.Payload) > 8
		}, func(f *frame) {
			f.Payload = append([]byte{}, f.Payload...)
			f.Payload[len(f.Payload)-1] ^= 0x10
		}),
	},
	{
		Name: "read-opcodes", Breaks: "The READ responses of several packets are all MIDDLE.",
		Cases:   []string{"responder/28", "responder/29"},
		Related: []string{"icrc", "psn", "rnr"},
		hooks: changeOut(func(f *frame) bool { return f.Opcode == bth.RCReadResponseLast },
			func(f *frame) { f.Opcode = bth.RCReadResponseMiddle }),
	},
	{
		Name: "read-pad", Breaks: "The pad bytes of READ responses are not 0.",
		Cases: []string{"responder/31"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpReadResponse) && f.Pad > 0 }, func(f *frame) {
			f.header = func(ip []byte) []byte {
				ip[len(ip)-bth.ICRCLen-1] = 0x5a
				return wire.FixICRC(ip)
			}
		}),
	},
	{
		Name: "read-needs-ackreq", Breaks: "A READ without AckReq is not answered.",
		Cases:   []string{"responder/32"},
		Related: []string{"psn", "rnr"},
		hooks:   dropIn(func(f *frame) bool { return f.is(bth.OpReadRequest) && !f.AckReq }),
	},
	{
		Name: "reads-reordered", Breaks: "READs in flight are answered in the reverse order.",
		Cases:   []string{"responder/33"},
		Related: []string{"psn"},
		hooks: func(w *world) hooks {
			var reads [][]*frame
			var others []*frame // answers behind the READs
			return hooks{out: func(f *frame) {
				switch {
				case f.is(bth.OpReadResponse) && (f.Opcode.Info().Starts() || len(reads) == 0):
					reads = append(reads, []*frame{f.clone()})
				case f.is(bth.OpReadResponse):
					last := len(reads) - 1
					reads[last] = append(reads[last], f.clone())
				case len(reads) > 0:
					others = append(others, f.clone())
				default:
					return
				}
				f.drop()
				if len(reads) > 1 || len(reads[0]) > 1 || len(others) > 0 {
					return
				}
				w.after(5*time.Millisecond, func() {
					slices.Reverse(reads)
					for _, g := range append(slices.Concat(reads...), others...) {
						w.toTester(g)
					}
					reads, others = nil, nil
				})
			}}
		},
	},
	{
		Name: "read-empty-silent", Breaks: "A READ of length 0 is not answered.",
		Cases:   []string{"responder/19", "responder/27"},
		Related: []string{"header", "icrc"},
		hooks:   dropIn(func(f *frame) bool { return f.is(bth.OpReadRequest) && f.RETH.DMALen == 0 }),
	},
	{
		Name: "write-empty-silent", Breaks: "A WRITE of length 0 is not answered.",
		Cases: []string{"responder/88"},
		hooks: dropIn(func(f *frame) bool { return f.Opcode == bth.RCWriteOnly && f.RETH.DMALen == 0 }),
	},
	{
		Name: "pad-drop", Breaks: "A WRITE with a pad of three bytes is dropped.",
		Cases: []string{"responder/25"},
		hooks: dropIn(func(f *frame) bool { return f.rcRequest() && f.is(bth.OpWrite) && f.Pad == 3 }),
	},
	{
		Name: "takes-empty-write", Breaks: "A WRITE of 0 bytes is acknowledged by a queue pair without the right to write.",
		Cases: []string{"responder/87"},
		hooks: takes(func(_ message, f *frame) bool {
			return f.Opcode == bth.RCWriteOnly && f.RETH.DMALen == 0 && f.flow.target.RKey == 0
		}),
	},
	{
		Name: "answers-reserved", Breaks: "A reserved opcode is answered with an ACK.",
		Cases:   []string{"responder/54", "responder/55"},
		Related: []string{"uc", "ud"},
		hooks: in(func(w *world, f *frame) {
			if len(f.data) < bth.BTHLen || bth.Opcode(f.data[0]).Valid() {
				return
			}
			for _, flow := range w.flows {
				f.flow = flow
				w.toTester(w.ackFor(f, flow.next, bth.AckUnlimited, flow.msn))
			}
		}),
	},
	{
		Name: "few-reads", Breaks: "Only four READs are served at a time.",
		Cases: []string{"responder/34"},
		Shows: "4 of 160 READs", hooks: tune(func(s *settings) { s.attr.MaxDestRdAtomic = 4 }),
	},
	{
		Name: "refuses-last-byte", Breaks: "A WRITE that ends at the last byte of the region is refused.",
		Cases: []string{"responder/80"},
		hooks: in(func(w *world, f *frame) {
			if t := f.targetOf(); f.rcRequest() && f.is(bth.OpWrite) && f.Opcode.Info().Starts() && t.Length > 0 &&
				f.RETH.VA+uint64(f.RETH.DMALen) == t.VA+t.Length {
				f.RETH.VA++
			}
		}),
	},
	{
		Name: "imm-ignored", Breaks: "A request with immediate data is not answered.",
		Cases:   []string{"responder/23"},
		Related: []string{"rnr"},
		hooks:   dropIn(func(f *frame) bool { return f.rcRequest() && f.Opcode.Info().Headers&bth.HasImmDt != 0 }),
	},
	{
		Name: "takes-invalidate", Breaks: "A SEND with invalidate is executed as one without.",
		Cases: []string{"responder/89"},
		hooks: changeIn(func(f *frame) bool { return f.rcRequest() && f.Opcode == bth.RCSendOnlyInv },
			func(f *frame) { f.Opcode = bth.RCSendOnly }),
	},
	{
		Name: "solicited-ignored", Breaks: "A request with a solicited event is not answered.",
		Cases: []string{"responder/11"},
		hooks: dropIn(func(f *frame) bool { return f.rcRequest() && f.Solicited }),
	},
}

// targetOf returns the program of the endpoint that f belongs to.
func (f *frame) targetOf() conformance.Target {
	if f.flow == nil {
		return conformance.Target{}
	}
	return f.flow.target
}

// wrongKey reports whether f is an RC request that names a key other than that of its program.
func (f *frame) wrongKey() bool {
	key := f.flow.target.RKey
	switch h := f.Opcode.Info().Headers; {
	case key == 0:
		return false
	case h&bth.HasRETH != 0:
		return f.RETH.DMALen > 0 && f.RETH.RKey != key
	case h&bth.HasAtomicETH != 0:
		return f.AtomicETH.RKey != key
	}
	return false
}
