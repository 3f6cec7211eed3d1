package self

import "github.com/gorxe/gorxe/bth"

// message is the SEND or WRITE in progress on a connection, before a packet.
type message struct {
	open bool
	op   bth.Operation
	got  int // bytes so far
	want int // DMA length of a WRITE
}

// takes makes hooks: the endpoint acknowledges the expected request if pick selects it, and does
// not execute it. m is the message in progress.
func takes(pick func(m message, f *frame) bool) func(*world) hooks {
	return func(w *world) hooks {
		all := map[*flow]message{}
		return hooks{in: func(f *frame) {
			if f.flow == nil || !f.rcRequest() || !f.admitted() || f.ahead != 0 {
				return
			}
			m := all[f.flow]
			if pick(m, f) {
				w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1))
				f.drop()
			}
			if i := f.Opcode.Info(); i.Op == bth.OpSend || i.Op == bth.OpWrite {
				if i.Starts() {
					m = message{op: i.Op, want: int(f.RETH.DMALen)}
				}
				m.open = !i.Ends()
				m.got += len(f.Payload)
				all[f.flow] = m
			}
		}}
	}
}

// at reports whether f is a SEND or WRITE at the position of its message.
func (f *frame) at(p bth.Position) bool {
	return f.is(bth.OpSend, bth.OpWrite) && f.Opcode.Info().Pos == p
}

func (f *frame) mtu() int { return f.flow.target.MTU }

