package bth_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorxe/gorxe/bth"
	"pgregory.net/rapid"
)

// drawPacket returns a packet of a random valid opcode with the fields of that opcode; other
// fields are zero.
func drawPacket(t *rapid.T) bth.Packet {
	u8, u16, u32, u64, flip := rapid.Uint8(), rapid.Uint16(), rapid.Uint32(), rapid.Uint64(), rapid.Bool()
	u24 := rapid.Uint32Range(0, 0xffffff)
	p := bth.Packet{
		Opcode:    rapid.SampledFrom(slices.Collect(bth.Opcodes())).Draw(t, "opcode"),
		Solicited: flip.Draw(t, "solicited"), MigReq: flip.Draw(t, "migreq"), PKey: u16.Draw(t, "pkey"),
		FECN: flip.Draw(t, "fecn"), BECN: flip.Draw(t, "becn"), DestQP: bth.QPN(u24.Draw(t, "destqp")),
		AckReq: flip.Draw(t, "ackreq"), PSN: bth.PSN(u24.Draw(t, "psn")),
	}
	info := p.Opcode.Info()
	for i := range 16 {
		switch h := bth.Headers(1 << i); info.Headers & h {
		case bth.HasDETH:
			p.DETH = bth.DETH{QKey: u32.Draw(t, "qkey"), SrcQP: bth.QPN(u24.Draw(t, "srcqp"))}
		case bth.HasFETH:
			p.FETH = bth.FETH{Type: u8.Draw(t, "type") & 15, Level: u8.Draw(t, "level") & 3}
		case bth.HasRETH:
			p.RETH = bth.RETH{VA: u64.Draw(t, "va"), RKey: u32.Draw(t, "rkey"), DMALen: u32.Draw(t, "dmalen")}
		case bth.HasAtomicETH:
			p.AtomicETH = bth.AtomicETH{
				VA: u64.Draw(t, "va"), RKey: u32.Draw(t, "rkey"), SwapAdd: u64.Draw(t, "swap"),
				Compare: u64.Draw(t, "compare"),
			}
		case bth.HasAETH:
			s := rapid.OneOf(rapid.Uint8Range(0, 0x3f), rapid.Uint8Range(0x60, 0x7f)).Draw(t, "syndrome")
			p.AETH = bth.AETH{Syndrome: bth.Syndrome(s), MSN: u24.Draw(t, "msn")}
		case bth.HasAtomicAckETH:
			p.AtomicAck = u64.Draw(t, "atomicack")
		case bth.HasImmDt:
			p.Imm = u32.Draw(t, "imm")
		case bth.HasIETH:
			p.InvalidateRKey = u32.Draw(t, "invalidate")
		}
	}
	switch {
	case info.Op == bth.OpAtomicWrite:
		p.Payload = rapid.SliceOfN(u8, 8, 8).Draw(t, "payload")
	case info.Payload:
		p.Payload = rapid.SliceOfN(u8, 0, 70).Draw(t, "payload")
	}
	return p
}

func TestPropertyDecodeInvertsAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawPacket(t)
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "prefix")
		out := want.Append(slices.Clone(prefix))
		if !bytes.HasPrefix(out, prefix) {
			t.Fatalf("Append wrote over what was there: %x", out)
		}
		body := out[len(prefix):]
		if len(body)%4 != 0 || len(body) != want.Opcode.Info().HeaderLen+len(want.Payload)+int(want.Pad) {
			t.Fatalf("%s: %d bytes, payload %d, pad %d", want.Opcode, len(body), len(want.Payload), want.Pad)
		}
		b := bth.AppendICRC(body, rapid.Uint32().Draw(t, "icrc"))
		var got bth.Packet
		if err := got.Decode(b); err != nil {
			t.Fatalf("Decode: %v", bth.Explain(b))
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Decode(Append(p)) (-p +got):\n%s", diff)
		}
	})
}

func TestPropertyGatheredICRCIsThatOfTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		body := p.Append(nil)
		h := testHeader4(len(body) + bth.ICRCLen)
		h.ID = rapid.Uint16().Draw(t, "id")
		cut := rapid.IntRange(0, len(p.Payload)).Draw(t, "cut")
		state := bth.ICRCStart(h.Seed(), p.AppendHeaders(nil))
		state = bth.ICRCContinue(state, p.Payload[:cut])
		state = bth.ICRCContinue(state, p.Payload[cut:])
		state = bth.ICRCContinue(state, make([]byte, p.Pad))
		packet := bth.AppendICRC(body, state)
		if want := bitwiseICRC(datagram4(&h, packet)); state != want {
			t.Fatalf("%s: ICRC %#08x, want %#08x", p.Opcode, state, want)
		}
		if id, ok := bth.SolveID(&h, packet); !ok || id != h.ID {
			t.Fatalf("%s: SolveID = %#04x, %t, want %#04x", p.Opcode, id, ok, h.ID)
		}
	})
}