// invalidMutants execute requests that are invalid (IBA 9.7.4.1).
var invalidMutants = []Mutant{
	{
		Name: "takes-first-inside", Breaks: "A FIRST in the middle of a message is acknowledged.",
		Cases: []string{"responder/48"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.at(bth.First) }),
	},
	{
		Name: "takes-only-inside", Breaks: "An ONLY in the middle of a message of its kind is acknowledged.",
		Cases: []string{"responder/49", "responder/53"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.at(bth.Only) && f.is(m.op) }),
	},
	{
		Name: "takes-other-kind", Breaks: "A WRITE in the middle of a SEND, or the reverse, is acknowledged.",
		Cases: []string{"responder/50", "responder/51"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.is(bth.OpSend, bth.OpWrite) && !f.is(m.op) }),
	},
	{
		Name: "takes-read-inside", Breaks: "A READ in the middle of a message is acknowledged.",
		Cases: []string{"responder/52"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.is(bth.OpReadRequest) }),
	},
	{
		Name: "takes-short-first", Breaks: "A FIRST shorter than the path MTU is acknowledged.",
		Cases: []string{"responder/56", "responder/58"},
		hooks: takes(func(_ message, f *frame) bool { return f.at(bth.First) && len(f.Payload) < f.mtu() }),
	},
	{
		Name: "takes-long-first", Breaks: "A FIRST longer than the path MTU is acknowledged.",
		Cases: []string{"responder/57"},
		hooks: takes(func(_ message, f *frame) bool { return f.at(bth.First) && len(f.Payload) > f.mtu() }),
	},
	{
		Name: "takes-short-middle", Breaks: "A MIDDLE shorter than the path MTU is acknowledged.",
		Cases: []string{"responder/59"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.at(bth.Middle) && len(f.Payload) < f.mtu() }),
	},
	{
		Name: "takes-long-middle", Breaks: "A MIDDLE longer than the path MTU is acknowledged.",
		Cases: []string{"responder/60"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.at(bth.Middle) && len(f.Payload) > f.mtu() }),
	},
	{
		Name: "takes-empty-last", Breaks: "A LAST without data is acknowledged.",
		Cases: []string{"responder/61"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.at(bth.Last) && len(f.Payload) == 0 }),
	},
	{
		Name: "takes-long-last", Breaks: "A LAST longer than the path MTU is acknowledged.",
		Cases: []string{"responder/62"},
		hooks: takes(func(m message, f *frame) bool { return m.open && f.at(bth.Last) && len(f.Payload) > f.mtu() }),
	},
	{
		Name: "takes-long-only", Breaks: "An ONLY longer than the path MTU is acknowledged.",
		Cases: []string{"responder/63", "responder/64"},
		hooks: takes(func(_ message, f *frame) bool { return f.at(bth.Only) && len(f.Payload) > f.mtu() }),
	},
	{
		Name: "takes-too-much", Breaks: "A WRITE with more data than its DMA length is acknowledged.",
		Cases: []string{"responder/65", "responder/67"},
		hooks: takes(func(m message, f *frame) bool { return f.is(bth.OpWrite) && f.dataOf(m)-f.wantOf(m) > 0 }),
	},
	{
		Name: "takes-too-little", Breaks: "A WRITE with less data than its DMA length is acknowledged.",
		Cases: []string{"responder/66", "responder/68", "responder/71"},
		hooks: takes(func(m message, f *frame) bool {
			return f.is(bth.OpWrite) && f.Opcode.Info().Ends() && f.dataOf(m) < f.wantOf(m) && f.wantOf(m) <= 1<<31
		}),
	},
	{
		Name: "takes-huge", Breaks: "A WRITE or READ of more than 2^31 bytes is acknowledged.",
		Cases: []string{"responder/69", "responder/70"},
		hooks: takes(func(_ message, f *frame) bool {
			return f.is(bth.OpWrite, bth.OpReadRequest) && f.Opcode.Info().Starts() && f.RETH.DMALen > 1<<31
		}),
	},
	{
		Name: "takes-long-send", Breaks: "A SEND longer than its receive is acknowledged.",
		Cases: []string{"responder/73"},
		hooks: takes(func(m message, f *frame) bool {
			n := f.flow.target.ReceiveLen
			return f.is(bth.OpSend) && n > 0 && f.dataOf(m) > n && len(f.Payload) <= f.mtu()
		}),
	},
	{
		Name: "takes-bad-pad", Breaks: "A packet whose pad count is impossible is acknowledged.",
		Cases: []string{"responder/72"},
		hooks: in(func(w *world, f *frame) {
			if f.err == nil || f.badIP != nil || f.badICRC || len(f.data) < bth.BTHLen+bth.RETHLen+bth.ICRCLen ||
				f.data[1]&0x0f != 0 || !bth.Opcode(f.data[0]).Valid() {
				return
			}
			qpn := bth.QPN(f.data[5])<<16 | bth.QPN(f.data[6])<<8 | bth.QPN(f.data[7])
			if f.flow = w.flows[qpn]; f.flow != nil && f.flow.kind == bth.ServiceRC {
				w.toTester(w.ackFor(f, f.flow.next, bth.AckUnlimited, f.flow.msn+1))
			}
		}),
	},
	{
		Name: "checks-pad", Breaks: "A request with pad bytes other than 0 is dropped.",
		Cases: []string{"responder/74"},
		Shows: "nothing came",
		hooks: dropIn(func(f *frame) bool {
			for _, b := range f.pad() {
				if b != 0 {
					return true
				}
			}
			return false
		}),
	},
	{
		Name: "takes-flush", Breaks: "A FLUSH without the right is acknowledged.",
		Cases: []string{"responder/92"},
		hooks: takes(func(_ message, f *frame) bool { return f.is(bth.OpFlush) }),
	},
	{
		Name: "atomic-write-acked", Breaks: "An ATOMIC WRITE is answered with an ACK instead of a READ response.",
		Cases: []string{"responder/93"},
		hooks: takes(func(_ message, f *frame) bool {
			return f.is(bth.OpAtomicWrite) && f.RETH.DMALen == 8 && f.RETH.VA%8 == 0
		}),
	},
	{
		Name: "atomic-write-once", Breaks: "A duplicate ATOMIC WRITE is not answered.",
		Cases: []string{"responder/94"},
		hooks: dropIn(duplicateOf(bth.OpAtomicWrite)),
	},
	{
		Name: "atomic-write-any-address", Breaks: "An ATOMIC WRITE at any address is executed.",
		Cases: []string{"responder/95"},
		hooks: changeIn(func(f *frame) bool { return f.is(bth.OpAtomicWrite) }, func(f *frame) { f.RETH.VA &^= 7 }),
	},
	{
		Name: "atomic-write-any-length", Breaks: "An ATOMIC WRITE of any length is answered as one of 8 bytes.",
		Cases: []string{"responder/96"},
		hooks: in(func(w *world, f *frame) {
			if f.flow != nil && f.is(bth.OpAtomicWrite) && (f.RETH.DMALen != 8 || len(f.Payload) != 8) {
				g := w.reply(f, bth.RCReadResponseOnly, f.PSN)
				g.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: f.flow.msn + 1}
				w.toTester(g)
				f.drop()
			}
		}),
	},
}

// dataOf returns the number of bytes of the message m with f, and wantOf its DMA length.
func (f *frame) dataOf(m message) int {
	if f.Opcode.Info().Starts() {
		return len(f.Payload)
	}
	return m.got + len(f.Payload)
}

func (f *frame) wantOf(m message) int {
	if f.Opcode.Info().Starts() {
		return int(f.RETH.DMALen)
	}
	return m.want
}

// pad returns the pad bytes of f.
func (f *frame) pad() []byte {
	end := len(f.data) - bth.ICRCLen
	if f.err != nil || int(f.Pad) > end {
		return nil
	}
	return f.data[end-int(f.Pad) : end]
}
